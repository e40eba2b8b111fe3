"""What can be known before training is said before training."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import torch

from distaff.data import names, open_dataset
from distaff.data.catalogue import about
from distaff.data.dataset import Dataset
from distaff.errors import DistaffError
from distaff.metrics.catalogue import all_metrics
from distaff.metrics.declare import card_of
from distaff.studies.run_call import RunCall
from distaff.training.batches import Batches
from distaff.training.kinds import kind_for
from distaff.training.model import ModelOptions
from distaff.training.train import build_goal

MODEL = ("latents", "prior", "temperature", "network", "likelihood")


def check(runs: Iterable[RunCall], metrics: Iterable[str]) -> None:
    """Open every data set once, and make every objective and model once: what cannot work is said here.

    It also builds the caches of data sets, which workers would otherwise all wait for.
    """
    by_data: dict[str, list[RunCall]] = {}
    for run in runs:
        by_data.setdefault(json.dumps(run.data, sort_keys=True), []).append(run)
    labelled = [metric for metric in metrics if _needs_labels(metric)]
    for group in by_data.values():  # before any is opened, which may take minutes
        spec = group[0].data["spec"]
        if labelled and spec in names() and not about(spec).factors:
            raise _without_labels(spec, labelled)
    for group in by_data.values():
        call = group[0].data
        data = open_dataset(call["spec"], call["file"], **call["options"])
        if labelled and data.factors is None:
            raise _without_labels(data.name, labelled)
        _check_models(data, group)


def _check_models(data: Dataset, runs: Iterable[RunCall]) -> None:
    seen = set()
    for run in runs:
        model = {name: run.training[name] for name in MODEL}
        size = run.training["batch_size"]
        essence = json.dumps([run.recipe, run.arguments, model, size], sort_keys=True)
        if essence in seen:
            continue
        seen.add(essence)
        try:
            _make(data, run, model, size)
        except DistaffError as problem:
            raise DistaffError(f"{run.key}: {problem}") from problem
        except Exception as problem:
            raise DistaffError(f"{run.key} cannot be made: {type(problem).__name__}: {problem}.") from problem


def _make(data: Dataset, run: RunCall, model: Mapping[str, Any], batch_size: int) -> None:
    calls: dict[str, Any] = {"recipe": {"name": run.recipe, "arguments": run.arguments}}
    goal = build_goal(calls)
    kind = kind_for(goal)
    calls["data"] = {"shape": list(data.shape)}
    calls["model"] = kind.describe(goal, data, ModelOptions(**model))
    Batches(data, batch_size, 0, torch.device("cpu"))
    with torch.random.fork_rng():
        kind.build(calls)


def _needs_labels(metric: str) -> bool:
    return card_of(all_metrics()[metric.partition(":")[0]]).inputs == "codes and factors"


def _without_labels(name: str, metrics: Iterable[str]) -> DistaffError:
    return DistaffError(
        f"{name} has no labels, which {', '.join(metrics)} need: take them out of the study's metrics."
    )
