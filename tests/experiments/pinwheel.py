"""Mathieu et al. 2019, §6.2: a pinwheel under a clustered prior, for each α and β of Eq. 7.

``python -m tests.experiments.pinwheel FIGURE.png`` draws Fig. 3 and prints the divergences.
"""

import sys
from functools import cache

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor
from torch.distributions import Categorical, Distribution, Independent, MixtureSameFamily, Normal

from distaff import figures
from distaff.data import pinwheel
from distaff.training.train import train
from studies.mathieu19.drawings import densities_by_weights

ALPHAS = (0.0, 1.0, 3.0, 5.0)
BETAS = (0.01, 0.5, 1.0, 1.2)
SEEDS = (0, 1)
PUBLISHED = {
    "latents": 2,
    "prior": "mixture:0.03",
    "network": "pinwheel",
    "likelihood": "gaussian",
    "divergence": "inclusive_kl",
    "steps": 500,
    "batch_size": 400,
    "learning_rate": 1e-3,
    "amsgrad": True,
}
DATA = pinwheel.load(count=400, arms=4, radial=0.3, tangential=0.1, rate=0.25)
"""The paper prints the spreads the other way round, as the generator it used names them (see ``load``)."""


def mixture(means: Tensor, scales: Tensor) -> MixtureSameFamily:
    """Equal Gaussians at ``means`` (C, 2) with standard deviations ``scales`` (C, 2)."""
    return MixtureSameFamily(Categorical(torch.ones(len(means))), Independent(Normal(means, scales), 1))


CORNERS = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
PRIOR = mixture(CORNERS, torch.full((4, 2), 0.03**0.5))


@cache
def aggregate(alpha: float, beta: float, seed: int) -> MixtureSameFamily:
    """Train with these weights: q(z), the mixture of all 400 posteriors."""
    trained = train("alpha_beta_vae", DATA, alpha=alpha, beta=beta, seed=seed, progress=False, **PUBLISHED)
    codes = trained.encode(DATA.images)
    return mixture(torch.tensor(codes.means), torch.tensor(codes.logvars).mul(0.5).exp())


def divergence(p: Distribution, q: Distribution, samples: int = 10_000) -> float:
    """KL(p ‖ q) in nats by Monte Carlo, both densities exact."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        z = p.sample((samples,))
    return float((p.log_prob(z) - q.log_prob(z)).mean())


def inclusive(alpha: float, beta: float) -> float:
    """KL(p(z) ‖ q(z)), averaged over seeds."""
    return float(np.mean([divergence(PRIOR, aggregate(alpha, beta, seed)) for seed in SEEDS]))


def exclusive(alpha: float, beta: float) -> float:
    """KL(q(z) ‖ p(z)), averaged over seeds."""
    return float(np.mean([divergence(aggregate(alpha, beta, seed), PRIOR) for seed in SEEDS]))


def grid_figure(seed: int = 0) -> Figure:
    """q(z) for each α and β over the prior's contours: Fig. 3."""
    extent, axis = (-0.75, 1.75, -0.75, 1.75), torch.linspace(-0.75, 1.75, 120)
    points = torch.cartesian_prod(axis, axis).flip(1)

    def density(q: Distribution) -> np.ndarray:
        return q.log_prob(points).exp().view(len(axis), -1).numpy()

    densities = {(a, b): density(aggregate(a, b, seed)) for a in ALPHAS for b in BETAS}
    return densities_by_weights(densities, extent, density(PRIOR))


if __name__ == "__main__":
    for name, measure in (("KL(p ‖ q)", inclusive), ("KL(q ‖ p)", exclusive)):
        print(f"{name}, mean over seeds {SEEDS}; columns are β = {BETAS}")
        for a in ALPHAS:
            print(f"α = {a:g}:", "  ".join(f"{measure(a, b):7.3f}" for b in BETAS))
    print(figures.save(grid_figure(), sys.argv[1]))
