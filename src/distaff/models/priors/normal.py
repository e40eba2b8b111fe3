"""Gaussian priors other than N(0, I): one variance per dimension, and a learned full covariance."""

import numpy as np
import torch
from torch import Tensor, nn

from distaff.data.images import Images
from distaff.foundation.errors import DistaffError
from distaff.models.posteriors import GaussianPosterior, GroupPosterior
from distaff.models.priors.group import Marginals, log_normal

SAMPLE = 2048
"""Number of observations, evenly spaced in the data set, from which principal values are computed."""


class Anisotropic(Marginals, nn.Module):
    """N(0, diag exp(logvar)), variances fixed or started at principal values (Mathieu et al. 2019, §6.1).

    Args:
        dims: number of variables.
        learned: whether the log-variances are trained with the model.
    """

    logvar: Tensor

    def __init__(self, dims: int, learned: bool) -> None:
        super().__init__()
        self.dims = dims
        if learned:
            self.logvar = nn.Parameter(torch.zeros(dims))
        else:
            self.register_buffer("logvar", torch.zeros(dims))

    def start_from(self, images: Images) -> None:
        """Set the variances to the data's principal values, scaled to mean 1."""
        self.logvar.data.copy_(principal_variances(images, self.dims).log())

    def log_prob_dims(self, z: Tensor) -> Tensor:
        """log N(z_d; 0, sigma_d²), (B, dims)."""
        return log_normal(z, self.logvar)

    def sample(self, count: int, like: Tensor) -> Tensor:
        """(count, dims) draws, with the device and dtype of ``like``."""
        noise = torch.randn(count, self.dims, dtype=like.dtype, device=like.device)
        return noise * torch.exp(0.5 * self.logvar)

    def kl_dims(self, posterior: GroupPosterior, z: Tensor) -> Tensor:
        """KL(N(mu_d, s_d²) ‖ N(0, sigma_d²)), (B, dims)."""
        if isinstance(posterior, GaussianPosterior):
            return _kl_dims(posterior, self.logvar)
        return super().kl_dims(posterior, z)


def principal_variances(images: Images, dims: int) -> Tensor:
    """σ_i² = D · s_i / Σ_j s_j of the first D singular values s of the centred data, (D,).

    Their sum is D, as for N(0, I) (Mathieu et al. 2019, §6.1).
    """
    rows = np.unique(np.linspace(0, len(images) - 1, SAMPLE).astype(np.int64))
    x = images[rows].flatten(1).double()  # squares round by 1e-7 in float32, and their roots by 3e-4
    x = x - x.mean(0)
    gram = x @ x.T if len(x) <= x.shape[1] else x.T @ x
    values: Tensor = torch.linalg.eigvalsh(gram).flip(0).clamp_min(0).sqrt()
    directions = int((values > 1e-4 * values[0]).sum())
    if directions < dims:
        raise DistaffError(
            f"the data vary along {directions} directions, too few for an anisotropic prior over {dims} "
            "latents: use fewer latents or another prior."
        )
    return (dims * values[:dims] / values[:dims].sum()).float()


class FullCovariance(Marginals, nn.Module):
    """N(0, L Lᵀ) with a learned lower triangular L with positive diagonal; it starts as N(0, I).

    It suits HFVAE (Esmaeili et al. 2018), whose total correlations are relative to the prior's own.
    """

    def __init__(self, dims: int) -> None:
        super().__init__()
        self.dims = dims
        self.log_diagonal = nn.Parameter(torch.zeros(dims))
        self.below = nn.Parameter(torch.zeros(dims, dims))

    @property
    def cholesky(self) -> Tensor:
        """L (dims, dims)."""
        return self.below.tril(-1) + self.log_diagonal.exp().diag()

    def log_prob(self, z: Tensor) -> Tensor:
        """log N(z; 0, L Lᵀ), (B,): standard normal in L⁻¹ z."""
        whitened = torch.linalg.solve_triangular(self.cholesky, z.mT, upper=False).mT
        return log_normal(whitened, 0.0).sum(-1) - self.log_diagonal.sum()

    def log_prob_dims(self, z: Tensor) -> Tensor:
        """log N(z_d; 0, (L Lᵀ)_dd), (B, dims)."""
        return log_normal(z, self._marginal_logvar)

    def sample(self, count: int, like: Tensor) -> Tensor:
        """(count, dims) draws, with the device and dtype of ``like``."""
        noise = torch.randn(count, self.dims, dtype=like.dtype, device=like.device)
        with torch.autocast(like.device.type, enabled=False):
            return noise @ self.cholesky.mT.to(like.dtype)

    def kl(self, posterior: GroupPosterior, z: Tensor) -> Tensor:
        """½ [tr(Σ⁻¹ S) + muᵀ Σ⁻¹ mu − D + log |Σ| − log |S|] with Σ = L Lᵀ and S = diag sigma², (B,)."""
        if not isinstance(posterior, GaussianPosterior):
            return posterior.log_prob_dims(z).sum(-1) - self.log_prob(z)
        identity = torch.eye(self.dims, device=z.device, dtype=self.log_diagonal.dtype)
        inverse: Tensor = torch.linalg.solve_triangular(self.cholesky, identity, upper=False)
        with torch.autocast(z.device.type, enabled=False):
            spread: Tensor = posterior.logvar.exp() @ inverse.square().sum(0)
            shift = (posterior.mu @ inverse.mT).square().sum(-1)
        logdets = 2 * self.log_diagonal.sum() - posterior.logvar.sum(-1)
        return 0.5 * (spread + shift - self.dims + logdets)

    def kl_dims(self, posterior: GroupPosterior, z: Tensor) -> Tensor:
        """KL(N(mu_d, s_d²) ‖ N(0, (L Lᵀ)_dd)), (B, dims)."""
        if isinstance(posterior, GaussianPosterior):
            return _kl_dims(posterior, self._marginal_logvar)
        return super().kl_dims(posterior, z)

    @property
    def _marginal_logvar(self) -> Tensor:
        return self.cholesky.square().sum(1).log()


def _kl_dims(posterior: GaussianPosterior, logvar: Tensor) -> Tensor:
    """½ [(mu² + s²)/sigma² + log sigma² − log s² − 1], one per dimension."""
    scaled = (posterior.mu**2 + posterior.logvar.exp()) * (-logvar).exp()
    return 0.5 * (scaled + logvar - posterior.logvar - 1)
