"""q(z|x) of a batch: samples with gradient, and log-densities jointly, per group and per variable.

Samples and densities are in coordinates u (B, width). These are z itself except for relaxed variables, whose
z would round to 0 or 1 (see ``relaxed``). ``LatentSpace.squash`` maps u to z.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, Self

import torch
from torch import Tensor

from distaff.mixtures.pairs import Gaussians


class GroupPosterior(Protocol):
    """The posterior of one group for B observations."""

    @property
    def width(self) -> int:
        """Number of columns of u and of z."""

    def rsample(self) -> Tensor:
        """A sample u (B, width) with gradient."""

    def mode(self) -> Tensor:
        """The code used for evaluation (B, width)."""

    def log_prob_dims(self, u: Tensor) -> Tensor:
        """log q(u_d|x) (B, dims) at u (B, width); u (M, 1, width) gives all pairs (M, B, dims)."""

    def log_prob_pairs(self, u: Tensor) -> Tensor:
        """log q(u_i,d|x_j) (dims, B, M) for every sample u_i (B, width) and every posterior x_j."""

    def log_code_dims(self, c: Tensor) -> Tensor:
        """log Q(c_d|x) (B, dims) of codes c (B, width): densities of real codes, probabilities of classes."""

    def map(self, f: Callable[[Tensor], Tensor]) -> Self:
        """The posterior with ``f`` applied to its parameters, e.g. to select rows or gather processes."""


@dataclass(frozen=True)
class GaussianPosterior(Gaussians):
    """N(mu, exp(logvar)), both (B, D), independent over D."""

    @property
    def width(self) -> int:
        """Number of columns of z."""
        return self.mu.shape[1]

    def rsample(self) -> Tensor:
        """mu + sigma · eps."""
        return self.mu + torch.exp(0.5 * self.logvar) * torch.randn_like(self.mu)

    def mode(self) -> Tensor:
        """The mean."""
        return self.mu

    def log_code_dims(self, c: Tensor) -> Tensor:
        """The log-density of real codes, (B, D)."""
        return self.log_prob_dims(c)

    def map(self, f: Callable[[Tensor], Tensor]) -> "GaussianPosterior":
        """The posterior with ``f`` applied to its parameters."""
        return GaussianPosterior(f(self.mu), f(self.logvar))


@dataclass(frozen=True)
class Posterior:
    """The posteriors of all groups, which are independent given x."""

    parts: Mapping[str, GroupPosterior]

    def rsample(self) -> Tensor:
        """u (B, width) with gradient."""
        return torch.cat([part.rsample() for part in self.parts.values()], dim=1)

    def mode(self) -> Tensor:
        """The codes used for evaluation (B, width): means, or hard classes."""
        return torch.cat([part.mode() for part in self.parts.values()], dim=1)

    def log_prob_dims(self, u: Tensor) -> Tensor:
        """log q(u_d|x) (B, dims); see ``GroupPosterior.log_prob_dims`` for pairs."""
        return torch.cat([part.log_prob_dims(columns) for part, columns in self._columns(u)], dim=-1)

    def log_prob(self, u: Tensor) -> Tensor:
        """log q(u|x) (B,)."""
        return self.log_prob_dims(u).sum(-1)

    def paired_with(self, u: Tensor) -> list[tuple[GroupPosterior, Tensor]]:
        """Each group's posteriors and its columns of samples u (B, width), as ``mixtures`` takes them.

        Both are in single precision or better: half precision would lose the difference of squares.
        """
        return self.map(single)._columns(single(u))

    def log_code(self, c: Tensor) -> Tensor:
        """log Q(c|x) (B,) of codes c (B, width), whose discrete variables are at a class."""
        return torch.cat([part.log_code_dims(columns) for part, columns in self._columns(c)], dim=-1).sum(-1)

    def map(self, f: Callable[[Tensor], Tensor]) -> "Posterior":
        """The posterior with ``f`` applied to the parameters of every group."""
        return Posterior({name: part.map(f) for name, part in self.parts.items()})

    def parameters(self) -> list[Tensor]:
        """All parameters, in the order in which ``map`` visits them."""
        found: list[Tensor] = []

        def noted(parameter: Tensor) -> Tensor:
            found.append(parameter)
            return parameter

        self.map(noted)
        return found

    def _columns(self, u: Tensor) -> list[tuple[GroupPosterior, Tensor]]:
        columns = torch.split(u, [part.width for part in self.parts.values()], dim=-1)
        return list(zip(self.parts.values(), columns, strict=True))


def single(x: Tensor) -> Tensor:
    """x in float32, or unchanged if in float64: only networks work in half precision."""
    return x.to(torch.promote_types(x.dtype, torch.float32))
