"""The course of training: logged terms, and scores of snapshots."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from distaff import figures
from distaff.analysis.evaluate import varied_factors
from distaff.codes import Codes
from distaff.data.dataset import Dataset
from distaff.metrics.catalogue import all_metrics
from distaff.metrics.evaluation import evaluate_scores
from distaff.studies.drawings.history import Curve, all_steps, curves_figure, logged, measured, table
from distaff.studies.drawings.runs import (
    Settings,
    Where,
    axis,
    chosen,
    grouped,
    names_in,
    sweep,
    varied,
    varied_along,
)
from distaff.studies.drawings.sweeps import chance
from distaff.studies.results import Results
from distaff.studies.study_run import StudyRun


def through_training(
    results: Results,
    *,
    quantities: Sequence[str] = ("nll", "factor_vae_score"),
    curve: Settings = "recipe",
    point: Settings | None = None,
    where: Where = None,
    observations: int | None = 20_000,
) -> Figure:
    """Logged terms and scores during training: the FactorVAE paper's Fig. 4, 12, 23, 38 and 39.

    Args:
        results: results of the study; scores need runs with ``snapshots``.
        quantities: terms by their names in the log (nll), or metrics (factor_vae_score), one row each.
        curve: settings that distinguish columns.
        point: settings that the colours represent; by default those that vary within a column.
        where: settings that the runs must have.
        observations: number of random observations on which a snapshot is scored; None for all.
    """
    runs = chosen(results, where)
    columns = sweep(runs, curve, point)
    rows = {
        axis(quantity): {
            name: {
                value: [_curve(run, quantity, observations) for run in members]
                for value, members in along.items()
            }
            for name, along in columns.items()
        }
        for quantity in quantities
    }
    setting = " or ".join(varied_along(runs, curve)) if point is None else ", ".join(names_in(point))
    ranges = {axis(quantity): chance(runs[0], quantity, observations) for quantity in quantities}
    return curves_figure(rows, setting, {name: found for name, found in ranges.items() if found is not None})


def training_curves(
    results: Results,
    *,
    terms: Sequence[str] | None = None,
    curve: Settings | None = None,
    where: Where = None,
) -> Mapping[str, Figure]:
    """Logged terms as small multiples, mean and interval over seeds: the FactorVAE paper's Fig. 32, 33.

    Args:
        results: results of the study.
        terms: terms by their names in the log; by default all.
        curve: settings that distinguish figures; by default all that vary.
        where: settings that the runs must have.
    """
    runs = chosen(results, where)
    drawn = {}
    for name, members in grouped(runs, varied(runs) if curve is None else curve).items():
        known = [t for t in members[0].log[-1] if t not in ("step", "seconds")]
        curves = {term: [logged(run, term) for run in members] for term in terms or known}
        steps = all_steps(c for along in curves.values() for c in along)
        tables = {term: table(along, steps) for term, along in curves.items()}
        drawn[str(name)] = figures.training_curves(steps, tables, title=str(name) or None)
    return drawn


def _curve(run: StudyRun, quantity: str, observations: int | None) -> Curve:
    """A term of the log, or a metric of the snapshots."""
    if quantity.partition(":")[0] not in all_metrics() or any(quantity in line for line in run.log[-1:]):
        return logged(run, quantity)

    def measure(codes: Codes, data: Dataset) -> float:
        return evaluate_scores(codes, varied_factors(data), metrics=[quantity]).scores[0].value

    return measured(run, quantity, measure, observations)
