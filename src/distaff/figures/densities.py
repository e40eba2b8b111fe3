"""Densities over a two-dimensional latent space: priors, and q(z) on the pinwheel."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from distaff.errors import DistaffError
from distaff.figures import style
from distaff.figures.arrays import Array, filled, numbers, same_length
from distaff.figures.style import COLUMN, PAGE, label, panels, small_multiples

Extent = tuple[float, float, float, float]
"""Left, right, bottom and top of the square a density is given on."""


def aggregate_posteriors(
    densities: Mapping[tuple[float, float], Any], extent: Extent, *, prior: Any = None
) -> Figure:
    """The density of q(z) for each α (rows) and β (columns), the prior's contours over it: Mathieu's Fig. 3.

    Args:
        densities: (α, β) → (n, m), the density on a grid: rows go up along z₁, columns right along z₀.
        extent: left, right, bottom, top of the grid.
        prior: (n, m) density of p(z), drawn as three contours.
    """
    filled("densities", densities)
    alphas = sorted({alpha for alpha, _ in densities})
    betas = sorted({beta for _, beta in densities})
    width = COLUMN if len(betas) < 3 else PAGE
    side = (width - 0.4) / len(betas)
    figure, axes = panels(len(alphas), len(betas), width=width, height=side, share_x=True, share_y=True)
    for r, alpha in enumerate(alphas):
        for c, beta in enumerate(betas):
            one = axes[r][c]
            if (alpha, beta) not in densities:
                one.remove()
                continue
            _density(one, numbers(f"density at {alpha, beta}", densities[alpha, beta], "n m"), extent)
            if prior is not None:
                _contours(one, numbers("prior", prior, "n m"), extent)
            label(
                one,
                x="z₀" if r == len(alphas) - 1 else None,
                y=None if c else f"α = {alpha:g}\nz₁",
                title=None if r else f"β = {beta:g}",
            )
    return figure


def prior_densities(densities: Mapping[str, Any], extent: Extent) -> Figure:
    """Two-dimensional densities of priors, a panel each: Mathieu's Fig. 5 (Student-t) and 6 (mixture).

    Args:
        densities: title → (n, m): rows go up along z₁, columns right along z₀.
        extent: left, right, bottom, top of the grid.
    """
    filled("densities", densities)
    figure, axes = small_multiples(len(densities), 3, height=PAGE / max(min(len(densities), 3), 2) + 0.2)
    for one, (title, density) in zip(axes, densities.items(), strict=True):
        _density(one, numbers(title, density, "n m"), extent)
        label(one, x="z₀", y="z₁", title=title)
    return figure


def plane(points: Any, classes: Any = None, *, names: tuple[str, str] = ("x₀", "x₁")) -> Figure:
    """Points in the plane, coloured by class: the pinwheel itself, or its encodings.

    Args:
        points: (N, 2).
        classes: (N,) labels.
        names: the axes' names.
    """
    points = numbers("points", points, "N 2")
    if points.shape[1] != 2:
        raise DistaffError(f"points must lie in the plane, (N, 2), not {points.shape}.")
    labels = np.zeros(len(points)) if classes is None else numbers("classes", classes, "N")
    same_length(points=points, classes=labels)
    figure, axes = panels(height=COLUMN)
    one = axes[0][0]
    for i, value in enumerate(np.unique(labels)):
        one.plot(
            *points[labels == value].T,
            linestyle="none",
            marker=style.MARKERS[i % len(style.MARKERS)],
            markersize=3,
            color=style.PALETTE[i % len(style.PALETTE)],
            alpha=0.7,
            markeredgewidth=0,
            label=f"class {value:g}",
        )
    one.set_aspect("equal", adjustable="datalim")
    label(one, *names)
    if classes is not None:
        style.legend(one)
    return figure


def _density(axes: Axes, density: Array, extent: Extent) -> None:
    axes.imshow(density, origin="lower", extent=extent, cmap=style.ORDERED, vmin=0, aspect="equal")
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.locator_params(nbins=4)


def _contours(axes: Axes, density: Array, extent: Extent) -> None:
    levels = density.max() * np.array([0.1, 0.4, 0.8])
    axes.contour(density, levels, origin="lower", extent=extent, colors="white", linewidths=0.6, alpha=0.8)
