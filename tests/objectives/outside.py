"""One of each kind of thing, as a user's own module would define it."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from distaff.models.groups import Gaussian, GaussianPosterior
from distaff.objectives import Density, Divergence

mean_density = Density(
    "mean_density", lambda shape: torch.full((shape.rows, shape.columns), 1 / shape.columns)
)
second_moment = Divergence("second_moment", lambda s: (s.z.square().mean(0) - 1).square().sum())
number = 3


class UnitWidth(Gaussian):
    """Real variables with q(z_d|x) = N(mu_d, 1)."""

    @property
    def parameters(self):
        return self.dims

    def posterior(self, parameters, temperature):
        return GaussianPosterior(parameters, torch.zeros_like(parameters))


@dataclass(frozen=True)
class Laplace:
    """Independent Laplace values of scale 1."""

    numbers: ClassVar[int] = 1
    mean: torch.Tensor

    @classmethod
    def read(cls, outputs):
        return cls(outputs)

    def log_prob(self, x):
        return torch.distributions.Laplace(self.mean, 1.0).log_prob(x).flatten(1).sum(1)
