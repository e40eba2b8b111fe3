"""Checks of a study before anything is trained."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import torch

from distaff.data import names
from distaff.data.catalogue import about
from distaff.data.dataset import Dataset
from distaff.foundation.errors import DistaffError
from distaff.metrics.own_functions import metric_of
from distaff.runs.calls import labelled_goal
from distaff.runs.config import DataConfig
from distaff.runs.model_choice import describe
from distaff.runs.request import RunRequest
from distaff.studies.study_run import StudyRun
from distaff.training.batches import Batches
from distaff.training.train import resolved


def check(runs: Sequence[StudyRun]) -> None:
    """Open every data set, and make every objective and model, once; raise an error if one cannot be made.

    This also builds the caches of data sets, for which all workers would otherwise have to wait.
    """
    by_data: dict[str, list[RunRequest]] = {}
    for run in runs:
        by_data.setdefault(repr(run.request.data), []).append(run.request)
    elsewhere = runs[0].scored_on
    labelled = [metric for metric in runs[0].metrics if _needs_labels(metric)]
    scored = [group[0].data for group in by_data.values()] if elsewhere is None else [elsewhere]
    for spec in {str(data.spec) for data in scored}:  # before any is opened, which may take minutes
        if labelled and spec in names() and not about(spec).factors:
            raise _without_labels(spec, labelled)
    for group in by_data.values():
        trained_on = group[0].data.open()
        config = DataConfig.of(group[0].data, trained_on)
        data = trained_on if elsewhere is None else config.other(elsewhere)
        if labelled and data.factors is None:
            raise _without_labels(data.name, labelled)
        _check_models(trained_on, group)


def _check_models(data: Dataset, runs: Iterable[RunRequest]) -> None:
    seen = set()
    for run in runs:
        essence = repr((run.recipe, run.model, replace(run.training, seed=0)))
        if essence in seen:
            continue
        seen.add(essence)
        try:
            _make(data, run)
        except DistaffError as problem:
            raise DistaffError(f"{run.key}: {problem}") from problem
        except Exception as problem:
            raise DistaffError(f"{run.key} cannot be made: {type(problem).__name__}: {problem}.") from problem


def _make(data: Dataset, run: RunRequest) -> None:
    goal = labelled_goal(run.recipe.goal(), run.training)
    model = describe(run.model, data, goal)
    resolved(run.training, goal, data)
    Batches(data, run.training.batch_size, 0, torch.device("cpu"))
    with torch.random.fork_rng():
        model.build(data.shape)


def _needs_labels(metric: str) -> bool:
    return metric_of(metric).card.inputs == "codes and factors"


def _without_labels(name: str, metrics: Iterable[str]) -> DistaffError:
    return DistaffError(
        f"{name} has no labels, which {', '.join(metrics)} need: take them out of the study's metrics."
    )
