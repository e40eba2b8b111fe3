"""What a prior of one group gives, and what factorised priors share."""

from typing import Protocol

from torch import Tensor

from distaff.data.images import Images
from distaff.mixtures.pairs import LOG_2PI
from distaff.models.latents import TEMPERATURE
from distaff.models.posteriors import GroupPosterior


class GroupPrior(Protocol):
    """The prior of one group of variables, sampled and measured in the posterior's coordinates u.

    These are z itself of real variables (``posteriors``).
    """

    temperature: float

    @property
    def width(self) -> int:
        """Columns of u, and of z."""

    def log_prob(self, u: Tensor) -> Tensor:
        """log p(u) (B,) of u (B, width)."""

    def log_prob_dims(self, u: Tensor) -> Tensor:
        """The marginals log p(u_d) (B, dims)."""

    def sample(self, count: int, like: Tensor) -> Tensor:
        """u (count, width) of the prior, on the device and in the type of ``like``."""

    def kl(self, posterior: GroupPosterior, u: Tensor) -> Tensor:
        """KL(q(z|x) ‖ p(z)) (B,): closed where a form exists, else log q − log p at u ~ q(u|x)."""

    def kl_dims(self, posterior: GroupPosterior, u: Tensor) -> Tensor:
        """KL(q(z_d|x) ‖ p(z_d)) (B, dims) of the marginals, likewise."""

    def start_from(self, images: Images) -> None:
        """Take from the data, before training starts, what the prior is to know of them."""


class Marginals:
    """A prior known by its marginals: what it needs beside them if its variables are independent."""

    dims: int
    temperature: float = TEMPERATURE

    @property
    def width(self) -> int:
        """Columns of z: one per real variable."""
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
        """Most priors know nothing of the data."""


def log_normal(z: Tensor, logvar: Tensor | float) -> Tensor:
    """log N(z; 0, exp(logvar)), elementwise."""
    if isinstance(logvar, Tensor):
        return -0.5 * (LOG_2PI + logvar + z**2 * (-logvar).exp())
    return -0.5 * (LOG_2PI + z**2) if logvar == 0 else log_normal(z, z.new_tensor(logvar))
