"""q(z|x) of a batch: sampled with gradient, with log-densities whole, per group and per variable."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

LOG_2PI = math.log(2 * math.pi)


class GroupPosterior(Protocol):
    """The posterior of one group for B observations."""

    @property
    def width(self) -> int:
        """Columns of z."""

    def rsample(self) -> Tensor:
        """A sample (B, width) with gradient."""

    def mode(self) -> Tensor:
        """The code used for evaluation (B, width)."""

    def log_prob_dims(self, z: Tensor) -> Tensor:
        """log q(z_d|x) (B, dims) of z (B, width); z (M, 1, width) gives all pairs (M, B, dims)."""

    def log_prob_pairs(self, z: Tensor) -> Tensor:
        """log q(z_id|x_j) (dims, M, B) of samples z (M, width) under every one of the B posteriors."""

    def map(self, change: Callable[[Tensor], Tensor]) -> "GroupPosterior":
        """The same kind of posterior with each parameter tensor (B, ...) changed."""


@dataclass(frozen=True)
class GaussianPosterior:
    """N(mu, exp(logvar)), both (B, D), independent over D."""

    mu: Tensor
    logvar: Tensor

    @property
    def width(self) -> int:
        """Columns of z."""
        return self.mu.shape[1]

    def rsample(self) -> Tensor:
        """mu + sigma · eps."""
        return self.mu + torch.exp(0.5 * self.logvar) * torch.randn_like(self.mu)

    def mode(self) -> Tensor:
        """The mean."""
        return self.mu

    def log_prob_dims(self, z: Tensor) -> Tensor:
        """-½ [log 2π + logvar + (z − mu)² / sigma²], one a dimension."""
        return -0.5 * (LOG_2PI + self.logvar + (z - self.mu) ** 2 * torch.exp(-self.logvar))

    def log_prob_pairs(self, z: Tensor) -> Tensor:
        """(D, M, B): [z², z, 1] · [−1/2σ², μ/σ², const], one batched matrix product.

        Both sides are taken from the middle of the means, where the squares cancel with least rounding.
        """
        centre = self.mu.detach().mean(0)
        z, mu, precision = z - centre, self.mu - centre, torch.exp(-self.logvar)
        constant = -0.5 * (LOG_2PI + self.logvar + mu**2 * precision)
        samples = torch.stack([z**2, z, torch.ones_like(z)])
        posteriors = torch.stack([-0.5 * precision, mu * precision, constant])
        return torch.bmm(samples.permute(2, 1, 0), posteriors.permute(2, 0, 1))

    def map(self, change: Callable[[Tensor], Tensor]) -> "GaussianPosterior":
        """Means and log-variances changed, for instance gathered over processes."""
        return GaussianPosterior(change(self.mu), change(self.logvar))


@dataclass(frozen=True)
class Posterior:
    """The groups' posteriors side by side; they are independent given x."""

    parts: Mapping[str, GroupPosterior]

    def rsample(self) -> Tensor:
        """z (B, width) with gradient."""
        return torch.cat([part.rsample() for part in self.parts.values()], dim=1)

    def mode(self) -> Tensor:
        """The codes used for evaluation (B, width): means, or hard classes."""
        return torch.cat([part.mode() for part in self.parts.values()], dim=1)

    def log_prob_dims(self, z: Tensor) -> Tensor:
        """log q(z_d|x) (B, dims); see ``GroupPosterior.log_prob_dims`` for pairs."""
        return torch.cat(self._by_group(z), dim=-1)

    def log_prob_groups(self, z: Tensor) -> Tensor:
        """log q(z_g|x) (B, groups)."""
        return torch.stack([dims.sum(-1) for dims in self._by_group(z)], dim=-1)

    def log_prob(self, z: Tensor) -> Tensor:
        """log q(z|x) (B,)."""
        return self.log_prob_dims(z).sum(-1)

    def log_prob_pairs(self, z: Tensor) -> Tensor:
        """log q(z_id|x_j) (dims, M, B) of samples z (M, width) under every one of the B posteriors."""
        columns = torch.split(z, [part.width for part in self.parts.values()], dim=-1)
        pairs = [part.log_prob_pairs(c) for part, c in zip(self.parts.values(), columns, strict=True)]
        return pairs[0] if len(pairs) == 1 else torch.cat(pairs)

    def map(self, change: Callable[[Tensor], Tensor]) -> "Posterior":
        """The same posterior with each parameter tensor (B, ...) changed."""
        return Posterior({name: part.map(change) for name, part in self.parts.items()})

    def _by_group(self, z: Tensor) -> list[Tensor]:
        columns = torch.split(z, [part.width for part in self.parts.values()], dim=-1)
        return [part.log_prob_dims(c) for part, c in zip(self.parts.values(), columns, strict=True)]
