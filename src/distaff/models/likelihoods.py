"""p(x|z): what a decoder's outputs stand for."""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F


class Likelihood(Protocol):
    """The distribution of B observations given their latents."""

    def log_prob(self, x: Tensor) -> Tensor:
        """log p(x|z) (B,), summed over pixels."""

    @property
    def mean(self) -> Tensor:
        """E[x|z], of x's shape."""


@dataclass(frozen=True)
class Bernoulli:
    """Independent Bernoulli pixels given by ``logits``; targets anywhere in [0, 1] (cross-entropy)."""

    logits: Tensor

    def log_prob(self, x: Tensor) -> Tensor:
        """Σ_pixels x log p + (1 − x) log(1 − p), (B,)."""
        loss = F.binary_cross_entropy_with_logits(self.logits, x, reduction="none")
        return -loss.flatten(1).sum(1)

    @property
    def mean(self) -> Tensor:
        """Pixel probabilities."""
        return torch.sigmoid(self.logits)
