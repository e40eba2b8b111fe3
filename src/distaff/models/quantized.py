"""Posteriors at one of a few learned values: scalar quantisation with a straight-through gradient."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

NEVER = -1e4
"""Stands for log 0; finite so that sums over many posteriors stay finite."""


@dataclass(frozen=True)
class QuantizedPosterior:
    """D variables for B observations, each at the codebook value nearest to the encoder's output.

    The posterior is deterministic: q(z_d|x) is 1 at that value, and log-densities are log-probabilities.

    Args:
        continuous: (B, D) the encoder's outputs c.
        values: (D, V) the codebooks.
    """

    continuous: Tensor
    values: Tensor

    @property
    def width(self) -> int:
        """Number of columns of z."""
        return self.continuous.shape[1]

    @property
    def quantized(self) -> Tensor:
        """(B, D) the nearest values q, with gradient with respect to the codebooks."""
        nearest = self.places(self.continuous)
        return self.values.T.gather(0, nearest)

    def places(self, z: Tensor) -> Tensor:
        """(B, D) the index of the codebook value nearest to z (B, D)."""
        return (z.detach()[..., None] - self.values.detach()).abs().argmin(-1)

    def rsample(self) -> Tensor:
        """q, with the straight-through gradient: c + sg[q − c]."""
        return self.continuous + (self.quantized - self.continuous).detach()

    def mode(self) -> Tensor:
        """q."""
        return self.quantized

    def log_prob_dims(self, u: Tensor) -> Tensor:
        """0 if u is at the posterior's value, else ``NEVER``, (B, D); u (M, 1, D) gives pairs (M, B, D)."""
        alike = self.places(u) == self.places(self.continuous)
        return torch.where(alike, 0.0, NEVER).to(u.dtype)

    def log_prob_pairs(self, u: Tensor) -> Tensor:
        """``log_prob_dims`` for every sample u_i (B, D) and every posterior x_j, (D, B, M)."""
        return self.log_prob_dims(u[:, None]).permute(2, 0, 1)

    def log_code_dims(self, c: Tensor) -> Tensor:
        """The log-probability of codes, (B, D)."""
        return self.log_prob_dims(c)

    def map(self, f: Callable[[Tensor], Tensor]) -> "QuantizedPosterior":
        """The posterior with ``f`` applied to c; codebooks, which all observations share, are unchanged."""
        return QuantizedPosterior(f(self.continuous), self.values)
