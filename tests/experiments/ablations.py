"""HFVAE Fig. 3: the ELBO with one of its four terms removed, on seven points of a line and one latent.

``python -m tests.experiments.ablations FIGURE.png`` draws the panels and prints what the terms measure.
"""

import sys
from dataclasses import dataclass
from functools import cache

import torch
from matplotlib.figure import Figure
from torch import Tensor, nn
from torch.distributions import Normal

from distaff import figures
from distaff.data.arrays import from_array
from distaff.models import networks
from distaff.models.networks.halving import Networks, Shape
from distaff.models.representation import Representation
from distaff.objectives.evidence import Evidence
from distaff.training.train import train
from studies.esmaeili18.ablations import Toy, toy_panels

POINTS = torch.linspace(-2, 2, 7)[:, None]
NOISE = 0.2
"""The standard deviation of p(x|z): it must be smaller than the points' distances and cannot be learned,
or a likelihood without bound would swallow every other term."""

SETTINGS = {
    "latents": 1,
    "network": "tests.experiments.ablations:line",
    "density": "exact",
    "steps": 1000,
    "batch_size": 7,
    "learning_rate": 5e-3,
    "log_every": 500,
    "progress": False,
}
TITLES = {0: "the whole ELBO", 1: "A: without ①", 2: "B: without ②", 3: "C: without ③", 4: "D: without ④"}


class KnownNoise(nn.Module):
    """Means (B, 1) → means and log-variances (B, 2) of a Gaussian likelihood whose noise is known."""

    def forward(self, mean: Tensor) -> Tensor:
        return torch.cat([mean, torch.full_like(mean, NOISE).log() * 2], 1)


def line(shape: Shape, parameters: int, width: int, outputs: Shape | None = None) -> Networks:
    """Networks for one number, whose likelihood has the known noise."""
    encoder, decoder = networks.mlp(shape, parameters, width, shape, hidden=64)
    return Networks(encoder, nn.Sequential(decoder, KnownNoise()))


@cache
def trained(without: int, seed: int = 0) -> Representation:
    """A model of the whole ELBO (0), or of the ELBO without a term (1 … 4)."""
    data, settings = from_array(POINTS.numpy()), {**SETTINGS, "seed": seed}
    if not without:
        del settings["density"]
        return train("vae", data, **settings)
    return train("ablated_elbo", data, without=without, evidence="grid:200", **settings)


@dataclass(frozen=True)
class Measured:
    """I(x; z), KL(q(z) ‖ p(z)) and E log p(x) of a model, in nats."""

    information: float
    marginal_kl: float
    log_px: float


def measure(without: int, seed: int = 0) -> Measured:
    """By sums over a grid of z, where every density is known."""
    model = trained(without, seed).model
    z = torch.linspace(-8, 8, 4001)
    each = _posteriors(model, z)
    q, p, width = each.mean(0), Normal(0.0, 1.0).log_prob(z).exp(), float(z[1] - z[0])
    information = torch.xlogy(each, each / q.clamp_min(1e-30)).sum() * width / len(each)
    marginal_kl = torch.xlogy(q, q / p).sum() * width
    return Measured(float(information), float(marginal_kl), float(_log_px(model, POINTS).mean()))


def panels(seed: int = 0) -> Figure:
    """Latent space above observed space, one column a term removed."""
    z, x = torch.linspace(-4, 4, 400), torch.linspace(-3.5, 3.5, 400)
    toys = {}
    for without, title in TITLES.items():
        model = trained(without, seed).model
        prior, p_x = Normal(0.0, 1.0).log_prob(z).exp(), _log_px(model, x[:, None]).exp()
        arrays = (z, _posteriors(model, z), prior, x, p_x, POINTS[:, 0])
        toys[title] = Toy(*(array.numpy() for array in arrays))
    return toy_panels(toys)


@torch.no_grad()
def _posteriors(model: nn.Module, z: Tensor) -> Tensor:
    """q(z|xⁿ) (7, G) on a grid of z (G,)."""
    (part,) = model.encode(POINTS).parts.values()
    return Normal(part.mu, (0.5 * part.logvar).exp()).log_prob(z).exp()


@torch.no_grad()
def _log_px(model: nn.Module, x: Tensor) -> Tensor:
    return Evidence("grid", 1000)(model, x)


if __name__ == "__main__":
    for number, name in TITLES.items():
        print(f"{name:16}", measure(number))
    print(figures.save(panels(), sys.argv[1]))
