"""Choose among finished runs: by few labels, or without labels by UDR or ModelCentrality."""

from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
from annotated_types import Ge

from distaff.analysis.evaluate import varied_factors
from distaff.data.splits import some_rows
from distaff.foundation.errors import DistaffError
from distaff.metrics import Score, evaluate_scores
from distaff.metrics.options import Seed
from distaff.models.latent_kinds import Point, Quantized
from distaff.models.representation import Representation
from distaff.studies.centrality import model_centrality
from distaff.studies.changed_file import listed
from distaff.studies.commands import find
from distaff.studies.results import Results
from distaff.studies.selection import udr_scores
from distaff.studies.study_run import StudyRun

BEHIND = "behind"
"""The column with a run's distance from the best."""


def select(
    results: Results | str | Path,
    metric: str = "dci",
    *,
    labels: Annotated[int, Ge(2)] = 100,
    seed: Seed = 0,
) -> pd.DataFrame:
    """Rank the finished runs of a study, the best first, with the distance of the others from the best.

    Args:
        results: results of the study, its folder or its file.
        metric: metric with labels such as dci or mig:chen18, whose first score on ``labels`` observations
            counts (Locatello et al. 2020, "Disentangling factors of variation using few labels"); or, without
            labels, ``udr`` (Duan et al. 2020), among the seeds of each setting, or ``centrality`` (Lin et al.
            2020), among all runs.
        labels: number of labelled observations, drawn at random and the same for all runs of a data set.
        seed: seed of that draw.

    Returns:
        One row per run: ``run``, the settings that the study varies, ``seed``, the score by its name, and
        ``behind``, the distance from the best. ``attrs["left_out"]`` says which runs are not ranked, and why.
    """
    study = results if isinstance(results, Results) else find(results)
    lower = False
    if metric == "udr":
        ranked = udr_scores(study, seed=seed)
    else:
        ranked, lower = _scored(study, metric, labels, seed)
    if ranked.empty:
        raise DistaffError(f"no finished run of {study.study.name} can be ranked by {metric} yet.")
    score = ranked.columns[-1]
    table = ranked.sort_values(score, ascending=lower, ignore_index=True)
    table = table.assign(**{BEHIND: (table[score] - table[score].iloc[0]).abs()})
    table.attrs["left_out"] = _left_out(study, set(table["run"]), metric)
    return table


def _left_out(study: Results, ranked: set[str], metric: str) -> list[str]:
    """A sentence on each kind of run that is not ranked."""
    rest = {run.key for run in study.all_runs} - ranked
    alone = rest & set(study.finished["run"])
    kinds = {"they are not finished": rest - alone, f"{metric} compares seeds, and they have no other": alone}
    return [
        f"{len(keys):,} of {len(study.all_runs):,} runs are not ranked, since {why}: {listed(sorted(keys))}"
        for why, keys in kinds.items()
        if keys
    ]


def _scored(study: Results, metric: str, labels: int, seed: int) -> tuple[pd.DataFrame, bool]:
    """One row per finished run, with its score in the last column; and whether lower scores are better."""
    runs = {run.key: run for run in study.all_runs}
    finished = [runs[key] for key in study.finished["run"]]
    lower = False
    if metric == "centrality":
        models = {run.key: run.model for run in finished}
        codes = {run.key: run.codes for run in finished if _keeps_to_no_prior(models[run.key])}
        name, values = metric, [*model_centrality(models, codes, seed=seed).values()]
    else:
        scored = [_by_labels(run, metric, labels, seed) for run in finished]
        name, values = scored[0].name if scored else metric, [float(score.value) for score in scored]
        lower = any(score.direction == "lower" for score in scored)
    groups = list(study.study.varied)
    rows = [
        [run.key, *(run.settings.get(group) for group in groups), run.settings["seed"], value]
        for run, value in zip(finished, values, strict=True)
    ]
    return pd.DataFrame(rows, columns=["run", *groups, "seed", name]), lower


def _keeps_to_no_prior(model: Representation) -> bool:
    """Whether training did not match the model's codes with its prior."""
    return any(isinstance(group, Point | Quantized) for group in model.model.latents.groups.values())


def _by_labels(run: StudyRun, metric: str, labels: int, seed: int) -> Score:
    """A run's score on a few labelled observations."""
    data, codes = run.data, run.codes
    known = np.flatnonzero(data.labelled.any(1))
    if not 2 <= labels <= len(known):
        raise DistaffError(f"labels must be 2 to {len(known)}, as many as {data.name} has, not {labels}.")
    rows = known[some_rows(len(known), labels, seed)]
    found = evaluate_scores(codes[rows], varied_factors(data.subset(rows)), metrics=metric)
    if not found.scores:
        why = next(iter(found.skipped.values()), "it has no scores.")
        raise DistaffError(f"{run.key} cannot be ranked by {metric}: {why}")
    return found.scores[0]
