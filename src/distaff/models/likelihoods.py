"""p(x|z) other than Bernoulli pixels: the distributions that a decoder's outputs parametrise."""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor
from torch.nn import functional as F

from distaff.mixtures.pairs import LOG_2PI
from distaff.models.by_name import classes_of, find
from distaff.models.column_likelihood import ColumnLikelihood
from distaff.models.vae import Bernoulli, Likelihood

LOG_2 = math.log(2)
HALF_A_LEVEL = 0.5 / 255
SMALLEST_LOG_SCALE = -7.0
LARGEST_LOG_RATE = 15.0
"""Logarithms of rates are cut here, so that exp does not overflow in an unstable step."""
LARGE = 16.0
"""From this number on, three terms of Stirling's series give log Γ to within 1e-11."""


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

    Its log-density is bounded, whereas a learned variance can shrink without limit if a value never varies.
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


@dataclass(frozen=True)
class Laplace:
    """Independent Laplace(mean, exp(log_scale)) values: heavier tails than the Gaussian's, sharper images."""

    numbers: ClassVar[int] = 2

    mean: Tensor
    log_scale: Tensor

    @classmethod
    def read(cls, outputs: Tensor) -> Self:
        """The first half of the decoder's channels are means, the second logarithms of scales."""
        mean, log_scale = outputs.chunk(2, dim=1)
        return cls(mean, log_scale)

    def log_prob(self, x: Tensor) -> Tensor:
        """−Σ log 2 + log_scale + |x − mean| / exp(log_scale), (B,)."""
        terms = LOG_2 + self.log_scale + (x - self.mean).abs() * torch.exp(-self.log_scale)
        return -terms.flatten(1).sum(1)


@dataclass(frozen=True)
class DiscretisedLogistic:
    """Independent values of 256 levels 0, 1/255, …, 1 under a logistic distribution cut into bins.

    A level's probability is the mass of the logistic distribution between the midpoints to its neighbours;
    the first and the last level also have the mass beyond (Salimans et al. 2017, PixelCNN++, Section 2.1).
    Unlike a Gaussian's, its log-likelihood is that of the pixels as stored, and is never positive.
    """

    numbers: ClassVar[int] = 2

    location: Tensor
    log_scale: Tensor

    @classmethod
    def read(cls, outputs: Tensor) -> Self:
        """The first half of the decoder's channels are locations, the second logarithms of scales."""
        location, log_scale = outputs.chunk(2, dim=1)
        return cls(location, log_scale.clamp(min=SMALLEST_LOG_SCALE))

    def log_prob(self, x: Tensor) -> Tensor:
        """Σ log(F(x + 1/510) − F(x − 1/510)), F the logistic distribution function, (B,)."""
        narrow = torch.exp(-self.log_scale)
        above, below = ((x - self.location + side) * narrow for side in (HALF_A_LEVEL, -HALF_A_LEVEL))
        # σ(a) − σ(b) = σ(a) σ(−b) (1 − exp(b − a)), and each factor has an exact logarithm.
        inside = (
            F.logsigmoid(above) + F.logsigmoid(-below) + torch.log(-torch.expm1(-2 * HALF_A_LEVEL * narrow))
        )
        first, last = x < HALF_A_LEVEL, x > 1 - HALF_A_LEVEL
        terms = torch.where(first, F.logsigmoid(above), torch.where(last, F.logsigmoid(-below), inside))
        return terms.flatten(1).sum(1)

    @property
    def mean(self) -> Tensor:
        """The location, cut to [0, 1]: the mean, up to the mass beyond black and white."""
        return self.location.clamp(0, 1)


@dataclass(frozen=True)
class Poisson:
    """Independent counts with rate exp(log_rate)."""

    numbers: ClassVar[int] = 1
    sees_logarithms: ClassVar[bool] = True
    """Whether the encoder's input is log(1 + x), because counts span orders of magnitude."""

    log_rate: Tensor

    @classmethod
    def read(cls, outputs: Tensor) -> Self:
        """Decoder outputs are the logarithms of rates."""
        return cls(outputs.clamp(max=LARGEST_LOG_RATE))

    def log_prob(self, x: Tensor) -> Tensor:
        """Σ x log λ − λ − log x!, (B,)."""
        return self.log_probs(x).flatten(1).sum(1)

    def log_probs(self, x: Tensor) -> Tensor:
        """The log-probability of each value, with the shape of x.

        The three parts are too large to subtract in float32 if x is. Then log x! is taken by Stirling's
        series, and with u = λ/x − 1 they leave −x (u − log(1 + u)).
        """
        rate, large = torch.exp(self.log_rate), x.clamp(min=LARGE)
        u = (rate - large) / large
        log_ratio = torch.where(u > -0.5, torch.log1p(u.clamp(min=-0.5)), self.log_rate - large.log())
        by_stirling = -large * (u - log_ratio) - 0.5 * (LOG_2PI + large.log()) - _stirling_rest(large)
        return torch.where(x < LARGE, x * self.log_rate - rate - torch.lgamma(x + 1), by_stirling)

    @property
    def mean(self) -> Tensor:
        """The rates."""
        return torch.exp(self.log_rate)


