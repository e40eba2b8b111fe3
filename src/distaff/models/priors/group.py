"""The prior of one group: its interface, the base class of factorised priors, and the usual one, N(0, I)."""

from typing import Protocol

import torch
from torch import Tensor, nn

from distaff.data.images import Images
from distaff.mixtures.pairs import LOG_2PI
from distaff.models.latents import TEMPERATURE
from distaff.models.posteriors import GaussianPosterior, GroupPosterior


class GroupPrior(Protocol):
    """The prior of one group of variables, in the posterior's coordinates u.

    For real variables, u is z itself (see ``posteriors``).
    """

    temperature: float

    @property
    def width(self) -> int:
        """Number of columns of u and of z."""

    def log_prob(self, u: Tensor) -> Tensor:
        """log p(u) (B,) at u (B, width)."""

    def log_prob_dims(self, u: Tensor) -> Tensor:
        """The marginals log p(u_d) (B, dims)."""

    def sample(self, count: int, like: Tensor) -> Tensor:
        """u (count, width) drawn from the prior, with the device and dtype of ``like``."""

    def kl(self, posterior: GroupPosterior, u: Tensor) -> Tensor:
        """KL(q(z|x) ‖ p(z)) (B,): in closed form if there is one, else log q − log p at u ~ q(u|x)."""

    def kl_dims(self, posterior: GroupPosterior, u: Tensor) -> Tensor:
        """KL(q(z_d|x) ‖ p(z_d)) (B, dims) of the marginals, computed like ``kl``."""

    def start_from(self, images: Images) -> None:
        """Initialise the prior from the data, before training starts."""


class Marginals:
    """Base class of priors with independent variables: derives the rest from the marginals."""

    dims: int
    temperature: float = TEMPERATURE

    @property
    def width(self) -> int:
        """Number of columns of z: one per real variable."""
        return self.dims

    def log_prob_dims(self, z: Tensor) -> Tensor:
        """The marginals log p(z_d) (B, dims)."""
        raise TypeError(f"{type(self).__name__} does not say its marginal densities")

    def log_prob(self, z: Tensor) -> Tensor:
        """Σ_d log p(z_d), (B,)."""
        return self.log_prob_dims(z).sum(-1)

    def kl_dims(self, posterior: GroupPosterior, z: Tensor) -> Tensor:
        """log q(z_d|x) − log p(z_d) at z ~ q(z|x), (B, dims): its mean is the KL."""
        return posterior.log_prob_dims(z) - self.log_prob_dims(z)

    def kl(self, posterior: GroupPosterior, z: Tensor) -> Tensor:
        """Σ_d KL(q(z_d|x) ‖ p(z_d)), (B,)."""
        return self.kl_dims(posterior, z).sum(-1)

    def start_from(self, images: Images) -> None:
        """Do nothing: most priors do not depend on the data."""


class StandardNormal(Marginals, nn.Module):
    """N(0, I) over ``dims`` variables."""

    def __init__(self, dims: int) -> None:
        super().__init__()
        self.dims = dims

    def log_prob_dims(self, z: Tensor) -> Tensor:
        """log N(z_d; 0, 1), (B, dims)."""
        return log_normal(z, 0.0)

    def sample(self, count: int, like: Tensor) -> Tensor:
        """(count, dims) draws, with the device and dtype of ``like``."""
        return torch.randn(count, self.dims, dtype=like.dtype, device=like.device)

    def kl_dims(self, posterior: GroupPosterior, z: Tensor) -> Tensor:
        """KL(q(z_d|x) ‖ N(0,1)) = ½ (mu² + sigma² − log sigma² − 1), (B, dims)."""
        if isinstance(posterior, GaussianPosterior):
            return 0.5 * (posterior.mu**2 + posterior.logvar.exp() - posterior.logvar - 1)
        return super().kl_dims(posterior, z)


def log_normal(z: Tensor, logvar: Tensor | float) -> Tensor:
    """log N(z; 0, exp(logvar)), elementwise."""
    if isinstance(logvar, Tensor):
        return -0.5 * (LOG_2PI + logvar + z**2 * (-logvar).exp())
    return -0.5 * (LOG_2PI + z**2) if logvar == 0 else log_normal(z, z.new_tensor(logvar))
