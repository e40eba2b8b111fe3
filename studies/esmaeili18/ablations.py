"""The effect of each term of the ELBO: a toy trained without it (Esmaeili et al. 2018, Fig. 3)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from matplotlib.figure import Figure

from distaff import DistaffError
from distaff.figures import style
from distaff.figures.style import label, panels
from distaff.mixtures import Mixture
from distaff.objectives import Evidence
from distaff.studies import Results, Where, chosen, grouped, posteriors_of, vae_of

TERMS = {1: "① uniqueness", 2: "② I(x; z)", 3: "③ KL(q(x) ‖ p(x))", 4: "④ KL(q(z) ‖ p(z))"}


@dataclass(frozen=True, eq=False)
class Toy:
    """A trained model with one-dimensional z and x, as densities on grids.

    Args:
        z: (G,) grid over the latent.
        posteriors: (N, G) densities q(z|xⁿ), one row per data point; their mean is q(z).
        prior: (G,) density p(z).
        x: (X,) grid over the observed space.
        model: (X,) density p(x) of the decoder under the prior.
        data: (N,) the data points.
    """

    z: np.ndarray
    posteriors: np.ndarray
    prior: np.ndarray
    x: np.ndarray
    model: np.ndarray
    data: np.ndarray


@torch.no_grad()
def ablations(results: Results, *, where: Where = None, z_end: float = 4.0, x_end: float = 4.0) -> Figure:
    """Latent space above observed space for the ELBO without each of its terms: Fig. 3.

    Args:
        results: results of a study of ``ablated_elbo`` on points of a line, with one Gaussian latent.
        where: settings that the runs must have; of several seeds, the first is drawn.
        z_end: end of the latent axis, which goes from −z_end to z_end.
        x_end: end of the observed axis, which goes from −x_end to x_end.
    """
    z, x = torch.linspace(-z_end, z_end, 400), torch.linspace(-x_end, x_end, 200)
    toys = {}
    for without, runs in grouped(chosen(results, where), "without").items():
        model, codes = vae_of(runs[0]), runs[0].codes
        if codes.means.shape[1] != 1 or model.latents.width != 1:
            raise DistaffError("ablations are drawn of models with a single Gaussian latent.")
        each = (Mixture(*posteriors_of(codes[[n]])) for n in range(len(codes)))
        toys[f"without {TERMS[int(without)]}"] = Toy(
            z=z.numpy(),
            posteriors=torch.stack([q.log_density(z[:, None]).exp() for q in each]).numpy(),
            prior=model.prior.log_prob(z[:, None]).exp().numpy(),
            x=x.numpy(),
            model=Evidence("grid", 400)(model, x[:, None]).exp().numpy(),
            data=runs[0].data.images[:].numpy()[:, 0],
        )
    return toy_panels(toys)


def toy_panels(toys: Mapping[str, Toy]) -> Figure:
    """Latent space above observed space, one column per toy.

    Above: every q(z|xⁿ)/N, filled, their sum q(z), and the prior p(z). Below: the model's p(x) over the data.
    """
    width = style.COLUMN if len(toys) == 1 else style.PAGE
    figure, axes = panels(2, len(toys), width=width, height=1.5, share_x="row", share_y="row")
    for c, (title, toy) in enumerate(toys.items()):
        latent, observed = axes[0][c], axes[1][c]
        colours = list(style.colours_for(range(len(toy.data))).values())
        for posterior, colour in zip(toy.posteriors / len(toy.data), colours, strict=True):
            latent.fill_between(toy.z, posterior, color=colour, alpha=0.5, linewidth=0)
        latent.plot(toy.z, toy.posteriors.mean(0), color=style.INK, linewidth=1.0, label="q(z)")
        latent.plot(toy.z, toy.prior, color=style.PALETTE[1], linewidth=1.0, linestyle="--", label="p(z)")
        observed.plot(toy.x, toy.model, color=style.PALETTE[0], linewidth=1.0, label="p(x)")
        zeros = np.zeros(len(toy.data))
        observed.scatter(toy.data, zeros, s=14, marker="|", c=colours, clip_on=False, label="data")
        label(latent, x="z", y=None if c else "density", title=title)
        label(observed, x="x", y=None if c else "density")
    style.legend(axes[0][0])
    style.legend(axes[1][0])
    return figure
