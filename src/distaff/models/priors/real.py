"""Priors of real groups other than N(0, I): Gaussians, heavier tails, and mixtures."""

import math

import numpy as np
import torch
from torch import Tensor, nn

from distaff.data.images import Images
from distaff.foundation.errors import DistaffError
from distaff.models.groups import GaussianPosterior, GroupPosterior, Marginals, log_normal

SAMPLE = 2048
"""Number of observations, evenly spaced in the data set, from which principal values are computed."""


class Anisotropic(Marginals, nn.Module):
    """N(0, diag exp(logvar)), variances fixed or started at principal values (Mathieu et al. 2019, §6.1)."""

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


class StudentT(Marginals, nn.Module):
    """∏_d t_nu(z_d) (Mathieu et al. 2019, §6.1): heavier tails, not rotation-invariant; nu → ∞ is N(0, I)."""

    def __init__(self, dims: int, nu: float) -> None:
        super().__init__()
        self.dims, self.nu = dims, nu
        self.constant = math.lgamma((nu + 1) / 2) - math.lgamma(nu / 2) - 0.5 * math.log(nu * math.pi)

    def log_prob_dims(self, z: Tensor) -> Tensor:
        """log Γ((ν+1)/2) − log Γ(ν/2) − ½ log νπ − (ν+1)/2 log(1 + z_d²/ν), (B, dims)."""
        return self.constant - 0.5 * (self.nu + 1) * torch.log1p(z**2 / self.nu)

    def sample(self, count: int, like: Tensor) -> Tensor:
        """(count, dims) draws, with the device and dtype of ``like``."""
        nu = torch.full((), self.nu, dtype=like.dtype, device=like.device)
        return torch.distributions.StudentT(nu).sample((count, self.dims))


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
