"""The product of Student-t densities: heavier tails than the normal, and not rotation-invariant."""

import math

import torch
from torch import Tensor, nn

from distaff.models.priors.group import Marginals


class StudentT(Marginals, nn.Module):
    """∏_d t_nu(z_d) (Mathieu et al. 2019, §6.1); nu → ∞ is N(0, I).

    Args:
        dims: number of variables.
        nu: degrees of freedom.
    """

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
