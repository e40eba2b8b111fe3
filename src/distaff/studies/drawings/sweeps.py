"""Comparisons of settings and seeds: trade-offs, scores, agreement of metrics."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from distaff import figures
from distaff.analysis.evaluate import varied_factors
from distaff.foundation.errors import DistaffError
from distaff.metrics import Score, evaluate_scores
from distaff.metrics.catalogue import all_metrics
from distaff.studies.drawings.runs import (
    Settings,
    Where,
    axis,
    chosen,
    factors_of,
    grouped,
    names_in,
    score_of,
    sweep,
    varied_along,
)
from distaff.studies.results import Results
from distaff.studies.selection import METHODS, metric_correlations
from distaff.studies.study_run import StudyRun
from distaff.studies.tables import score_columns

SHUFFLES = 5
"""Number of times that factors are shuffled to find the chance level of a figure's score."""


def trade_off(
    results: Results,
    *,
    x: str = "reconstruction",
    y: str = "factor_vae_score",
    curve: Settings = "recipe",
    point: Settings | None = None,
    where: Where = None,
    title: str | None = None,
) -> Figure:
    """One score against another, one curve per recipe: the FactorVAE paper's Fig. 5, 10; Mathieu's Fig. 2.

    Args:
        results: results of the study.
        x: horizontal score, by its name in the table.
        y: vertical score.
        curve: settings that distinguish curves.
        point: settings written beside each point; by default those that vary along its curve.
        where: settings that the runs must have.
        title: title of the figure.
    """
    all_runs = chosen(results, where)
    points = {
        name: {value: (values(runs, x), values(runs, y)) for value, runs in along.items()}
        for name, along in sweep(all_runs, curve, point).items()
    }
    return figures.trade_off(points, x=axis(x), y=axis(y), title=title, null=chance(all_runs[0], y))


def scores_by_setting(
    results: Results,
    *,
    score: str = "factor_vae_score",
    curve: Settings = "recipe",
    point: Settings | None = None,
    where: Where = None,
    title: str | None = None,
) -> Figure:
    """Every seed's score, setting by setting: the FactorVAE paper's Fig. 8, 34; Do & Tran's Fig. 2 to 8."""
    runs = chosen(results, where)
    curves = sweep(runs, curve, point)
    scores = {
        name: {value: values(members, score) for value, members in along.items()}
        for name, along in curves.items()
    }
    # If nothing varies along a curve, the ticks are the curves' names.
    setting = ", ".join(names_in(point or varied_along(runs, curve) or curve))
    return figures.scores_by_setting(
        scores, score=axis(score), setting=setting, title=title, null=chance(runs[0], score)
    )


def agreement(
    results: Results, *, pairs: Sequence[Sequence[str]], curve: Settings = "recipe", where: Where = None
) -> Figure:
    """Pairs of scores against each other over all runs, with their correlations: Do & Tran's Fig. 5c, 6, 8a.

    Args:
        results: results of the study.
        pairs: [horizontal, vertical] scores, one panel each.
        curve: settings that the colours represent.
        where: settings that the runs must have.
    """
    groups = grouped(chosen(results, where), curve)
    panels = {}
    for pair in pairs:
        if len(pair) != 2:
            raise DistaffError(f"pairs hold two scores each, such as [mig, sap], not {list(pair)}.")
        x, y = pair
        panels[axis(x), axis(y)] = {
            str(name): (values(runs, x), values(runs, y)) for name, runs in groups.items()
        }
    return figures.agreement(panels)


def correlation_of_scores(
    results: Results, *, scores: Sequence[str] | None = None, where: Where = None
) -> Figure:
    """Correlations of all pairs of scores over runs: Pearson's, Kendall's and Spearman's coefficients.

    The FactorVAE paper's §6 gives them for its score and Higgins'.

    Args:
        results: results of the study.
        scores: names of scores; by default all that the study measured.
        where: settings that the runs must have.
    """
    keys = [run.key for run in chosen(results, where)]
    table = results.finished[results.finished["run"].isin(keys)]
    names = score_columns(results) if scores is None else list(scores)
    matrices = {
        f"{method.capitalize()}'s": metric_correlations(table, method, names).to_numpy() for method in METHODS
    }
    return figures.correlation_matrices(matrices, names)


def scores_by_factor(
    results: Results,
    *,
    score: str = "rmig",
    normalize: bool = True,
    curve: Settings = "recipe",
    where: Where = None,
) -> Mapping[str, Figure | pd.DataFrame]:
    """The score of each factor, recipes side by side, mean over runs: Do & Tran's Fig. 13, Tables 6 to 9.

    Args:
        results: results of the study.
        score: rmig or jemmig, or any other metric with a value per factor.
        normalize: whether to divide by the factor's entropy (RMIG) or by log(bins) + H(y) (JEMMIG).
        curve: settings that distinguish bars.
        where: settings that the runs must have.
    """
    groups = grouped(chosen(results, where), curve)
    breakdowns = {str(name): _by_factor(runs, score, normalize) for name, runs in groups.items()}
    table = pd.DataFrame(breakdowns).T
    unit = f"{score.upper()}, normalised" if normalize else axis(score)
    heights = {name: list(found.values()) for name, found in breakdowns.items()}
    nulls = {str(name): _by_chance(runs[0], score, normalize) for name, runs in groups.items()}
    figure = figures.scores_by_factor(heights, list(table.columns), score=unit, nulls=nulls)
    return {unit: figure, f"{unit}, by factor": table.rename_axis("runs").reset_index()}


def chance(run: StudyRun, score: str, observations: int | None = None) -> tuple[float, float] | None:
    """The lowest and highest score of a run's codes against shuffled factors, on up to ``observations`` rows.

    None if the score does not use factors, or if the scored codes or the data are not here.
    """
    own = run.scores.get(score)
    if own is None or own.null is not None:
        return None if own is None or own.null is None else own.null.range
    codes = None if run.ica else run.kept_codes
    if codes is None:
        return None
    try:
        factors = varied_factors(run.data)
        if factors is None:
            return None
        if observations is not None and observations < len(codes):
            rows = np.random.default_rng(0).permutation(len(codes))[:observations]
            codes, factors = codes[rows], factors.select(rows)
        found = evaluate_scores(codes, factors, metrics=[own.metric], null=SHUFFLES).scores
    except (DistaffError, OSError):  # not a metric, such as reconstruction; or the data are no longer here
        return None
    return next((one.null.range for one in found if one.name == own.name and one.null is not None), None)


def values(runs: Sequence[StudyRun], score: str) -> np.ndarray:
    """(runs,) the score of each run."""
    return np.array([score_of(run, score) for run in runs])


def _by_chance(run: StudyRun, score: str, normalize: bool) -> float:
    """The mean over factors of a run's score against shuffled factors."""
    factors = factors_of(run)
    rows = np.random.default_rng(0).permutation(len(factors))
    options = {"normalize": True} if normalize else {}
    found: Score = all_metrics()[score](run.codes, factors.select(rows), **options)
    return float(np.mean(list((found.per_factor or {}).values())))


def _by_factor(runs: Sequence[StudyRun], score: str, normalize: bool) -> dict[str, float]:
    """The mean over runs of each factor's score."""
    metric = all_metrics()[score]
    options = {"normalize": True} if normalize else {}
    found: list[Score] = [metric(run.codes, factors_of(run), **options) for run in runs]
    parts = [one.per_factor or {} for one in found]
    return {factor: float(np.mean([part[factor] for part in parts])) for factor in parts[0]}
