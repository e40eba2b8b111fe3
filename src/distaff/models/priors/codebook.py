"""The prior of quantised latents, which holds their codebooks."""

import math

import torch
from torch import Tensor, nn

from distaff.models.latents import Quantized
from distaff.models.priors.group import Marginals


class Codebook(Marginals, nn.Module):
    """Equally likely values: p(z_d) = 1/V at each value of a variable's codebook. Codebooks are trained.

    Args:
        group: the variables.
    """

    def __init__(self, group: Quantized) -> None:
        super().__init__()
        self.dims = group.dims
        self.values = nn.Parameter(group.codebook())

    def log_prob_dims(self, z: Tensor) -> Tensor:
        """−log V, (B, dims)."""
        return torch.full_like(z, -math.log(self.values.shape[1]))

    def sample(self, count: int, like: Tensor) -> Tensor:
        """(count, dims) draws, with the device and dtype of ``like``."""
        chosen = torch.rand(count, self.dims, device=like.device) * self.values.shape[1]
        return self.values.to(like).T.gather(0, chosen.long().clamp_max(self.values.shape[1] - 1))
