"""Log-densities of all pairs of samples and posteriors, and mixtures of them with gradients.

Every density in training has the form q̂(u_i) = Σ_j w_ij q(u_i|x_j), for all variables or one at a time.
Gaussian log-densities of all pairs are a matrix product, [z², z, 1] · [−1/2σ², μ/σ², const]. The log-weights
are added within the product, and the exponentials are kept for the backward pass: a step at B = 1024 takes a
few passes over B²·D numbers.

Everything is in the precision of the given tensors, float32 in training. The squares in the product, of size
(range of the means / σ)², cancel, so that with means within ±3 the error of a log-density is about 1e-5 nats
at σ = 0.1, 1e-3 at 0.01 and 0.1 at 0.001. Evaluation uses ``gaussians.Mixture``, which is accurate at any σ.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

LOG_2PI = math.log(2 * math.pi)

FLOOR = -60.0
"""Terms below exp(FLOOR) of the largest one are raised to that: far below rounding, but large enough to keep
the products of the backward pass above 1e-38, below which a CPU takes 50 to 100 times as long."""


class Part(Protocol):
    """Some variables of M posteriors; variables that are independent of them given x are in other parts."""

    def log_prob_pairs(self, u: Tensor) -> Tensor:
        """log q(u_id|x_j) (dims, B, M) for every sample u (B, width) under each of M posteriors."""


Parts = Iterable[tuple[Part, Tensor]]
"""Each part with its columns (B, width) of the samples."""


def log_density(z: Tensor, mu: Tensor, logvar: Tensor) -> Tensor:
    """−½ [log 2π + log σ² + (z − μ)²/σ²], the log-density of N(μ, σ²), elementwise.

    Args:
        z: values, of any shape that broadcasts with the others.
        mu: μ.
        logvar: log σ².

    Returns:
        The log-densities, of the broadcast shape, with gradients.
    """
    return -0.5 * (LOG_2PI + logvar + (z - mu) ** 2 * torch.exp(-logvar))


def coefficients(mu: Tensor, logvar: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """a, b and c, of the shape of ``mu``, such that log N(z; μ, σ²) = a z² + b z + c."""
    precision = torch.exp(-logvar)
    constant = -0.5 * (LOG_2PI + logvar + mu**2 * precision)
    return -0.5 * precision, mu * precision, constant


@dataclass(frozen=True)
class Gaussians:
    """M posteriors N(mu, exp(logvar)), both (M, D), independent over D."""

    mu: Tensor
    logvar: Tensor

    def log_prob_dims(self, z: Tensor) -> Tensor:
        """log q(z_d|x), in the broadcast shape of z and the parameters."""
        return log_density(z, self.mu, self.logvar)

    def log_prob_pairs(self, z: Tensor) -> Tensor:
        """log q(z_id|x_j) (D, B, M) for samples z (B, D), with one matrix product per dimension."""
        with torch.autocast(z.device.type, enabled=False):
            left, right = self.factors(z)
            return torch.bmm(left.permute(2, 0, 1), right.permute(2, 1, 0))

    def factors(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """(B, 3, D) and (M, 3, D), whose products over the middle axis sum to log q(z_id|x_j).

        Both are relative to the middle of the means, where the squares cancel with the least rounding.
        """
        centre = self.mu.detach().mean(0)
        z, mu = z - centre, self.mu - centre
        right = coefficients(mu, self.logvar)
        return torch.stack([z**2, z, torch.ones_like(z)], 1), torch.stack(right, 1)


def log_pairs(parts: Parts) -> Tensor:
    """log q(u_id|x_j) (D, B, M) for every variable of all parts."""
    given = list(parts)
    with torch.autocast(given[0][1].device.type, enabled=False):
        return torch.cat([part.log_prob_pairs(u) for part, u in given])


def log_joint(parts: Parts, log_weights: Tensor) -> Tensor:
    """log Σ_j w_ij q(u_i|x_j) (B,) for all parts together.

    Args:
        parts: each part with its columns of the B samples.
        log_weights: log w (B, M).
    """
    lefts, rights, rest = [], [], log_weights
    with torch.autocast(log_weights.device.type, enabled=False):
        for part, u in parts:
            if isinstance(part, Gaussians):
                left, right = part.factors(u)
                lefts.append(left.flatten(1))
                rights.append(right.flatten(1))
            else:
                rest = rest + part.log_prob_pairs(u).sum(0)
        if not lefts:
            return log_sum_exp(rest, torch.zeros_like(log_weights))
        return _log_mixture(torch.cat(lefts, 1)[None], torch.cat(rights, 1).T[None], rest)[0]


def log_each(parts: Parts, log_weights: Tensor) -> Tensor:
    """log Σ_j w_ij q(u_id|x_j) (B, D), one variable at a time.

    Args:
        parts: each part with its columns of the B samples.
        log_weights: log w (B, M).
    """
    found = []
    with torch.autocast(log_weights.device.type, enabled=False):
        for part, u in parts:
            if isinstance(part, Gaussians):
                left, right = part.factors(u)
                found.append(_log_mixture(left.permute(2, 0, 1), right.permute(2, 1, 0), log_weights))
            else:
                found.append(log_sum_exp(part.log_prob_pairs(u), log_weights))
        return torch.cat(found).T


def log_sum_exp(log_terms: Tensor, log_weights: Tensor) -> Tensor:
    """log Σ_j w_ij exp(t_ij) (..., B) for terms (..., B, M) and log-weights (B, M)."""
    result: Tensor = _LogSumExp.apply(log_terms, log_weights)  # type: ignore[no-untyped-call]
    return result


def _log_mixture(left: Tensor, right: Tensor, plus: Tensor) -> Tensor:
    """log Σ_j exp(left_i · right_j + plus_ij) (D, B), from factors (D, B, K), (D, K, M) and addend (B, M)."""
    result: Tensor = _LogMixture.apply(left, right, plus)  # type: ignore[no-untyped-call]
    return result


def _exponentiate(terms: Tensor) -> tuple[Tensor, Tensor]:
    """log Σ_j exp(t_ij) and Σ_j exp(t_ij − max_j t_ij); overwrites the terms with those exponentials."""
    top = terms.amax(-1, keepdim=True)
    total = terms.sub_(top).clamp_(min=FLOOR).exp_().sum(-1, keepdim=True)
    return (top + total.log()).squeeze(-1), total


class _LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, log_terms: Tensor, log_weights: Tensor) -> Tensor:
        terms = log_terms + log_weights
        result, total = _exponentiate(terms)
        ctx.save_for_backward(terms, total)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        terms, total = ctx.saved_tensors
        return terms * (gradient.unsqueeze(-1) / total), None


class _LogMixture(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor, plus: Tensor) -> Tensor:
        terms = torch.baddbmm(plus.expand(len(left), -1, -1), left, right)
        result, total = _exponentiate(terms)
        ctx.save_for_backward(left, right, terms, total)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        left, right, terms, total = ctx.saved_tensors
        pull = terms * (gradient.unsqueeze(-1) / total)
        to_plus = pull.sum(0) if ctx.needs_input_grad[2] else None
        return pull @ right.transpose(1, 2), left.transpose(1, 2) @ pull, to_plus
