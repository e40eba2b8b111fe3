"""Latents matched across runs."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from distaff.analysis.compare import matched_figures
from distaff.data.splits import some
from distaff.figures.traversal import ranked
from distaff.foundation.errors import DistaffError
from distaff.metrics.informativeness import informativeness
from distaff.studies.drawings.runs import (
    Where,
    chosen,
    label,
    varied,
)
from distaff.studies.results import Results


def matched_latents(
    results: Results, *, where: Where = None, observations: int = 10_000, top: int = 10
) -> Mapping[str, Figure]:
    """Latents matched across runs: correlations with the first run's, and traversals in matching order.

    Do & Tran's A.18, Fig. 27 and 28. Latents of the first run are sorted from the most informative down;
    those of every other run are placed beside the ones with which they correlate most, one to one.

    Args:
        results: results of the study; all chosen runs must share their data.
        where: settings that the runs must have.
        observations: number of random observations to encode.
        top: number of latents to draw.
    """
    runs = chosen(results, where)
    if len(runs) < 2:
        raise DistaffError("latents are matched across runs: choose two or more.")
    data = some(runs[0].data, observations)
    told_apart = [*varied(runs), "seed"]
    names = {label(run, told_apart): run for run in runs}
    models = {name: run.model for name, run in names.items()}
    codes = {name: model.encode(data.images) for name, model in models.items()}
    first = codes[next(iter(codes))]
    per_latent = informativeness(first).per_latent or {}
    real = first.means.shape[1]
    order = ranked(list(per_latent.values())[:real], real)[:top]
    matrices, traversals = matched_figures(models, codes, order, data.subset([len(data) // 2]))
    drawn = {f"{next(iter(codes))} and {name}": matrix for name, matrix in matrices.items()}
    return {**drawn, "matched traversals": traversals}
