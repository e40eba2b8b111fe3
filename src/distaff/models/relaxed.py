"""Discrete variables with a gradient: Concrete (Gumbel-softmax) and relaxed Bernoulli densities.

Maddison et al. 2017, Jang et al. 2017. A confident sample z rounds to 0 or 1, where densities are infinite;
its coordinate u does not: u = log z of classes, u = log z/(1 − z) of a bit. Samples are of u, and densities
too, with respect to the log-ratios of the classes; only a decoder sees z, by ``to_simplex`` and ``to_unit``.
Ratios of q(z|x), q(z) and p(z) are those of densities of z: one Jacobian belongs to all of them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional as F

LOWEST = -60.0
"""Of log z for a decoder: less tells it nothing, and subnormal numbers would slow its products down."""

SMALLEST = 1e-300
"""In place of a sum that float64 rounds to 0."""


@dataclass(frozen=True)
class ConcretePosterior:
    """One variable of k classes for B observations, relaxed to points of the simplex, u = log z (B, k).

    Args:
        logits: (B, k) log class probabilities, up to a constant.
        temperature: near 0 the samples are one-hot; their gradients grow.
    """

    logits: Tensor
    temperature: float

    @property
    def width(self) -> int:
        """Columns of u: one per class."""
        return self.logits.shape[-1]

    @property
    def probabilities(self) -> Tensor:
        """(B, k) of the classes."""
        return self.logits.softmax(-1)

    def rsample(self) -> Tensor:
        """u = log softmax((logits + Gumbel noise) / temperature)."""
        return ((self.logits + _gumbel(self.logits)) / self.temperature).log_softmax(-1)

    def mode(self) -> Tensor:
        """The likeliest class, one-hot."""
        return one_hot(self.logits)

    def log_prob_dims(self, u: Tensor) -> Tensor:
        """The density at u (B, k), (B, 1); u (M, 1, k) gives all pairs (M, B, 1).

        log Γ(k) + (k−1) log τ + Σ_c [a_c − τ u_c] − k log Σ_c exp(a_c − τ u_c), for logits a
        (the ExpConcrete of Maddison et al. 2017's appendix).
        """
        exponents = self.logits - self.temperature * u
        return (self._constant + exponents.sum(-1) - self.width * exponents.logsumexp(-1))[..., None]

    def log_prob_pairs(self, u: Tensor) -> Tensor:
        """log q(u_i|x_j) (1, B, M): Σ_c exp(a_jc − τ u_ic) of all pairs is a matrix product.

        A sum may be as small as exp(−s) of its largest factors, s the range of logits over the classes:
        float64 holds that for any s below 700.
        """
        powers, logits = -self.temperature * u, self.logits.T
        highest, likeliest = powers.detach().amax(1, keepdim=True), logits.detach().amax(0, keepdim=True)
        with torch.autocast(u.device.type, enabled=False):
            sums = torch.exp((powers - highest).double()) @ torch.exp((logits - likeliest).double())
        shared = sums.clamp_min(SMALLEST).log().to(powers.dtype) + highest + likeliest
        return (self._constant + powers.sum(1, keepdim=True) + logits.sum(0) - self.width * shared)[None]

    def log_code_dims(self, c: Tensor) -> Tensor:
        """The log-probability of the classes c (B, k), one-hot, (B, 1)."""
        return (c * self.logits.log_softmax(-1)).sum(-1, keepdim=True)

    def map(self, f: Callable[[Tensor], Tensor]) -> Self:
        """The posterior of ``f`` of the parameters."""
        return replace(self, logits=f(self.logits))

    @property
    def _constant(self) -> float:
        return math.lgamma(self.width) + (self.width - 1) * math.log(self.temperature)


@dataclass(frozen=True)
class RoundedPosterior(ConcretePosterior):
    """The same samples, measured by the probability of the class that each is nearest to.

    Decoders see the relaxed u, densities are q(c|x) at c = argmax u. A class has no gradient with respect to
    u, and E ∇ log q(c|x) = ∇ Σ_c q(c|x) = 0: I(x; c) and KL(q(c|x) ‖ p(c)) have their values, and on average
    no gradient. Logits learn from reconstruction alone.
    """

    def log_prob_dims(self, u: Tensor) -> Tensor:
        """log q(c|x) at the nearest class of u (B, k), (B, 1); u (M, 1, k) gives all pairs (M, B, 1)."""
        return self.log_code_dims(one_hot(u))

    def log_prob_pairs(self, u: Tensor) -> Tensor:
        """log q(c_i|x_j) (1, B, M) at the nearest class c_i of u_i."""
        return self.logits.log_softmax(-1).T[u.argmax(-1)][None]


@dataclass(frozen=True)
class BernoulliPosterior:
    """n bits for B observations, independent, relaxed to (0, 1), u = log z/(1 − z) (B, n).

    Args:
        logits: (B, n) of the bits being 1.
        temperature: near 0 the samples are 0 or 1; their gradients grow.
    """

    logits: Tensor
    temperature: float

    @property
    def width(self) -> int:
        """Columns of u: one per bit."""
        return self.logits.shape[-1]

    @property
    def probabilities(self) -> Tensor:
        """(B, n) of the bits being 1."""
        return self.logits.sigmoid()

    def rsample(self) -> Tensor:
        """u = (logits + logistic noise) / temperature."""
        noise = _gumbel(self.logits) - _gumbel(self.logits)
        return (self.logits + noise) / self.temperature

    def mode(self) -> Tensor:
        """The likelier value of each bit."""
        return (self.logits > 0).to(self.logits.dtype)

    def log_prob_dims(self, u: Tensor) -> Tensor:
        """The density at u (B, n), one per bit; u (M, 1, n) gives all pairs (M, B, n).

        log τ + t − 2 softplus(t) with t = logit − τ u: logistic (Maddison et al. 2017, Eq. 24 and 25).
        """
        t = self.logits - self.temperature * u
        return math.log(self.temperature) + t - 2 * F.softplus(t)

    def log_prob_pairs(self, u: Tensor) -> Tensor:
        """log q(u_i,d|x_j) (n, B, M)."""
        return self.log_prob_dims(u[:, None]).permute(2, 0, 1)

    def log_code_dims(self, c: Tensor) -> Tensor:
        """The log-probability of the bits c (B, n), one per bit."""
        return -F.binary_cross_entropy_with_logits(self.logits, c, reduction="none")

    def map(self, f: Callable[[Tensor], Tensor]) -> "BernoulliPosterior":
        """The posterior of ``f`` of the parameters."""
        return BernoulliPosterior(f(self.logits), self.temperature)


def to_simplex(u: Tensor) -> Tensor:
    """z = exp u of a Concrete variable, as a decoder sees it."""
    return u.clamp_min(LOWEST).exp()


def to_unit(u: Tensor) -> Tensor:
    """z = 1/(1 + exp −u) of bits, as a decoder sees them."""
    return u.clamp_min(LOWEST).sigmoid()


def one_hot(scores: Tensor) -> Tensor:
    """1 at the largest of the last axis, 0 elsewhere."""
    return F.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores.dtype)


def _gumbel(like: Tensor) -> Tensor:
    """Gumbel noise: −log of an exponential variable."""
    exponential = torch.empty_like(like).exponential_()
    return -exponential.clamp_min(torch.finfo(like.dtype).tiny).log()
