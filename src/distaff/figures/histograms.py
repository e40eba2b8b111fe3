"""Histograms: marginals of q(z) with the prior."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import norm

from distaff.figures import style
from distaff.figures.checked_arrays import Array, filled, named, numbers
from distaff.figures.style import label, panels
from distaff.foundation.errors import DistaffError

ACROSS = 10
"""Number of histograms per row."""


def marginals(
    samples: Mapping[str, Any],
    prior: tuple[Any, Any] | Mapping[str, tuple[Any, Any]] | None = None,
    names: Sequence[str] | None = None,
    *,
    bins: int = 40,
    span: float = 4.0,
) -> Figure:
    """Histograms of q(z_j) with the prior's density, a row per model: the FactorVAE paper's Fig. 40.

    Args:
        samples: model → (N, D) samples of q(z).
        prior: (grid (n,), density (n,) or (n, D)) of all models, or of each model by its name; the standard
            normal by default.
        names: D names; z0 … by default.
        bins: number of bars in [−span, span].
        span: the half-width of the horizontal axis.

    Returns:
        A figure with one row of D histograms per model.

    See also: ``kl_bars``, one number per latent; ``plane``, two latents together.

    >>> figure = marginals({"γ = 10": np.random.default_rng(0).normal(size=(500, 3))})
    """
    filled("samples", samples)
    models = {model: numbers(model, values, "N D", finite=True) for model, values in samples.items()}
    count = next(iter(models.values())).shape[1]
    if any(values.shape[1] != count for values in models.values()):
        raise DistaffError("the models have different numbers of latents: draw one figure each.")
    names = named("names", names, count)
    edges = np.linspace(-span, span, bins + 1)
    columns = min(count, ACROSS)
    lines = -(-count // columns)
    width = style.PAGE if columns > 4 else style.COLUMN
    figure, axes = panels(len(models) * lines, columns, width=width, height=0.75, share_x=True)
    for m, (model, values) in enumerate(models.items()):
        grid, density = _prior(prior.get(model) if isinstance(prior, Mapping) else prior, count, span)
        for j in range(lines * columns):
            one = axes[m * lines + j // columns][j % columns]
            if j >= count:
                one.remove()
                continue
            histogram(one, values[:, j], edges, style.PALETTE[5], "$q(z_j)$")
            one.plot(grid, density[:, j], color=style.PALETTE[1], linewidth=1.0, label="$p(z_j)$")
            one.set_xlim(-span, span)
            one.set_yticks([])
            one.set_xticks(
                [-span / 2, 0, span / 2], [f"{-span / 2:g}".replace("-", "−"), "0", f"{span / 2:g}"]
            )
            one.spines["left"].set_visible(False)
            one.tick_params(labelsize=style.SMALL - 1)
            first = j % columns == 0
            label(one, y=model if first else None, title=names[j] if m == 0 or lines > 1 else None)
    style.legend_beside(figure, axes[0][0], columns=2)
    return figure


def histogram(
    axes: Axes,
    values: Array,
    edges: Array,
    colour: str,
    name: str | None = None,
    *,
    fill: bool = True,
) -> None:
    """Draw a histogram as one artist, filled or as an outline, with unit area over all ``values``."""
    heights = np.histogram(values, edges)[0] / (len(values) * np.diff(edges))
    axes.stairs(heights, edges, fill=fill, color=colour, linewidth=1.4, label=name)


def _prior(prior: tuple[Any, Any] | None, count: int, span: float) -> tuple[Array, Array]:
    """The prior's grid (n,) and densities (n, D)."""
    if prior is None:
        grid = np.linspace(-span, span, 201)
        return grid, np.repeat(norm.pdf(grid)[:, None], count, axis=1)
    grid = numbers("the prior's grid", prior[0], "n")
    density = np.asarray(prior[1], dtype=np.float64)
    if density.ndim == 1:
        density = np.repeat(density[:, None], count, axis=1)
    if density.shape != (len(grid), count):
        raise DistaffError(
            f"the prior's density has shape {density.shape}, not ({len(grid)},) or ({len(grid)}, {count})."
        )
    return grid, density
