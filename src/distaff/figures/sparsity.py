"""Sparse priors: what the regularisation α buys and costs."""

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from distaff.errors import DistaffError
from distaff.figures import style
from distaff.figures.arrays import filled, numbers, seeds
from distaff.figures.curves import band
from distaff.figures.style import label, panels


def sparsity_against_alpha(
    alphas: Any,
    sparsity: Mapping[str, Any],
    reconstruction: Mapping[str, Any],
    divergence: Mapping[str, Any],
) -> Figure:
    """Hoyer sparsity, reconstruction loss and MMD to the prior against α: Mathieu's Fig. 4.

    Args:
        alphas: (A,).
        sparsity: series such as "γ = 0.9, β = 1" → (S, A), a row a seed: mean and 95% interval are drawn.
        reconstruction: likewise, in nats.
        divergence: likewise, MMD(q(z), p(z)).
    """
    alphas = numbers("alphas", alphas, "A")
    filled("sparsity", sparsity)
    if not sparsity.keys() == reconstruction.keys() == divergence.keys():
        raise DistaffError("sparsity, reconstruction and divergence must be given for the same series.")
    colours = style.colours_for(sparsity)
    figure, axes = panels(1, 3, width=style.PAGE, height=2.2)
    quantities = {
        "Hoyer sparsity": sparsity,
        "reconstruction loss (nats)": reconstruction,
        "MMD(q(z), p(z))": divergence,
    }
    for one, (quantity, lines) in zip(axes[0], quantities.items(), strict=True):
        for i, (name, runs) in enumerate(lines.items()):
            values = seeds(f"{quantity}, {name}", runs, len(alphas))
            band(one, alphas, values, colours[name], name, style.DASHES[i % len(style.DASHES)])
        label(one, x="regularisation α", y=quantity)
    style.legend_beside(figure, axes[0][0], columns=4)
    return figure
