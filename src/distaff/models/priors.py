"""p(z): one prior a group, with log-densities, samples and the KL of a posterior to it."""

from collections.abc import Mapping
from typing import cast

import torch
from torch import Tensor, nn

from distaff.models.latents import LatentSpace
from distaff.models.posteriors import LOG_2PI, GaussianPosterior, GroupPosterior, Posterior


class StandardNormal(nn.Module):
    """N(0, I) over ``dims`` variables."""

    def __init__(self, dims: int) -> None:
        super().__init__()
        self.dims = dims

    def log_prob_dims(self, z: Tensor) -> Tensor:
        """log N(z_d; 0, 1), (B, dims)."""
        return -0.5 * (LOG_2PI + z**2)

    def sample(self, count: int, like: Tensor) -> Tensor:
        """(count, dims) draws on the device and in the type of ``like``."""
        return torch.randn(count, self.dims, dtype=like.dtype, device=like.device)

    def kl_dims(self, posterior: GroupPosterior, z: Tensor) -> Tensor:
        """KL(q(z_d|x) ‖ N(0,1)) = ½ (mu² + sigma² − log sigma² − 1), (B, dims)."""
        if isinstance(posterior, GaussianPosterior):
            return 0.5 * (posterior.mu**2 + posterior.logvar.exp() - posterior.logvar - 1)
        return posterior.log_prob_dims(z) - self.log_prob_dims(z)


class Prior(nn.Module):
    """The groups' priors side by side, independent of each other."""

    def __init__(self, groups: Mapping[str, StandardNormal]) -> None:
        super().__init__()
        self.groups = nn.ModuleDict(groups)

    @classmethod
    def standard(cls, latents: LatentSpace) -> "Prior":
        """N(0, I) for every group."""
        return cls({name: StandardNormal(group.dims) for name, group in latents.groups.items()})

    @property
    def _parts(self) -> list[StandardNormal]:
        return [cast(StandardNormal, part) for part in self.groups.values()]

    def log_prob_dims(self, z: Tensor) -> Tensor:
        """log p(z_d) (B, dims)."""
        return torch.cat(
            [p.log_prob_dims(c) for p, c in zip(self._parts, self._split(z), strict=True)], dim=-1
        )

    def log_prob_groups(self, z: Tensor) -> Tensor:
        """log p(z_g) (B, groups)."""
        parts = zip(self._parts, self._split(z), strict=True)
        return torch.stack([prior.log_prob_dims(columns).sum(-1) for prior, columns in parts], dim=-1)

    def log_prob(self, z: Tensor) -> Tensor:
        """log p(z) (B,)."""
        return self.log_prob_dims(z).sum(-1)

    def sample(self, count: int, like: Tensor) -> Tensor:
        """z (count, width) from the prior, on the device and in the type of ``like``."""
        return torch.cat([part.sample(count, like) for part in self._parts], dim=-1)

    def kl_dims(self, posterior: Posterior, z: Tensor) -> Tensor:
        """KL(q(z_d|x) ‖ p(z_d)) (B, dims): closed where a form exists, else log q − log p at z ~ q(z|x)."""
        parts = zip(self._parts, posterior.parts.values(), self._split(z), strict=True)
        return torch.cat([prior.kl_dims(q, columns) for prior, q, columns in parts], dim=-1)

    def kl(self, posterior: Posterior, z: Tensor) -> Tensor:
        """KL(q(z|x) ‖ p(z)) (B,)."""
        return self.kl_dims(posterior, z).sum(-1)

    def _split(self, z: Tensor) -> tuple[Tensor, ...]:
        return torch.split(z, [part.dims for part in self._parts], dim=-1)
