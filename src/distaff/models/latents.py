"""The latent space: named groups of variables, and the posterior of an encoder's outputs."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from distaff.codes import Codes, FloatArray
from distaff.foundation.errors import DistaffError, unknown
from distaff.models.by_name import find
from distaff.models.groups import Gaussian, GaussianPosterior, GroupPosterior, Posterior, Real, single
from distaff.models.latent_kinds import KINDS, Concrete, Group, Quantized, Uniform
from distaff.models.quantized import QuantizedPosterior
from distaff.models.relaxed import TEMPERATURE, BernoulliPosterior, ConcretePosterior

NOISE = "noise"
"""Name of the generator's inputs beside its codes: ``noise:62``."""
MOST = 100_000
"""Largest number of latents in one group."""
CATEGORY = "category/"


@dataclass(frozen=True)
class Variable:
    """One latent variable.

    Args:
        name: ``z0``, ``z1``, … for real variables; the group's name for a concrete variable; the group's name
            and a number for bits.
        place: number of the variable in the order of z.
        columns: columns of z that hold the variable.
        classes: number of classes, or 0 for a real variable.
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
    """Named groups of latent variables; z (B, width) holds their columns in order.

    >>> LatentSpace.parse("style=gaussian:10,digit=concrete:10").dims
    11

    Args:
        groups: groups by name.
        noise: number of values ε ~ N(0, I) that a generator takes beside z; they are not part of any code.
    """

    groups: Mapping[str, Group]
    noise: int = 0

    def __post_init__(self) -> None:
        if not self.groups:
            raise DistaffError("noise alone says nothing about an image: name latents too.")
        names = [variable.name for variable in self.variables]
        seen: set[str] = set()
        for name in names:
            if name in seen:
                raise DistaffError(f"two latents of {self} would be called {name!r}: rename a group.")
            seen.add(name)

    @classmethod
    def parse(
        cls, text: "str | int | LatentSpace", real: type[Gaussian | Quantized | Uniform] = Gaussian
    ) -> "LatentSpace":
        """Read ``"style=gaussian:10,digit=concrete:10,smile=bernoulli:2"``, or ``10`` latents of one kind.

        ``"style=uniform:2,digit=concrete:10,noise:62"`` is for generators; ``"quantized:12:5"`` means 12
        latents of 5 values each. A kind of your own, a class like those of ``latent_kinds``, is written
        ``"style=mine:Kind:10"``.
        """
        if isinstance(text, LatentSpace):
            return text
        if str(text).strip().isdecimal():
            return cls({"z": real(_count(str(text), str(text)))})
        groups: dict[str, Group] = {}
        noise = 0
        for item in str(text).split(","):
            name, _, kind_and_size = item.rpartition("=")
            kind, separator, size = (part.strip() for part in kind_and_size.rpartition(":"))
            head, _, first = kind.rpartition(":")
            kind, sizes = (head, [first, size]) if head and first.isdigit() else (kind, [size])
            name = name.strip() or kind.rpartition(":")[2].lower()
            if not separator or not name.isidentifier():
                raise DistaffError(
                    f"latents {text!r}: {item!r} should read name=kind:size, such as style=gaussian:10."
                )
            known = {NOISE: Gaussian, **KINDS}
            make = known[kind] if kind in known else find("kind of latent", kind, KINDS, others=(NOISE,))
            if name in groups or (kind == NOISE and noise):
                raise DistaffError(f"latents {text!r} name {name!r} twice: give each group its own name.")
            if kind == NOISE:
                noise = _count(size, str(text))
            else:
                if len(sizes) > len(dataclasses.fields(make)):
                    raise DistaffError(f"latents {text!r}: {kind} takes one number, not {':'.join(sizes)}.")
                groups[name] = make(*(_count(number, str(text)) for number in sizes))
        return cls(groups, noise)

    def __str__(self) -> str:
        groups = [f"{name}={group}" for name, group in self.groups.items()]
        return ",".join([*groups, *([f"{NOISE}:{self.noise}"] if self.noise else [])])

    @cached_property
    def dims(self) -> int:
        """Number of variables; a categorical variable counts once."""
        return sum(group.dims for group in self.groups.values())

    @cached_property
    def width(self) -> int:
        """Number of columns of z."""
        return sum(group.width for group in self.groups.values())

    @cached_property
    def parameters(self) -> int:
        """Number of outputs that the encoder must have."""
        return sum(group.parameters for group in self.groups.values())

    @cached_property
    def group_dims(self) -> dict[str, slice]:
        """The numbers of the variables of each group."""
        return dict(zip(self.groups, _slices([g.dims for g in self.groups.values()]), strict=True))

    @cached_property
    def group_columns(self) -> dict[str, slice]:
        """The columns of z of each group."""
        return dict(zip(self.groups, _slices([g.width for g in self.groups.values()]), strict=True))

    @cached_property
    def columns(self) -> tuple[slice, ...]:
        """The columns of z of each variable, in order."""
        sizes = [group.width // group.dims for group in self.groups.values() for _ in range(group.dims)]
        return tuple(_slices(sizes))

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """All variables in the order of z."""
        found: list[Variable] = []
        real = 0
        for name, group in self.groups.items():
            for d in range(group.dims):
                place = len(found)
                if isinstance(group, Real):
                    called, classes, real = f"z{real}", 0, real + 1
                elif isinstance(group, Concrete):
                    called, classes = name, group.classes
                else:
                    called, classes = f"{name}{d}", 2
                found.append(Variable(called, place, self.columns[place], classes))
        return tuple(found)

    @cached_property
    def coded(self) -> tuple[Variable, ...]:
        """All variables in the order of ``Codes.names``: the real ones first."""
        return tuple(sorted(self.variables, key=lambda variable: variable.classes > 0))

    def number(self, which: int | str) -> int:
        """The number, in the order of ``coded``, of a variable given by number or name."""
        names = [variable.name for variable in self.coded]
        if isinstance(which, str) and which in names:
            return names.index(which)
        if isinstance(which, str) and not which.isdigit():
            raise unknown("latent", which, names)
        if not 0 <= int(which) < len(names):
            raise DistaffError(f"there is no latent {which}: the model has {len(names)}, from 0.")
        return int(which)

    @cached_property
    def reach(self) -> float:
        """Largest absolute value in traversals of the real variables."""
        return max((g.reach for g in self.groups.values() if isinstance(g, Real)), default=Real.reach)

    @cached_property
    def deviations(self) -> tuple[float, ...]:
        """The standard deviation of each real variable's default prior, in the order of ``Codes.means``."""
        real = [group for group in self.groups.values() if isinstance(group, Real)]
        return tuple(group.deviation for group in real for _ in range(group.dims))

    def posterior(
        self,
        parameters: Tensor,
        temperature: float = TEMPERATURE,
        codebooks: Mapping[str, Tensor] | None = None,
    ) -> Posterior:
        """The posterior of all groups from encoder outputs (B, parameters), in single precision or better.

        Args:
            parameters: the encoder's outputs.
            temperature: temperature of relaxed variables.
            codebooks: codebooks (dims, V) of each group of quantised latents; by default the initial ones.
        """
        sizes = [group.parameters for group in self.groups.values()]
        known = codebooks or {}
        parts: dict[str, GroupPosterior] = {
            name: group.posterior(chunk, temperature, *([known[name]] if name in known else []))
            for (name, group), chunk in zip(
                self.groups.items(), torch.split(single(parameters), sizes, dim=1), strict=True
            )
        }
        return Posterior(parts)

    def draw(self, count: int, like: Tensor) -> Tensor:
        """z (count, width) drawn from the groups' default priors, with discrete variables at a class."""
        return torch.cat([group.draw(count, like) for group in self.groups.values()], dim=1)

    def squash(self, u: Tensor) -> Tensor:
        """z (B, width), as decoders and critics see it, from the coordinates u used for densities."""
        parts = [group.squash(u[:, self.group_columns[name]]) for name, group in self.groups.items()]
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)

    def hard(self, z: Tensor) -> Tensor:
        """z (B, width) with every discrete variable at the nearest of its classes."""
        return torch.cat([g.hard(z[:, self.group_columns[name]]) for name, g in self.groups.items()], dim=1)


