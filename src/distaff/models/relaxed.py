"""Discrete variables with a gradient: Concrete (Gumbel-softmax) and relaxed Bernoulli densities.

Maddison et al. 2017 and Jang et al. 2017. Samples are held away from 0 and 1, where a density is infinite,
by ``_hold``: a saturated sample keeps its gradient, since without one the density alone would be
followed, which rewards logits for running further away.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

LOWEST, HIGHEST = -60.0, -2e-7
"""Bounds of log z of a Concrete sample: z and 1/z fit float32, and z < 1."""

FARTHEST = 13.8
"""Bound of |log z/(1 − z)| of a relaxed bit: at z = 1 − 10⁻⁶ float32 still tells 1 − z to a few percent."""


@dataclass(frozen=True)
class ConcretePosterior:
    """One variable of k classes for B observations, relaxed to points z (B, k) of the simplex.

    Args:
        logits: (B, k) log class probabilities, up to a constant.
        temperature: near 0 the samples are one-hot; their gradients grow.
    """

    logits: Tensor
    temperature: float

    @property
    def width(self) -> int:
        """Columns of z: one a class."""
        return self.logits.shape[-1]

    @property
    def probabilities(self) -> Tensor:
        """(B, k) of the classes."""
        return self.logits.softmax(-1)

    def rsample(self) -> Tensor:
        """softmax((logits + Gumbel noise) / temperature), in log space until the last."""
        noisy = (self.logits + _gumbel(self.logits)) / self.temperature
        return _hold(noisy.log_softmax(-1), LOWEST, HIGHEST).exp()

    def mode(self) -> Tensor:
        """The likeliest class, one-hot."""
        return one_hot(self.logits)

    def log_prob_dims(self, z: Tensor) -> Tensor:
        """The Concrete density at z (B, k), (B, 1); z (M, 1, k) gives all pairs (M, B, 1).

        log Γ(k) + (k−1) log τ + Σ_c [a_c − (τ+1) log z_c] − k log Σ_c exp(a_c − τ log z_c), for logits a
        (Maddison et al. 2017, Eq. 10).
        """
        classes, tau, log_z = self.width, self.temperature, z.log()
        constant = math.lgamma(classes) + (classes - 1) * math.log(tau)
        own = self.logits.sum(-1) - (tau + 1) * log_z.sum(-1)
        shared = torch.logsumexp(self.logits - tau * log_z, dim=-1)
        return (constant + own - classes * shared)[..., None]

    def log_prob_pairs(self, z: Tensor) -> Tensor:
        """log q(z_i|x_j) (1, B, M): Σ_c exp(a_jc) z_ic^−τ of all pairs is a matrix product."""
        classes, tau, log_z = self.width, self.temperature, z.log()
        constant = math.lgamma(classes) + (classes - 1) * math.log(tau)
        powers, logits = -tau * log_z, self.logits.T
        highest, likeliest = powers.detach().amax(1, keepdim=True), logits.detach().amax(0, keepdim=True)
        # No sum is below exp(τ LOWEST) of the largest, which float32 holds at usual temperatures.
        precise = torch.float64 if tau * LOWEST < -80 else logits.dtype
        with torch.autocast(z.device.type, enabled=False):
            sums = torch.exp((powers - highest).to(precise)) @ torch.exp((logits - likeliest).to(precise))
        own = logits.sum(0) - (tau + 1) * log_z.sum(1, keepdim=True)
        return (constant + own - classes * (sums.log().to(own.dtype) + highest + likeliest))[None]

    def log_code_dims(self, c: Tensor) -> Tensor:
        """The log-probability of the classes c (B, k), one-hot, (B, 1)."""
        return (c * self.logits.log_softmax(-1)).sum(-1, keepdim=True)

    def map(self, f: Callable[[Tensor], Tensor]) -> "ConcretePosterior":
        """The posterior of ``f`` of the parameters."""
        return ConcretePosterior(f(self.logits), self.temperature)


@dataclass(frozen=True)
class BernoulliPosterior:
    """n bits for B observations, independent, relaxed to z (B, n) in (0, 1).

    Args:
        logits: (B, n) of the bits being 1.
        temperature: near 0 the samples are 0 or 1; their gradients grow.
    """

    logits: Tensor
    temperature: float

    @property
    def width(self) -> int:
        """Columns of z: one a bit."""
        return self.logits.shape[-1]

    @property
    def probabilities(self) -> Tensor:
        """(B, n) of the bits being 1."""
        return self.logits.sigmoid()

    def rsample(self) -> Tensor:
        """sigmoid((logits + logistic noise) / temperature)."""
        noise = _gumbel(self.logits) - _gumbel(self.logits)
        return _hold((self.logits + noise) / self.temperature, -FARTHEST, FARTHEST).sigmoid()

    def mode(self) -> Tensor:
        """The likelier value of each bit."""
        return (self.logits > 0).to(self.logits.dtype)

    def log_prob_dims(self, z: Tensor) -> Tensor:
        """The binary Concrete density at z (B, n), one a bit; z (M, 1, n) gives all pairs (M, B, n).

        log τ + t − 2 softplus(t) − log z − log(1 − z), with t = logit − τ log(z / (1 − z))
        (Maddison et al. 2017, Eq. 24 and 25).
        """
        log_z, log_rest = z.log(), torch.log1p(-z)
        t = self.logits - self.temperature * (log_z - log_rest)
        return math.log(self.temperature) + t - 2 * F.softplus(t) - log_z - log_rest

    def log_prob_pairs(self, z: Tensor) -> Tensor:
        """log q(z_i,d|x_j) (n, B, M)."""
        return self.log_prob_dims(z[:, None]).permute(2, 0, 1)

    def log_code_dims(self, c: Tensor) -> Tensor:
        """The log-probability of the bits c (B, n), one a bit."""
        return -F.binary_cross_entropy_with_logits(self.logits, c, reduction="none")

    def map(self, f: Callable[[Tensor], Tensor]) -> "BernoulliPosterior":
        """The posterior of ``f`` of the parameters."""
        return BernoulliPosterior(f(self.logits), self.temperature)


def one_hot(scores: Tensor) -> Tensor:
    """1 at the largest of the last axis, 0 elsewhere."""
    return F.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores.dtype)


def _gumbel(like: Tensor) -> Tensor:
    """Gumbel noise: −log of an exponential variable."""
    exponential = torch.empty_like(like).exponential_()
    return -exponential.clamp_min(torch.finfo(like.dtype).tiny).log()


def _hold(values: Tensor, low: float, high: float) -> Tensor:
    """``values`` within bounds, with the gradient of ``values`` itself."""
    return values + (values.clamp(low, high) - values).detach()
