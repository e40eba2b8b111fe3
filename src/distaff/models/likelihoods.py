"""p(x|z): what a decoder's outputs stand for."""

from dataclasses import dataclass
from typing import ClassVar, Protocol, Self

import torch
from torch import Tensor
from torch.nn import functional as F

from distaff.mixtures.pairs import LOG_2PI
from distaff.models.by_name import classes_of, find


class Likelihood(Protocol):
    """The distribution of B observations given their latents."""

    numbers: ClassVar[int]
    """How many numbers a decoder gives for each value of an observation."""

    @classmethod
    def read(cls, outputs: Tensor) -> Self:
        """The distribution that decoder outputs (B, numbers · C, ...) stand for."""

    def log_prob(self, x: Tensor) -> Tensor:
        """log p(x|z) (B,), summed over pixels."""

    @property
    def mean(self) -> Tensor:
        """E[x|z], of x's shape."""


@dataclass(frozen=True)
class Bernoulli:
    """Independent Bernoulli pixels given by ``logits``; targets anywhere in [0, 1] (cross-entropy)."""

    numbers: ClassVar[int] = 1

    logits: Tensor

    @classmethod
    def read(cls, outputs: Tensor) -> Self:
        """Decoder outputs are the logits."""
        return cls(outputs)

    def log_prob(self, x: Tensor) -> Tensor:
        """Σ_pixels x log p + (1 − x) log(1 − p), (B,)."""
        loss = F.binary_cross_entropy_with_logits(self.logits, x, reduction="none")
        return -loss.flatten(1).sum(1)

    @property
    def mean(self) -> Tensor:
        """Pixel probabilities."""
        return torch.sigmoid(self.logits)


@dataclass(frozen=True)
class Gaussian:
    """Independent N(mean, exp(logvar)) values."""

    numbers: ClassVar[int] = 2

    mean: Tensor
    logvar: Tensor

    @classmethod
    def read(cls, outputs: Tensor) -> Self:
        """The first half of the decoder's channels are means, the second log-variances."""
        mean, logvar = outputs.chunk(2, dim=1)
        return cls(mean, logvar)

    def log_prob(self, x: Tensor) -> Tensor:
        """−½ Σ log 2π + logvar + (x − mean)² / exp(logvar), (B,)."""
        terms = LOG_2PI + self.logvar + (x - self.mean) ** 2 * torch.exp(-self.logvar)
        return -0.5 * terms.flatten(1).sum(1)


@dataclass(frozen=True)
class UnitGaussian:
    """Independent N(mean, 1) values, for standardised data.

    Its log-density is bounded, whereas a learned variance may shrink without end where a value never varies.
    """

    numbers: ClassVar[int] = 1

    mean: Tensor

    @classmethod
    def read(cls, outputs: Tensor) -> Self:
        """Decoder outputs are the means."""
        return cls(outputs)

    def log_prob(self, x: Tensor) -> Tensor:
        """−½ Σ log 2π + (x − mean)², (B,)."""
        return -0.5 * (LOG_2PI + (x - self.mean) ** 2).flatten(1).sum(1)


KINDS: dict[str, type[Likelihood]] = classes_of(globals(), "read", "log_prob")
"""All of the above, found by being there."""


def likelihood_for(shape: tuple[int, ...]) -> str:
    """The usual likelihood: bernoulli for images, whose values lie in [0, 1], gaussian for vectors."""
    return "bernoulli" if len(shape) == 3 else "gaussian"


def find_likelihood(name: str) -> type[Likelihood]:
    """A likelihood by its name, or by ``module:Class``.

    >>> find_likelihood("unit_gaussian").__name__
    'UnitGaussian'
    """
    return find("likelihood", name, KINDS, others=("auto",))
