"""UDR of runs, which needs no labels, and correlations of scores with it and with each other."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.stats import kendalltau, pearsonr, spearmanr

from distaff.codes import Codes
from distaff.foundation.errors import unknown
from distaff.metrics import udr
from distaff.studies.results import Results
from distaff.studies.study_run import StudyRun
from distaff.studies.tables import grouped, score_columns

Method = Literal["pearson", "kendall", "spearman"]
METHODS: dict[Method, Callable[..., Any]] = {
    "pearson": pearsonr,
    "kendall": kendalltau,
    "spearman": spearmanr,
}
ROWS = 5_000
"""Number of observations on which UDR compares models."""
FEWEST = 3
"""Smallest number of runs for a meaningful correlation."""
COMPARED = 10
"""Largest number of seeds that are compared with each other; a setting with more is split into groups.

UDR is a median over pairs, and 50 seeds have more than five times as many pairs as five groups of ten.
"""


def udr_scores(
    results: Results, *, protocol: str = "duan20", rows: int = ROWS, seed: int = 0
) -> pd.DataFrame:
    """UDR of every finished run among the seeds of its setting, without labels (Duan et al. 2020).

    The seeds of a setting are compared in groups of at most ten, so that the work grows with the number of
    runs and not with its square.

    Args:
        results: results of the study.
        protocol: protocol of ``distaff.metrics.udr``.
        rows: number of observations, drawn once for all runs.
        seed: seed of that draw.

    Returns:
        One row per run whose setting has another seed to compare with: ``run``, the settings that the study
        varies, ``seed`` and ``udr``; the best first.
    """
    groups = results.study.varied
    runs = {run.key: run for run in results.all_runs}
    found = []
    for setting, part in grouped(results.finished, groups):
        if len(part) < 2:
            continue
        for keys in np.array_split(part["run"].to_numpy(), -(-len(part) // COMPARED)):
            codes = {key: _some(runs[key], rows, seed) for key in keys}
            for key, score in udr(codes, protocol=protocol).items():
                found.append([key, *setting, runs[key].settings["seed"], score.value])
    table = pd.DataFrame(found, columns=["run", *groups, "seed", "udr"])
    return table.sort_values("udr", ascending=False, ignore_index=True)


def udr_agreement(
    results: Results, scores: pd.DataFrame | None = None, method: Method = "spearman"
) -> pd.DataFrame:
    """The correlation of UDR with each score over runs: ``score``, ``correlation``, ``n``.

    Args:
        results: results of the study.
        scores: result of ``udr_scores``, if available.
        method: kind of correlation; by default Spearman's, since runs are ranked.
    """
    scores = udr_scores(results) if scores is None else scores
    joined = results.finished.merge(scores[["run", "udr"]], on="run")
    rows = [[name, *_correlation(joined["udr"], joined[name], method)] for name in score_columns(results)]
    return pd.DataFrame(rows, columns=["score", "correlation", "n"])


def metric_correlations(
    table: pd.DataFrame, method: Method = "spearman", metrics: Sequence[str] | None = None
) -> pd.DataFrame:
    """Correlations of scores with each other over the rows of a table, as a square table.

    The FactorVAE paper gives those of its score with Higgins': Pearson 0.404, Kendall 0.310, Spearman 0.444.

    Args:
        table: ``Results.table`` or ``Results.finished``; for each pair, rows that lack either score are left
            out.
        method: ``"pearson"``, ``"kendall"`` or ``"spearman"``.
        metrics: columns; by default all columns of numbers.
    """
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    names = list(table.select_dtypes("number").columns) if metrics is None else list(metrics)
    for name in names:
        if name not in table:
            raise unknown("score", name, map(str, table.columns))
    pairs = [[_correlation(table[a], table[b], method)[0] for b in names] for a in names]
    return pd.DataFrame(pairs, index=names, columns=names)


def _correlation(x: pd.Series, y: pd.Series, method: Method) -> tuple[float, int]:
    """The coefficient, NaN if undefined, and the number of pairs."""
    both = np.isfinite(x.to_numpy(np.float64)) & np.isfinite(y.to_numpy(np.float64))
    a, b = x.to_numpy(np.float64)[both], y.to_numpy(np.float64)[both]
    if len(a) < FEWEST or np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan"), len(a)
    return float(METHODS[method](a, b)[0]), len(a)


def _some(run: StudyRun, rows: int, seed: int) -> Codes:
    """The codes of some observations, the same for all runs of one data set."""
    codes = run.codes
    if len(codes) <= rows:
        return codes
    return codes[np.sort(np.random.default_rng(seed).choice(len(codes), rows, replace=False))]
