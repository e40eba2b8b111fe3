"""The latent space: named groups of variables, and the posteriors an encoder's outputs stand for."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from distaff.errors import DistaffError, unknown
from distaff.models.posteriors import GaussianPosterior, GroupPosterior, Posterior


@dataclass(frozen=True)
class Gaussian:
    """``dims`` real variables with q(z_d|x) = N(mu_d, exp(logvar_d))."""

    dims: int

    @property
    def width(self) -> int:
        """Columns of z that the group takes."""
        return self.dims

    @property
    def parameters(self) -> int:
        """Encoder outputs that the group takes."""
        return 2 * self.dims

    def posterior(self, parameters: Tensor) -> GaussianPosterior:
        """The posterior that encoder outputs (B, 2·dims) stand for: means, then log-variances."""
        mu, logvar = parameters.chunk(2, dim=1)
        return GaussianPosterior(mu, logvar)

    def __str__(self) -> str:
        return f"gaussian:{self.dims}"


@dataclass(frozen=True)
class Point:
    """``dims`` real variables without noise, z = mu(x): a Gaussian of variance 0, which has no density.

    For objectives that need none: adversarial and Wasserstein auto-encoders.
    """

    dims: int

    @property
    def width(self) -> int:
        """Columns of z that the group takes."""
        return self.dims

    @property
    def parameters(self) -> int:
        """Encoder outputs that the group takes."""
        return self.dims

    def posterior(self, parameters: Tensor) -> GaussianPosterior:
        """The posterior that encoder outputs (B, dims) stand for: means, with log-variance −∞."""
        return GaussianPosterior(parameters, torch.full_like(parameters, -torch.inf))

    def __str__(self) -> str:
        return f"point:{self.dims}"


Group = Gaussian | Point
KINDS: dict[str, type[Group]] = {"gaussian": Gaussian, "point": Point}


@dataclass(frozen=True)
class LatentSpace:
    """Named groups side by side; z (B, width) holds their columns in order.

    >>> LatentSpace.parse("style=gaussian:10").dims
    10
    """

    groups: Mapping[str, Group]

    @classmethod
    def parse(cls, text: "str | int | LatentSpace") -> "LatentSpace":
        """Read ``10`` (Gaussian latents) or ``"style=gaussian:10,digit=concrete:10"``."""
        if isinstance(text, LatentSpace):
            return text
        if str(text).strip().isdigit():
            return cls({"z": Gaussian(_count(str(text), str(text)))})
        groups: dict[str, Group] = {}
        for item in str(text).split(","):
            name, _, kind_and_size = item.rpartition("=")
            kind, separator, size = kind_and_size.partition(":")
            if not separator:
                raise DistaffError(
                    f"latents {text!r}: {item!r} should read name=kind:size, such as style=gaussian:10."
                )
            if kind.strip() not in KINDS:
                raise unknown("kind of latent", kind.strip(), KINDS)
            name = name.strip() or kind.strip()
            if name in groups:
                raise DistaffError(f"latents {text!r} name {name!r} twice: give each group its own name.")
            groups[name] = KINDS[kind.strip()](_count(size, str(text)))
        return cls(groups)

    def __str__(self) -> str:
        return ",".join(f"{name}={group}" for name, group in self.groups.items())

    @cached_property
    def dims(self) -> int:
        """How many variables there are: a categorical one counts once."""
        return sum(group.dims for group in self.groups.values())

    @cached_property
    def width(self) -> int:
        """Columns of z."""
        return sum(group.width for group in self.groups.values())

    @cached_property
    def parameters(self) -> int:
        """Outputs that the encoder must have."""
        return sum(group.parameters for group in self.groups.values())

    @cached_property
    def columns(self) -> tuple[slice, ...]:
        """The columns of z that belong to each variable, in order."""
        slices, start = [], 0
        for group in self.groups.values():
            step = group.width // group.dims
            slices += [slice(start + step * d, start + step * (d + 1)) for d in range(group.dims)]
            start += group.width
        return tuple(slices)

    @cached_property
    def group_dims(self) -> dict[str, slice]:
        """The variables that belong to each group, in order."""
        slices, start = {}, 0
        for name, group in self.groups.items():
            slices[name] = slice(start, start + group.dims)
            start += group.dims
        return slices

    def posterior(self, parameters: Tensor) -> Posterior:
        """Encoder outputs (B, parameters) → the posterior of all groups."""
        sizes = [group.parameters for group in self.groups.values()]
        parts: dict[str, GroupPosterior] = {
            name: group.posterior(chunk)
            for (name, group), chunk in zip(
                self.groups.items(), torch.split(parameters, sizes, dim=1), strict=True
            )
        }
        return Posterior(parts)


def _count(text: str, whole: str) -> int:
    if not text.strip().isdigit() or int(text) < 1:
        raise DistaffError(f"latents {whole!r}: {text!r} is not a number of latents of at least 1.")
    return int(text)
