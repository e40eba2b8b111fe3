"""Mixtures of Gaussians: one over the whole group, and a sparse one over each dimension."""

import math

import torch
from torch import Tensor, nn

from distaff.models.posteriors import GroupPosterior
from distaff.models.priors.group import Marginals, log_normal


class GaussianMixture(Marginals, nn.Module):
    """1/C Σ_c N(z; mean_c, variance · I); its variables are dependent, except for special means.

    Args:
        means: (C, dims) means of the components.
        variance: variance of each component in every direction.
    """

    means: Tensor

    def __init__(self, means: Tensor, variance: float) -> None:
        super().__init__()
        self.register_buffer("means", means)
        self.dims, self.variance = means.shape[1], variance

    def log_prob(self, z: Tensor) -> Tensor:
        """log p(z), (B,)."""
        return self._components(z).sum(-1).logsumexp(-1) - math.log(len(self.means))

    def log_prob_dims(self, z: Tensor) -> Tensor:
        """The marginals, each a mixture itself, (B, dims)."""
        return self._components(z).logsumexp(-2) - math.log(len(self.means))

    def sample(self, count: int, like: Tensor) -> Tensor:
        """(count, dims) draws, with the device and dtype of ``like``."""
        chosen = torch.randint(len(self.means), (count,), device=like.device)
        centres = self.means[chosen].to(like.dtype)
        return centres + math.sqrt(self.variance) * torch.randn_like(centres)

    def kl(self, posterior: GroupPosterior, z: Tensor) -> Tensor:
        """log q(z|x) − log p(z) at z ~ q(z|x), (B,): its mean is the KL."""
        return posterior.log_prob_dims(z).sum(-1) - self.log_prob(z)

    def _components(self, z: Tensor) -> Tensor:
        return log_normal(z[..., None, :] - self.means, math.log(self.variance))


class Sparse(Marginals, nn.Module):
    """∏_d (1−γ) N(z_d; 0, 1) + γ N(z_d; 0, σ₀²): most variables off (Mathieu et al. 2019, §6.3, App. B).

    Args:
        dims: number of variables.
        gamma: γ, probability that a variable is off.
        sigma: σ₀, standard deviation of variables that are off.
    """

    def __init__(self, dims: int, gamma: float, sigma: float) -> None:
        super().__init__()
        self.dims, self.gamma, self.sigma = dims, gamma, sigma

    def log_prob_dims(self, z: Tensor) -> Tensor:
        """log of the two components' sum, (B, dims)."""
        on = math.log1p(-self.gamma) + log_normal(z, 0.0)
        off = math.log(self.gamma) + log_normal(z, 2 * math.log(self.sigma))
        return torch.logaddexp(on, off)

    def sample(self, count: int, like: Tensor) -> Tensor:
        """(count, dims) draws, with the device and dtype of ``like``."""
        noise = torch.randn(count, self.dims, dtype=like.dtype, device=like.device)
        return torch.where(torch.rand_like(noise) < self.gamma, self.sigma * noise, noise)
