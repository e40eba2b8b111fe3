"""What each term of the ELBO is for: the toy of HFVAE's Fig. 3 with one term removed at a time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from distaff.errors import DistaffError
from distaff.figures import style
from distaff.figures.arrays import Array, filled, numbers
from distaff.figures.style import label, panels


@dataclass(frozen=True, eq=False)
class Toy:
    """A trained model with one-dimensional z and x, as densities on grids.

    Args:
        z: (G,) grid over the latent.
        posteriors: (N, G) densities q(z|xⁿ), a row a data point; their mean is q(z).
        prior: (G,) density p(z).
        x: (X,) grid over the observed space.
        model: (X,) density p(x) of the decoder under the prior.
        data: (N,) the data points.
    """

    z: Any
    posteriors: Any
    prior: Any
    x: Any
    model: Any
    data: Any


def ablations(toys: Mapping[str, Toy]) -> Figure:
    """Latent space over observed space for each ablation, a column each: HFVAE Fig. 3.

    Above: every q(z|xⁿ)/N filled, their sum q(z), and the prior p(z). Below: the model's p(x) over the data.

    Args:
        toys: title, such as "without ② I(x; z)" → the trained toy.
    """
    filled("toys", toys)
    width = style.COLUMN if len(toys) == 1 else style.PAGE
    figure, axes = panels(2, len(toys), width=width, height=1.5, share_x="row", share_y="row")
    for c, (title, toy) in enumerate(toys.items()):
        z, prior, x, model = (
            numbers(f"{title}, {name}", getattr(toy, name), "G") for name in ("z", "prior", "x", "model")
        )
        data = numbers(f"{title}, data", toy.data, "N")
        posteriors = numbers(f"{title}, posteriors", toy.posteriors, "N G")
        _agree(title, z, prior, x, model, data, posteriors)
        latent, observed = axes[0][c], axes[1][c]
        colours = list(style.colours_for(range(len(data))).values())
        for posterior, colour in zip(posteriors / len(data), colours, strict=True):
            latent.fill_between(z, posterior, color=colour, alpha=0.5, linewidth=0)
        latent.plot(z, posteriors.mean(0), color=style.INK, linewidth=1.0, label="q(z)")
        latent.plot(z, prior, color=style.PALETTE[1], linewidth=1.0, linestyle="--", label="p(z)")
        observed.plot(x, model, color=style.PALETTE[0], linewidth=1.0, label="p(x)")
        observed.scatter(data, np.zeros(len(data)), s=14, marker="|", c=colours, clip_on=False, label="data")
        label(latent, x="z", y=None if c else "density", title=title)
        label(observed, x="x", y=None if c else "density")
    style.legend(axes[0][0])
    style.legend(axes[1][0])
    return figure


def _agree(
    title: str, z: Array, prior: Array, x: Array, model: Array, data: Array, posteriors: Array
) -> None:
    if not (prior.shape == z.shape and model.shape == x.shape and posteriors.shape == (len(data), len(z))):
        raise DistaffError(
            f"{title}: prior must be as long as z, model as x, and posteriors ({len(data)}, {len(z)}), not "
            f"{posteriors.shape}."
        )
