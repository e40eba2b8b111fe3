"""log Σ_j w_ij q(u_i|x_j), the kernel under every density: whole, or one variable at a time, with gradients.

Gaussian densities of all pairs are a matrix product, [z², z, 1] · [−1/2σ², μ/σ², const], to which the
log-weights are added as it is taken, and whose exponentials are kept for the way back: a step at B = 1024
is then a few passes over B²·D numbers.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from distaff.models.posteriors import LOG_2PI, GaussianPosterior, GroupPosterior, Posterior
from distaff.models.precision import single

FLOOR = -60.0
"""Terms below exp(FLOOR) of the largest one count as that: far below rounding, and yet with room for the
products of the backward pass above 1e-38, under which a CPU takes 50 to 100 times as long."""


def log_pairs(posterior: Posterior, u: Tensor) -> Tensor:
    """log q(u_id|x_j) (D, B, M) of every sample u (B, width) under every one of M posteriors."""
    with torch.autocast(u.device.type, enabled=False):
        return posterior.map(single).log_prob_pairs(single(u))


def log_joint(posterior: Posterior, u: Tensor, log_weights: Tensor) -> Tensor:
    """log Σ_j w_ij q(u_i|x_j) (B,) of samples u (B, width) and log-weights (B, M)."""
    lefts, rights, rest = [], [], log_weights
    with torch.autocast(u.device.type, enabled=False):
        for part, columns in _parts(posterior, u):
            if isinstance(part, GaussianPosterior):
                left, right = _factors(part, columns)
                lefts.append(left.flatten(1))
                rights.append(right.flatten(1))
            else:
                rest = rest + part.log_prob_pairs(columns).sum(0)
        if not lefts:
            return log_sum_exp(rest, torch.zeros_like(log_weights))
        return _log_mixture(torch.cat(lefts, 1)[None], torch.cat(rights, 1).T[None], rest)[0]


def log_each(posterior: Posterior, u: Tensor, log_weights: Tensor) -> Tensor:
    """log Σ_j w_ij q(u_id|x_j) (B, D), one variable at a time."""
    found = []
    with torch.autocast(u.device.type, enabled=False):
        for part, columns in _parts(posterior, u):
            if isinstance(part, GaussianPosterior):
                left, right = _factors(part, columns)
                found.append(_log_mixture(left.permute(2, 0, 1), right.permute(2, 1, 0), log_weights))
            else:
                found.append(log_sum_exp(part.log_prob_pairs(columns), log_weights))
        return torch.cat(found).T


def log_sum_exp(log_terms: Tensor, log_weights: Tensor) -> Tensor:
    """log Σ_j w_ij exp(t_ij) (..., B) of terms (..., B, M) and log-weights (B, M)."""
    result: Tensor = _LogSumExp.apply(log_terms, log_weights)  # type: ignore[no-untyped-call]
    return result


def _log_mixture(left: Tensor, right: Tensor, plus: Tensor) -> Tensor:
    """log Σ_j exp(left_i · right_j + plus_ij) (D, B) of factors (D, B, K), (D, K, M) and an addend (B, M)."""
    result: Tensor = _LogMixture.apply(left, right, plus)  # type: ignore[no-untyped-call]
    return result


def _parts(posterior: Posterior, u: Tensor) -> Iterator[tuple[GroupPosterior, Tensor]]:
    parts = posterior.map(single).parts.values()
    return zip(parts, torch.split(single(u), [part.width for part in parts], dim=-1), strict=True)


def _factors(part: GaussianPosterior, z: Tensor) -> tuple[Tensor, Tensor]:
    """(B, 3, D) and (M, 3, D), whose products over the middle sum to log q(z_id|x_j).

    Both are taken from the middle of the means, where the squares cancel with least rounding.
    """
    centre = part.mu.detach().mean(0)
    z, mu, precision = z - centre, part.mu - centre, torch.exp(-part.logvar)
    constant = -0.5 * (LOG_2PI + part.logvar + mu**2 * precision)
    left = torch.stack([z**2, z, torch.ones_like(z)], 1)
    return left, torch.stack([-0.5 * precision, mu * precision, constant], 1)


def _exponentiate(terms: Tensor) -> tuple[Tensor, Tensor]:
    """log Σ_j exp(t_ij) and Σ_j exp(t_ij − max_j t_ij); the terms become those exponentials, in place."""
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
