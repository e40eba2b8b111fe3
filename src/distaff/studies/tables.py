"""Scores by setting: mean over seeds, interval and count."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd

from distaff.figures.checked_arrays import mean_interval
from distaff.foundation.errors import DistaffError, unknown
from distaff.studies.bootstrap import mean_of
from distaff.studies.results import Results

Interval = Literal["t", "bootstrap"]
INTERVALS = {
    "t": "95% interval of the mean, Student's t over seeds",
    "bootstrap": "95% interval of the mean, bootstrap over seeds, widened for few of them",
}
ELBO_PARTS = ("reconstruction", "kl")


def group_table(
    results: Results,
    group_by: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    interval: Interval = "t",
) -> pd.DataFrame:
    """One row per setting and metric: the setting, ``metric``, ``n``, ``mean``, ``low``, ``high``.

    Only finished runs count. ``table.attrs["interval"]`` says which interval it is; a single run has none.

    Args:
        results: results of the study.
        group_by: settings to group by; by default those that the study varies, except seeds.
        metrics: columns of the results' table; by default all scores.
        interval: ``"t"`` for Student's; or ``"bootstrap"``, that of claims, which is about as wide but skewed
            as the seeds are.
    """
    if interval not in INTERVALS:
        raise unknown("interval", interval, INTERVALS)
    table = results.finished
    scores = score_columns(results)
    settings = list(dict.fromkeys(name for run in results.all_runs for name in run.settings))
    groups = _known("setting", group_by, settings) if group_by is not None else list(results.study.varied)
    wanted = _known("score", metrics, scores) if metrics is not None else scores
    rows = [
        [*key, metric, *_summary(part[metric], interval)]
        for key, part in grouped(table, groups)
        for metric in wanted
    ]
    made = pd.DataFrame(rows, columns=[*groups, "metric", "n", "mean", "low", "high"])
    made.attrs["interval"] = INTERVALS[interval]
    return made


def grouped(table: pd.DataFrame, groups: Sequence[str]) -> list[tuple[tuple[object, ...], pd.DataFrame]]:
    """The rows of each setting, in the order of the study; a missing value counts as a value."""
    if table.empty:
        return []
    if not groups:
        return [((), table)]
    return [
        (tuple(None if value != value else value for value in key), part)  # NaN differs from itself
        for key, part in table.groupby(list(groups), sort=False, dropna=False)
    ]


def score_columns(results: Results) -> list[str]:
    """The table's columns that hold scores of any run, reconstruction and KL first; a GAN has neither."""
    found = dict.fromkeys(name for run in results.all_runs for name in run.values)
    return sorted(found, key=lambda name: name not in ELBO_PARTS)


def _known(kind: str, names: Sequence[str], known: Sequence[str]) -> list[str]:
    if not known:
        raise DistaffError("no run of the study is finished yet: nothing can be tabulated.")
    for name in names:
        if name not in known:
            raise unknown(kind, name, known)
    return list(names)


def _summary(values: pd.Series, interval: Interval) -> tuple[int, float, float, float]:
    numbers = values.dropna().to_numpy(np.float64)
    if not len(numbers):
        return 0, np.nan, np.nan, np.nan
    if not np.isfinite(numbers).all():  # the KL of deterministic latents, for one: a mean without an interval
        return len(numbers), float(np.mean(numbers)), np.nan, np.nan
    mean, low, high = (float(value) for value in mean_interval(numbers))
    if interval == "bootstrap":
        low, high = mean_of(dict(enumerate(numbers))).interval
    return len(numbers), mean, low, high