@dataclass(frozen=True)
class NegativeBinomial:
    """Independent counts of mean μ and variance μ + μ²/r: overdispersed, as most counts are."""

    numbers: ClassVar[int] = 2
    sees_logarithms: ClassVar[bool] = True

    log_mean: Tensor
    log_size: Tensor

    @classmethod
    def read(cls, outputs: Tensor) -> Self:
        """The first half of the decoder's outputs are log μ, the second log r."""
        log_mean, log_size = outputs.chunk(2, dim=1)
        return cls(log_mean.clamp(max=LARGEST_LOG_RATE), log_size.clamp(-LARGEST_LOG_RATE, LARGEST_LOG_RATE))

    def log_prob(self, x: Tensor) -> Tensor:
        """Σ log Γ(x+r) − log Γ(r) − log x! + r log(r/(r+μ)) + x log(μ/(r+μ)), (B,)."""
        return self.log_probs(x).flatten(1).sum(1)

    def log_probs(self, x: Tensor) -> Tensor:
        """The log-probability of each value, with the shape of x.

        No part may be large in float32 where the sum is not. If r is larger than x, the distribution is near
        a Poisson's, and the rest is added to that; if x is, Γ(x+r)/x! is taken by Stirling's series.
        """
        size, odds = torch.exp(self.log_size), self.log_mean - self.log_size
        many = x.clamp(min=LARGE)
        small, large = torch.minimum(size, many), torch.maximum(size, many)
        near_poisson = (
            (Poisson(self.log_mean).log_probs(x) + _rising_by_stirling(x, large) - x * F.softplus(odds))
            + torch.exp(self.log_mean)
            - large * F.softplus(odds)
        )
        ways = torch.where(
            x < LARGE,
            torch.lgamma(x + small) - torch.lgamma(x + 1),
            _rising_by_stirling(small - 1, many + 1) + (small - 1) * torch.log1p(many),
        )
        apart = ways - torch.lgamma(small) - x * F.softplus(-odds) - small * F.softplus(odds)
        return torch.where(size < many, apart, near_poisson)

    @property
    def mean(self) -> Tensor:
        """μ."""
        return torch.exp(self.log_mean)


def _rising_by_stirling(x: Tensor, size: Tensor) -> Tensor:
    """log Γ(x+r) − log Γ(r) − x log r for large r, where the two are too large to subtract in float32.

    It tends to 0 as r grows, and the negative binomial tends to the Poisson distribution.
    """
    change = _stirling_rest(size + x) - _stirling_rest(size)
    return (size + x - 0.5) * torch.log1p(x / size) - x + change


def _stirling_rest(y: Tensor) -> Tensor:
    """log Γ(y) − [(y − ½) log y − y + ½ log 2π] for large y."""
    return (1 / 12 - (1 / 360 - 1 / 1260 / y**2) / y**2) / y


COUNTED = ("poisson", "negative_binomial")
"""Names of the likelihoods of counts."""
KINDS: dict[str, type[Likelihood]] = {"bernoulli": Bernoulli, **classes_of(globals(), "read", "log_prob")}
"""All likelihoods by name."""


def find_likelihood(name: str) -> type[Likelihood] | ColumnLikelihood:
    """A likelihood by its name, as ``module:Class``, or by the columns of a table.

    >>> find_likelihood("unit_gaussian").__name__
    'UnitGaussian'
    """
    if name.startswith(ColumnLikelihood.WORD):
        return ColumnLikelihood.parse(name, {kind: KINDS[kind] for kind in COUNTED})
    return find("likelihood", name, KINDS, others=("auto", "by_column:real=3,classes=2+4"))
