"""Priors of discrete groups: relaxed densities at the posteriors' temperature, and codebooks of values."""

import math

import torch
from torch import Tensor, nn

from distaff.models.groups import GroupPosterior, Marginals
from distaff.models.latent_kinds import Discrete, Quantized
from distaff.models.relaxed import BernoulliPosterior, ConcretePosterior


class Relaxed(Marginals, nn.Module):
    """The Concrete or binary Concrete density with equal or learned class probabilities.

    ``temperature`` is set to the posterior's at every step: log q − log p compares two relaxed densities.

    Args:
        group: the variables.
        learned: whether class probabilities, which start equal, are trained with the model.
    """

    logits: Tensor

    def __init__(self, group: Discrete, learned: bool) -> None:
        super().__init__()
        self.group, self.dims = group, group.dims
        if learned:
            self.logits = nn.Parameter(torch.zeros(group.parameters))
        else:
            self.register_buffer("logits", torch.zeros(group.parameters), persistent=False)

    @property
    def width(self) -> int:
        """Number of columns of u: one per class, or one per bit."""
        return self.group.width

    def log_prob_dims(self, u: Tensor) -> Tensor:
        """The relaxed density of each variable, (B, dims)."""
        return self._density(self.logits).log_prob_dims(u)

    def log_classes(self, z: Tensor) -> Tensor:
        """The log-probability (B,) of the classes in z (B, width)."""
        return self._density(self.logits.expand(len(z), -1)).log_code_dims(z).sum(-1)

    def sample(self, count: int, like: Tensor) -> Tensor:
        """u (count, width) of relaxed draws, with the device and dtype of ``like``."""
        return self._density(self.logits.to(like.dtype).expand(count, -1)).rsample()

    def kl_dims(self, posterior: GroupPosterior, u: Tensor) -> Tensor:
        """The KL of the relaxed densities, (B, dims).

        For bits there is a closed form, the same at any temperature: d coth(d/2) − 2 for a difference d of
        the logits, the KL of two logistic densities d apart.
        """
        if isinstance(posterior, BernoulliPosterior):
            return _kl_of_logistics(posterior.logits - self.logits)
        return super().kl_dims(posterior, u)

    def _density(self, logits: Tensor) -> ConcretePosterior | BernoulliPosterior:
        return self.group.posterior(logits, self.temperature)


def _kl_of_logistics(d: Tensor) -> Tensor:
    """d coth(d/2) − 2, by its series d²/6 − d⁴/360 near 0, where the quotient is 0/0."""
    near = d.abs() < 0.1
    safe = torch.where(near, torch.ones_like(d), d)
    return torch.where(near, d**2 / 6 - d**4 / 360, safe / torch.tanh(safe / 2) - 2)


class Codebook(Marginals, nn.Module):
    """Equally likely values: p(z_d) = 1/V at each value of a variable's codebook. Codebooks are trained."""

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
