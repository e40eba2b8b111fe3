"""Latents matched across runs."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from distaff import figures
from distaff.data.splits import some
from distaff.figures.traversal import ranked
from distaff.foundation.errors import DistaffError
from distaff.metrics.informativeness import informativeness
from distaff.runs.pictures import drawable
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
    first, *others = codes
    per_latent = informativeness(codes[first]).per_latent or {}
    order = ranked(list(per_latent.values())[: codes[first].means.shape[1]], codes[first].means.shape[1])[
        :top
    ]
    values = np.linspace(-2, 2, 7).tolist()
    start = data.subset([len(data) // 2])
    drawn, rows, labels = {}, {first: order}, {first: [f"z{i}" for i in order]}
    for name in others:
        similarity = _correlations(codes[first].means, codes[name].means)
        drawn[f"{first} and {name}"] = figures.matched_latents(
            similarity, runs=(first.replace(" · ", "\n"), name)
        )
        partner = dict(figures.match_latents(similarity))
        rows[name] = [partner[i] for i in order if i in partner]
        labels[name] = [f"z{partner[i]} · {similarity[i, partner[i]]:.2f}" for i in order if i in partner]
    panels = {name: drawable(models[name].traverse(start, latents, values)) for name, latents in rows.items()}
    drawn["matched traversals"] = figures.side_by_side(panels, labels, values)
    return drawn


def _correlations(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(D, E) Pearson correlations of two runs' means; a constant latent correlates with none."""
    a, b = ((z - z.mean(0)) / np.where(z.std(0) > 0, z.std(0), 1) for z in (first, second))
    return np.asarray(a.T @ b / len(a), dtype=np.float64)