def _slices(sizes: list[int]) -> list[slice]:
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def _count(text: str, whole: str) -> int:
    if not text.strip().isdecimal() or len(text) > 9 or not 1 <= int(text) <= MOST:
        raise DistaffError(
            f"latents {whole!r}: {text!r} is not a number of latents of at least 1 (and at most {MOST:,})."
        )
    return int(text)


def code_tensors(posterior: Posterior) -> dict[str, Tensor]:
    """``means`` and ``logvars`` (B, D) of the real groups, ``category/NAME`` (B, k) of discrete variables."""
    parts = posterior.parts
    real = [
        _real(part) for part in parts.values() if isinstance(part, GaussianPosterior | QuantizedPosterior)
    ]
    nothing = next(iter(parts.values())).mode()[:, :0]
    tensors = {
        "means": torch.cat([nothing, *(mu for mu, _ in real)], 1),
        "logvars": torch.cat([nothing, *(logvar for _, logvar in real)], 1),
    }
    for name, part in parts.items():
        if isinstance(part, ConcretePosterior):
            tensors[CATEGORY + name] = part.probabilities
        elif isinstance(part, BernoulliPosterior):
            for d, one in enumerate(part.probabilities.unbind(1)):
                tensors[f"{CATEGORY}{name}{d}"] = torch.stack([1 - one, one], 1)
    return tensors


def _real(part: GaussianPosterior | QuantizedPosterior) -> tuple[Tensor, Tensor]:
    """Means and log-variances (B, D); quantised latents are at their values, without noise."""
    if isinstance(part, GaussianPosterior):
        return part.mu, part.logvar
    return part.mode(), torch.full_like(part.mode(), -torch.inf)


def codes_from(arrays: Mapping[str, FloatArray]) -> Codes:
    """``Codes`` from arrays named as in ``code_tensors``."""
    categories = {n.removeprefix(CATEGORY): a for n, a in arrays.items() if n.startswith(CATEGORY)}
    return Codes(arrays["means"], arrays["logvars"], categories)


def codes_of(posterior: Posterior) -> Codes:
    """The posterior as plain arrays."""
    return codes_from({name: tensor.cpu().numpy() for name, tensor in code_tensors(posterior).items()})


def to_z(codes: Codes, latents: LatentSpace) -> NDArray[np.float32]:
    """z (N, width) of codes: the means, and the most likely class of each discrete variable."""
    real = [variable for variable in latents.coded if not variable.classes]
    discrete = {variable.name: variable for variable in latents.coded if variable.classes}
    if len(real) != codes.means.shape[1] or discrete.keys() != codes.categories.keys():
        raise DistaffError(
            f"codes of the latents {', '.join(codes.names)} do not fit a model with the latents {latents}."
        )
    z = np.zeros((len(codes), latents.width), np.float32)
    for variable, means in zip(real, codes.means.T, strict=True):
        z[:, variable.columns] = means[:, None]
    for name, variable in discrete.items():
        z[:, variable.columns] = variable.corners[codes.categories[name].argmax(1)]
    return z
