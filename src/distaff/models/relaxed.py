"""Discrete variables with a gradient: Concrete (Gumbel-softmax) and relaxed Bernoulli densities.

Maddison et al. 2017, Jang et al. 2017. A confident sample z rounds to 0 or 1, where densities are infinite;
its coordinate u does not: u = log z for classes, u = log z/(1 − z) for a bit. Samples and densities are in u,
the densities with respect to the log-ratios of the classes; only a decoder sees z, through ``to_simplex`` and
``to_unit``. Ratios of q(z|x), q(z) and p(z) are those of densities of z: all have the same Jacobian.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional as F

LOWEST = -60.0
"""Smallest log z for a decoder: lower values carry no information, and subnormal numbers are slow."""

SMALLEST = 1e-300
"""Replaces a sum that float64 rounds to 0."""
TEMPERATURE = 0.66
"""Default temperature of relaxed variables, as in Maddison et al. 2017."""


@dataclass(frozen=True)
class RelaxedPosterior:
    """Base class of relaxed variables of B observations.

    Args:
        logits: (B, width) a number for each column of u.
        temperature: near 0 the samples are at a class, and their gradients grow.
    """

    logits: Tensor
    temperature: float

    @property
    def width(self) -> int:
        """Number of columns of u."""
        return self.logits.shape[-1]

    def map(self, f: Callable[[Tensor], Tensor]) -> Self:
        """The posterior with ``f`` applied to its parameters."""
        return replace(self, logits=f(self.logits))


class ConcretePosterior(RelaxedPosterior):
    """One variable of k classes, relaxed to points of the simplex, u = log z (B, k).

    Its logits (B, k) are log class probabilities, up to a constant.
    """

    @property
    def probabilities(self) -> Tensor:
        """(B, k) class probabilities."""
        return self.logits.softmax(-1)

    def rsample(self) -> Tensor:
        """u = log softmax((logits + Gumbel noise) / temperature)."""
        return ((self.logits + _gumbel(self.logits)) / self.temperature).log_softmax(-1)

    def mode(self) -> Tensor:
        """The most likely class, one-hot."""
        return one_hot(self.logits)

    def log_prob_dims(self, u: Tensor) -> Tensor:
        """The log-density (B, 1) at u (B, k); u (M, 1, k) gives all pairs (M, B, 1).

        log Γ(k) + (k−1) log τ + Σ_c [a_c − τ u_c] − k log Σ_c exp(a_c − τ u_c), for logits a
        (the ExpConcrete of Maddison et al. 2017's appendix).
        """
        exponents = self.logits - self.temperature * u
        return (self._constant + exponents.sum(-1) - self.width * exponents.logsumexp(-1))[..., None]

    def log_prob_pairs(self, u: Tensor) -> Tensor:
        """log q(u_i|x_j) (1, B, M): Σ_c exp(a_jc − τ u_ic) of all pairs is a matrix product.

        A sum may be as small as exp(−s) times its largest factors, where s is the range of logits over the
        classes: float64 can represent that for any s below 700.
        """
        powers, logits = -self.temperature * u, self.logits.T
        highest, likeliest = powers.detach().amax(1, keepdim=True), logits.detach().amax(0, keepdim=True)
        with torch.autocast(u.device.type, enabled=False):
            sums = torch.exp((powers - highest).double()) @ torch.exp((logits - likeliest).double())
        shared = sums.clamp_min(SMALLEST).log().to(powers.dtype) + highest + likeliest
        return (self._constant + powers.sum(1, keepdim=True) + logits.sum(0) - self.width * shared)[None]

    def log_code_dims(self, c: Tensor) -> Tensor:
        """The log-probability (B, 1) of the one-hot classes c (B, k)."""
        return (c * self.logits.log_softmax(-1)).sum(-1, keepdim=True)

    @property
    def _constant(self) -> float:
        return math.lgamma(self.width) + (self.width - 1) * math.log(self.temperature)


class RoundedPosterior(ConcretePosterior):
    """The samples of ``ConcretePosterior``, with the probability of the nearest class as density.

    Decoders see the relaxed u; densities are q(c|x) at c = argmax u. A class has no gradient with respect to
    u, and E ∇ log q(c|x) = ∇ Σ_c q(c|x) = 0: I(x; c) and KL(q(c|x) ‖ p(c)) have the right values, but on
    average no gradient. Logits learn from reconstruction alone.
    """

    def log_prob_dims(self, u: Tensor) -> Tensor:
        """log q(c|x) (B, 1) at the class nearest to u (B, k); u (M, 1, k) gives all pairs (M, B, 1)."""
        return self.log_code_dims(one_hot(u))

    def log_prob_pairs(self, u: Tensor) -> Tensor:
        """log q(c_i|x_j) (1, B, M) at the class c_i nearest to u_i."""
        return self.logits.log_softmax(-1).T[u.argmax(-1)][None]


class BernoulliPosterior(RelaxedPosterior):
    """n independent bits, relaxed to (0, 1), u = log z/(1 − z) (B, n).

    Its logits (B, n) are those of the probability that a bit is 1.
    """

    @property
    def probabilities(self) -> Tensor:
        """(B, n) probabilities that a bit is 1."""
        return self.logits.sigmoid()

    def rsample(self) -> Tensor:
        """u = (logits + logistic noise) / temperature."""
        noise = _gumbel(self.logits) - _gumbel(self.logits)
        return (self.logits + noise) / self.temperature

    def mode(self) -> Tensor:
        """The likelier value of each bit."""
        return (self.logits > 0).to(self.logits.dtype)

    def log_prob_dims(self, u: Tensor) -> Tensor:
        """The log-density (B, n) of each bit at u (B, n); u (M, 1, n) gives all pairs (M, B, n).

        log τ + t − 2 softplus(t) with t = logit − τ u, a logistic density (Maddison et al. 2017, Eq. 24, 25).
        """
        t = self.logits - self.temperature * u
        return math.log(self.temperature) + t - 2 * F.softplus(t)

    def log_prob_pairs(self, u: Tensor) -> Tensor:
        """log q(u_i,d|x_j) (n, B, M)."""
        return self.log_prob_dims(u[:, None]).permute(2, 0, 1)

    def log_code_dims(self, c: Tensor) -> Tensor:
        """The log-probability (B, n) of each of the bits c (B, n)."""
        return -F.binary_cross_entropy_with_logits(self.logits, c, reduction="none")


def to_simplex(u: Tensor) -> Tensor:
    """z = exp u of a Concrete variable, as a decoder sees it."""
    return u.clamp_min(LOWEST).exp()


def to_unit(u: Tensor) -> Tensor:
    """z = 1/(1 + exp −u) of bits, as a decoder sees them."""
    return u.clamp_min(LOWEST).sigmoid()


def one_hot(scores: Tensor) -> Tensor:
    """1 at the largest score along the last axis, 0 elsewhere."""
    return F.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores.dtype)


def _gumbel(like: Tensor) -> Tensor:
    """Gumbel noise: −log of an exponential variable."""
    exponential = torch.empty_like(like).exponential_()
    return -exponential.clamp_min(torch.finfo(like.dtype).tiny).log()
