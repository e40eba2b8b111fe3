"""p(z) of the whole latent space: the groups' priors side by side, independent of each other."""

from collections.abc import Iterator, Mapping
from typing import cast

import torch
from torch import Tensor, nn

from distaff.data.images import Images
from distaff.models.latents import TEMPERATURE, Group, LatentSpace, Quantized, Real
from distaff.models.posteriors import GroupPosterior, Posterior
from distaff.models.priors.codebook import Codebook
from distaff.models.priors.discrete import Relaxed
from distaff.models.priors.group import GroupPrior
from distaff.models.priors.normal import StandardNormal


class Prior(nn.Module):
    """The groups' priors side by side, in the order of z; densities and samples are in its coordinates u.

    Args:
        groups: the prior of each group.
    """

    def __init__(self, groups: Mapping[str, nn.Module]) -> None:
        super().__init__()
        self.names = tuple(groups)
        self.parts = nn.ModuleList(groups.values())
        self.temperature = TEMPERATURE

    @classmethod
    def standard(cls, latents: LatentSpace) -> "Prior":
        """N(0, I) for real groups, equal class probabilities for discrete ones."""
        return cls({name: standard(group) for name, group in latents.groups.items()})

    @property
    def groups(self) -> dict[str, nn.Module]:
        """The prior of each group."""
        return dict(zip(self.names, self.parts, strict=True))

    @property
    def temperature(self) -> float:
        """Of the relaxed densities: that of the posteriors."""
        return self._temperature

    @temperature.setter
    def temperature(self, value: float) -> None:
        self._temperature = value
        for part in self._parts:
            part.temperature = value

    @property
    def codebooks(self) -> dict[str, nn.Parameter]:
        """(dims, V) the values of each group of quantised latents."""
        return {name: part.values for name, part in self.groups.items() if isinstance(part, Codebook)}

    def start_from(self, images: Images) -> None:
        """Take from the data, before training starts, what the priors are to know of them."""
        for part in self._parts:
            part.start_from(images)

    def log_prob(self, u: Tensor) -> Tensor:
        """log p(z) (B,)."""
        return self.log_prob_groups(u).sum(-1)

    def log_prob_groups(self, u: Tensor) -> Tensor:
        """log p(z_g) (B, groups)."""
        return torch.stack([part.log_prob(c) for part, c in self._columns(u)], dim=-1)

    def log_prob_dims(self, u: Tensor) -> Tensor:
        """The marginals log p(z_d) (B, dims)."""
        return torch.cat([part.log_prob_dims(c) for part, c in self._columns(u)], dim=-1)

    def sample(self, count: int, like: Tensor) -> Tensor:
        """u (count, width) from the prior, on the device and in the type of ``like``."""
        return torch.cat([part.sample(count, like) for part in self._parts], dim=-1)

    def kl(self, posterior: Posterior, u: Tensor) -> Tensor:
        """KL(q(z|x) ‖ p(z)) (B,): closed where a form exists, else log q − log p at u ~ q(u|x)."""
        return self.kl_groups(posterior, u).sum(-1)

    def kl_groups(self, posterior: Posterior, u: Tensor) -> Tensor:
        """KL(q(z_g|x) ‖ p(z_g)) (B, groups), likewise."""
        return torch.stack([prior.kl(q, c) for prior, q, c in self._beside(posterior, u)], dim=-1)

    def kl_dims(self, posterior: Posterior, u: Tensor) -> Tensor:
        """KL(q(z_d|x) ‖ p(z_d)) (B, dims) of the marginals, likewise."""
        return torch.cat([prior.kl_dims(q, c) for prior, q, c in self._beside(posterior, u)], dim=-1)

    @property
    def _parts(self) -> list[GroupPrior]:
        return [cast(GroupPrior, part) for part in self.parts]

    def _split(self, u: Tensor) -> tuple[Tensor, ...]:
        return torch.split(u, [part.width for part in self._parts], dim=-1)

    def _columns(self, u: Tensor) -> Iterator[tuple[GroupPrior, Tensor]]:
        return zip(self._parts, self._split(u), strict=True)

    def _beside(self, posterior: Posterior, u: Tensor) -> Iterator[tuple[GroupPrior, GroupPosterior, Tensor]]:
        return zip(self._parts, posterior.parts.values(), self._split(u), strict=True)


def standard(group: Group) -> nn.Module:
    """What a group has when nothing else is asked for: N(0, I), or equal classes or values."""
    if isinstance(group, Quantized):
        return Codebook(group)
    return StandardNormal(group.dims) if isinstance(group, Real) else Relaxed(group, learned=False)
