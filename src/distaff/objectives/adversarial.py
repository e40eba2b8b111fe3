"""Losses of generators, discriminators and critics, as pure functions of scores; all are minimised.

The signs are those used in training. FactorVAE's Eq. 15 leaves out the logarithms of the game
E log D(x) + E log(1 − D(G(z))), and its Eq. 16 adds the penalty to what the critic maximises.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from distaff.models.groups import Posterior


def discriminator_loss(real: Tensor, fake: Tensor) -> Tensor:
    """−E log D(x) − E log(1 − D(G(z))), with D the sigmoid of the logits ``real`` and ``fake`` (B,)."""
    return F.softplus(-real).mean() + F.softplus(fake).mean()


def generator_loss(fake: Tensor) -> Tensor:
    """−E log D(G(z)), the non-saturating form (Goodfellow et al. 2014), from logits (B,)."""
    return F.softplus(-fake).mean()


def critic_loss(real: Tensor, fake: Tensor) -> Tensor:
    """−(E D(x) − E D(G(z))), the negated estimate of the Wasserstein distance, from scores (B,)."""
    return fake.mean() - real.mean()


def wasserstein_generator_loss(fake: Tensor) -> Tensor:
    """−E D(G(z)) from scores (B,)."""
    return -fake.mean()


def gradient_penalty(critic: Callable[[Tensor], Tensor], real: Tensor, fake: Tensor) -> Tensor:
    """E (‖∇D(x̂)‖₂ − 1)² at x̂ = π x + (1 − π) G(z), a new π ~ U[0, 1] for each image (Gulrajani et al. 2017).

    Args:
        critic: function from images (B, ...) to scores (B,).
        real: x (B, ...).
        fake: G(z) (B, ...); no gradient flows back to the generator.
    """
    pi = torch.rand(len(real), *[1] * (real.ndim - 1), device=real.device, dtype=real.dtype)
    between = torch.lerp(fake.detach().to(real.dtype), real, pi).requires_grad_(True)
    (gradient,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    slope: Tensor = torch.linalg.vector_norm(gradient.flatten(1), dim=1)
    return (slope - 1).square().mean()


def code_log_likelihood(q: Posterior, c: Tensor) -> Tensor:
    """L = E log Q(c|G(c, ε)) in nats (FactorVAE Eq. 13), for codes c (B, width) and Q's posterior of them."""
    return q.log_code(c).mean()
