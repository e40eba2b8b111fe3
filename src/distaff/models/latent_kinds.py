"""Kinds of latent variables beside ``Gaussian``: one class each, whose keyword is its name in lower case."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from distaff.foundation.errors import DistaffError
from distaff.models.by_name import classes_of
from distaff.models.groups import Gaussian, GaussianPosterior, Kind, Real
from distaff.models.quantized import QuantizedPosterior
from distaff.models.relaxed import (
    BernoulliPosterior,
    ConcretePosterior,
    RoundedPosterior,
    one_hot,
    to_simplex,
    to_unit,
)


class Point(Gaussian):
    """``dims`` real variables determined by x: Gaussians of variance 0, for objectives of z alone."""

    @property
    def parameters(self) -> int:
        """Number of encoder outputs: means only."""
        return self.dims

    def posterior(self, parameters: Tensor, temperature: float) -> GaussianPosterior:
        """The posterior with these means (B, dims)."""
        return GaussianPosterior(parameters, torch.full_like(parameters, -torch.inf))


@dataclass(frozen=True)
class Quantized(Real):
    """``dims`` real variables with ``values`` learned values each, determined by x (QLAE, Hsu et al. 2023).

    Each encoder output is rounded to the nearest value of its variable's codebook, with a straight-through
    gradient. Codebooks start as ``values`` evenly spaced numbers from −½ to ½ and belong to the prior, under
    which all values are equally likely.
    """

    deviation: ClassVar[float] = 12**-0.5
    reach: ClassVar[float] = 0.5

    values: int = 10

    def __post_init__(self) -> None:
        if self.values < 2:
            raise DistaffError(
                f"a codebook of {self.values} value says nothing: a quantized latent needs 2 values or more, "
                f"such as quantized:{self.dims}:10."
            )

    @property
    def parameters(self) -> int:
        """Number of encoder outputs: one per variable."""
        return self.dims

    def codebook(self) -> Tensor:
        """(dims, values) the initial codebooks."""
        return torch.linspace(-0.5, 0.5, self.values).repeat(self.dims, 1)

    def posterior(
        self, parameters: Tensor, temperature: float, codebook: Tensor | None = None
    ) -> QuantizedPosterior:
        """The posterior at the codebook values nearest to the encoder outputs (B, dims)."""
        values = self.codebook().to(parameters) if codebook is None else codebook
        return QuantizedPosterior(parameters, values)

    def draw(self, count: int, like: Tensor) -> Tensor:
        """(count, dims) draws from the initial codebooks, all values equally likely."""
        values = self.codebook().to(like)
        return values[torch.arange(self.dims), torch.randint(self.values, (count, self.dims))]


class Uniform(Real):
    """``dims`` real codes of a generator, drawn from U[−1, 1], with Q(c_d|x) = N(mu_d, exp(logvar_d))."""

    deviation: ClassVar[float] = 3**-0.5
    reach: ClassVar[float] = 1.0

    def draw(self, count: int, like: Tensor) -> Tensor:
        """(count, dims) draws from U[−1, 1]."""
        return 2 * torch.rand(count, self.dims, device=like.device, dtype=like.dtype) - 1


@dataclass(frozen=True)
class Concrete(Kind):
    """One variable of ``classes`` classes, relaxed to points of the simplex (Gumbel-softmax)."""

    classes: int
    dims = 1

    def __post_init__(self) -> None:
        if self.classes < 2:
            raise DistaffError(f"a concrete latent needs at least 2 classes, not {self.classes}.")

    @property
    def width(self) -> int:
        """Columns of z: one per class."""
        return self.classes

    @property
    def parameters(self) -> int:
        """Encoder outputs: one logit per class."""
        return self.classes

    def posterior(self, parameters: Tensor, temperature: float) -> ConcretePosterior:
        """The posterior with these logits (B, classes)."""
        return ConcretePosterior(parameters, temperature)

    def squash(self, u: Tensor) -> Tensor:
        """z from coordinates u = log z (B, classes)."""
        return to_simplex(u)

    def hard(self, z: Tensor) -> Tensor:
        """The nearest corner of the simplex."""
        return one_hot(z)

    def draw(self, count: int, like: Tensor) -> Tensor:
        """(count, classes) one-hot draws of equally likely classes."""
        return one_hot(torch.rand(count, self.classes, device=like.device, dtype=like.dtype))


class Rounded(Concrete):
    """One variable of ``classes`` classes, sampled like ``Concrete``, with densities at the nearest class.

    As in the code of Esmaeili et al. 2018; its information is not penalised (see ``RoundedPosterior``).
    """

    def posterior(self, parameters: Tensor, temperature: float) -> RoundedPosterior:
        """The posterior with these logits (B, classes)."""
        return RoundedPosterior(parameters, temperature)


@dataclass(frozen=True)
class Bernoulli(Kind):
    """``dims`` variables of two classes each, relaxed to (0, 1)."""

    dims: int

    @property
    def width(self) -> int:
        """Columns of z: one per bit."""
        return self.dims

    @property
    def parameters(self) -> int:
        """Encoder outputs: one logit per bit."""
        return self.dims

    def posterior(self, parameters: Tensor, temperature: float) -> BernoulliPosterior:
        """The posterior with these logits (B, dims)."""
        return BernoulliPosterior(parameters, temperature)

    def squash(self, u: Tensor) -> Tensor:
        """z from coordinates u = log z/(1 − z) (B, dims)."""
        return to_unit(u)

    def hard(self, z: Tensor) -> Tensor:
        """The nearer of 0 and 1."""
        return (z > 0.5).to(z.dtype)

    def draw(self, count: int, like: Tensor) -> Tensor:
        """(count, dims) fair bits."""
        return self.hard(torch.rand(count, self.dims, device=like.device, dtype=like.dtype))


Discrete = Concrete | Bernoulli
Group = Gaussian | Quantized | Uniform | Discrete
KINDS: dict[str, type[Group]] = {"gaussian": Gaussian, **classes_of(globals(), "posterior", "draw")}
"""All kinds that can be drawn from."""
