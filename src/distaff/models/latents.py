"""The latent space: named groups of variables, and the posteriors an encoder's outputs stand for."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from distaff.errors import DistaffError, unknown
from distaff.models.posteriors import GaussianPosterior, GroupPosterior, Posterior
from distaff.models.relaxed import BernoulliPosterior, ConcretePosterior, one_hot

TEMPERATURE = 0.66
"""Of relaxed variables, as in Maddison et al. 2017."""


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

    def posterior(self, parameters: Tensor, temperature: float) -> GaussianPosterior:
        """The posterior that encoder outputs (B, 2·dims) stand for: means, then log-variances."""
        mu, logvar = parameters.chunk(2, dim=1)
        return GaussianPosterior(mu, logvar)

    def hard(self, z: Tensor) -> Tensor:
        """z as it is: it has no classes to choose from."""
        return z

    def __str__(self) -> str:
        return f"gaussian:{self.dims}"


@dataclass(frozen=True)
class Point(Gaussian):
    """``dims`` real variables that x determines: Gaussians of variance 0, for objectives of z alone."""

    @property
    def parameters(self) -> int:
        """Encoder outputs that the group takes: means alone."""
        return self.dims

    def posterior(self, parameters: Tensor, temperature: float) -> GaussianPosterior:
        """The posterior at these means (B, dims)."""
        return GaussianPosterior(parameters, torch.full_like(parameters, -torch.inf))

    def __str__(self) -> str:
        return f"point:{self.dims}"


@dataclass(frozen=True)
class Concrete:
    """One variable of ``classes`` classes, relaxed to points of the simplex (Gumbel-softmax)."""

    classes: int
    dims = 1

    def __post_init__(self) -> None:
        if self.classes < 2:
            raise DistaffError(f"a concrete latent needs at least 2 classes, not {self.classes}.")

    @property
    def width(self) -> int:
        """Columns of z: one a class."""
        return self.classes

    @property
    def parameters(self) -> int:
        """Encoder outputs: one logit a class."""
        return self.classes

    def posterior(self, parameters: Tensor, temperature: float) -> ConcretePosterior:
        """The posterior with these logits (B, classes)."""
        return ConcretePosterior(parameters, temperature)

    def hard(self, z: Tensor) -> Tensor:
        """The nearest corner of the simplex."""
        return one_hot(z)

    def __str__(self) -> str:
        return f"concrete:{self.classes}"


@dataclass(frozen=True)
class Bernoulli:
    """``dims`` variables of two classes each, relaxed to (0, 1)."""

    dims: int

    @property
    def width(self) -> int:
        """Columns of z: one a bit."""
        return self.dims

    @property
    def parameters(self) -> int:
        """Encoder outputs: one logit a bit."""
        return self.dims

    def posterior(self, parameters: Tensor, temperature: float) -> BernoulliPosterior:
        """The posterior with these logits (B, dims)."""
        return BernoulliPosterior(parameters, temperature)

    def hard(self, z: Tensor) -> Tensor:
        """The nearer of 0 and 1."""
        return (z > 0.5).to(z.dtype)

    def __str__(self) -> str:
        return f"bernoulli:{self.dims}"


Discrete = Concrete | Bernoulli
Group = Gaussian | Discrete
KINDS: dict[str, type[Group]] = {
    "gaussian": Gaussian,
    "point": Point,
    "concrete": Concrete,
    "bernoulli": Bernoulli,
}


@dataclass(frozen=True)
class Variable:
    """One latent variable.

    Args:
        name: ``z0`` … for real ones; the group's name for a concrete one, and a number behind it for bits.
        place: its number among the variables in the order of z.
        columns: of z that hold it.
        classes: how many, or 0 for a real variable.
    """

    name: str
    place: int
    columns: slice
    classes: int

    @property
    def corners(self) -> NDArray[np.float32]:
        """z of each class of a discrete variable, (classes, columns): one-hot, or 0 and 1 for a bit."""
        return np.eye(self.classes, dtype=np.float32)[:, -(self.columns.stop - self.columns.start) :]


@dataclass(frozen=True)
class LatentSpace:
    """Named groups side by side; z (B, width) holds their columns in order.

    >>> LatentSpace.parse("style=gaussian:10,digit=concrete:10").dims
    11
    """

    groups: Mapping[str, Group]

    def __post_init__(self) -> None:
        names = [variable.name for variable in self.variables]
        for name in names:
            if names.count(name) > 1:
                raise DistaffError(f"two latents of {self} would be called {name!r}: rename a group.")

    @classmethod
    def parse(cls, text: "str | int | LatentSpace") -> "LatentSpace":
        """Read ``10`` (Gaussian latents) or ``"style=gaussian:10,digit=concrete:10,smile=bernoulli:2"``."""
        if isinstance(text, LatentSpace):
            return text
        if str(text).strip().isdigit():
            return cls({"z": Gaussian(_count(str(text), str(text)))})
        groups: dict[str, Group] = {}
        for item in str(text).split(","):
            name, _, kind_and_size = item.rpartition("=")
            kind, separator, size = (part.strip() for part in kind_and_size.partition(":"))
            name = name.strip() or kind
            if not separator or not name.isidentifier():
                raise DistaffError(
                    f"latents {text!r}: {item!r} should read name=kind:size, such as style=gaussian:10."
                )
            if kind not in KINDS:
                raise unknown("kind of latent", kind, KINDS)
            if name in groups:
                raise DistaffError(f"latents {text!r} name {name!r} twice: give each group its own name.")
            groups[name] = KINDS[kind](_count(size, str(text)))
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
    def group_dims(self) -> dict[str, slice]:
        """The variables that belong to each group, by their numbers."""
        return dict(zip(self.groups, _slices([g.dims for g in self.groups.values()]), strict=True))

    @cached_property
    def group_columns(self) -> dict[str, slice]:
        """The columns of z that belong to each group."""
        return dict(zip(self.groups, _slices([g.width for g in self.groups.values()]), strict=True))

    @cached_property
    def columns(self) -> tuple[slice, ...]:
        """The columns of z that belong to each variable, in order."""
        sizes = [group.width // group.dims for group in self.groups.values() for _ in range(group.dims)]
        return tuple(_slices(sizes))

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """Every variable in the order of z."""
        found: list[Variable] = []
        real = 0
        for name, group in self.groups.items():
            for d in range(group.dims):
                place = len(found)
                if isinstance(group, Gaussian):
                    called, classes, real = f"z{real}", 0, real + 1
                elif isinstance(group, Concrete):
                    called, classes = name, group.classes
                else:
                    called, classes = f"{name}{d}", 2
                found.append(Variable(called, place, self.columns[place], classes))
        return tuple(found)

    @cached_property
    def coded(self) -> tuple[Variable, ...]:
        """Every variable in the order of ``Codes.names``: the real ones first."""
        return tuple(sorted(self.variables, key=lambda variable: variable.classes > 0))

    def posterior(self, parameters: Tensor, temperature: float = TEMPERATURE) -> Posterior:
        """Encoder outputs (B, parameters) → the posterior of all groups, in single precision at least."""
        parameters = parameters.to(torch.promote_types(parameters.dtype, torch.float32))
        sizes = [group.parameters for group in self.groups.values()]
        parts: dict[str, GroupPosterior] = {
            name: group.posterior(chunk, temperature)
            for (name, group), chunk in zip(
                self.groups.items(), torch.split(parameters, sizes, dim=1), strict=True
            )
        }
        return Posterior(parts)

    def hard(self, z: Tensor) -> Tensor:
        """z (B, width) with every discrete variable at the nearest of its classes."""
        return torch.cat([g.hard(z[:, self.group_columns[name]]) for name, g in self.groups.items()], dim=1)


def _slices(sizes: list[int]) -> list[slice]:
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def _count(text: str, whole: str) -> int:
    if not text.strip().isdigit() or int(text) < 1:
        raise DistaffError(f"latents {whole!r}: {text!r} is not a number of latents of at least 1.")
    return int(text)
