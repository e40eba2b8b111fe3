"""Estimators of the same quantity against each other, a point a run."""

from collections.abc import Callable

from matplotlib.figure import Figure

from distaff import figures
from distaff.codes import Codes
from distaff.metrics import Factors
from distaff.metrics.gaps import jemmig, rmig
from distaff.metrics.mig import mig
from distaff.studies.drawings.runs import Settings, Where, chosen, codes_of, factors_of, grouped
from distaff.studies.results import Results

Measure = Callable[[Codes, Factors], float]


def sampled_against_quantized(
    results: Results,
    *,
    curve: Settings = "recipe",
    where: Where = None,
    samples: int = 10_000,
    bins: int = 100,
) -> Figure:
    """JEMMIG and RMIG by sampling against those by quantization over [−4, 4]: Do & Tran's Fig. 24."""
    measures: list[Measure] = [
        lambda c, f: jemmig(c, f, estimate="sampled", samples=samples).value,
        lambda c, f: jemmig(c, f, bins=bins).value,
        lambda c, f: rmig(c, f, estimate="sampled", samples=samples).value,
        lambda c, f: rmig(c, f, bins=bins).value,
    ]
    found = _of_all_runs(results, curve, where, measures)
    panels = [{name: (v[i], v[i + 1]) for name, v in found.items()} for i in (0, 2)]
    return figures.sampled_against_quantized(*panels, bin_width=8 / bins)


def rmig_against_mig(results: Results, *, curve: Settings = "recipe", where: Where = None) -> Figure:
    """RMIG over H(y) against the MIG of q(z|x) and that of binned means: Do & Tran's Fig. 25."""
    measures: list[Measure] = [
        lambda c, f: mig(c, f, protocol="chen18").value,
        lambda c, f: mig(c, f, protocol="locatello19").value,
        lambda c, f: rmig(c, f, normalize=True).value,
    ]
    found = _of_all_runs(results, curve, where, measures)
    return figures.rmig_against_mig(*({name: (v[i], v[2]) for name, v in found.items()} for i in (0, 1)))


def _of_all_runs(
    results: Results, curve: Settings, where: Where, measures: list[Measure]
) -> dict[str, list[list[float]]]:
    """Group → measure → (runs,); a run's codes are read once and not kept."""
    found: dict[str, list[list[float]]] = {}
    for name, runs in grouped(chosen(results, where), curve).items():
        columns: list[list[float]] = [[] for _ in measures]
        for run in runs:
            codes, factors = codes_of(run), factors_of(run)
            for column, measure in zip(columns, measures, strict=True):
                column.append(measure(codes, factors))
        found[str(name)] = columns
    return found
