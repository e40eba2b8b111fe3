"""Groups of latent variables with their posteriors and priors, and the usual group: Gaussian, under N(0, I).

A group says how it reads the encoder's outputs, and how many columns of z it has. Samples and densities are
in coordinates u (B, width). These are z itself except for relaxed variables, whose z would round to 0 or 1
(see ``relaxed``). ``LatentSpace.squash`` maps u to z.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self

import torch
from torch import Tensor, nn

from distaff.data.images import Images
from distaff.foundation.errors import is_ours
from distaff.mixtures.pairs import LOG_2PI, Gaussians
from distaff.models.relaxed import TEMPERATURE


class Kind:
    """Base class of all kinds; defines their text form, such as ``gaussian:10`` or ``mine:Laplace:4``."""

    def __str__(self) -> str:
        kind, sizes = type(self), ":".join(map(str, vars(self).values()))
        name = kind.__name__.lower()
        return f"{name if is_ours(kind) else f'{kind.__module__}:{kind.__qualname__}'}:{sizes}"


class GroupPosterior(Protocol):
    """The posterior of one group for B observations."""

    @property
    def width(self) -> int:
        """Number of columns of u and of z."""

    def rsample(self) -> Tensor:
        """A sample u (B, width) with gradient."""

    def mode(self) -> Tensor:
        """The code used for evaluation (B, width)."""

    def log_prob_dims(self, u: Tensor) -> Tensor:
        """log q(u_d|x) (B, dims) at u (B, width); u (M, 1, width) gives all pairs (M, B, dims)."""

    def log_prob_pairs(self, u: Tensor) -> Tensor:
        """log q(u_i,d|x_j) (dims, B, M) for every sample u_i (B, width) and every posterior x_j."""

    def log_code_dims(self, c: Tensor) -> Tensor:
        """log Q(c_d|x) (B, dims) of codes c (B, width): densities of real codes, probabilities of classes."""

    def map(self, f: Callable[[Tensor], Tensor]) -> Self:
        """The posterior with ``f`` applied to its parameters, e.g. to select rows or gather processes."""


@dataclass(frozen=True)
class GaussianPosterior(Gaussians):
    """N(mu, exp(logvar)), both (B, D), independent over D."""

    @property
    def width(self) -> int:
        """Number of columns of z."""
        return self.mu.shape[1]

    def rsample(self) -> Tensor:
        """mu + sigma · eps."""
        return self.mu + torch.exp(0.5 * self.logvar) * torch.randn_like(self.mu)

    def mode(self) -> Tensor:
        """The mean."""
        return self.mu

    def log_code_dims(self, c: Tensor) -> Tensor:
        """The log-density of real codes, (B, D)."""
        return self.log_prob_dims(c)

    def map(self, f: Callable[[Tensor], Tensor]) -> "GaussianPosterior":
        """The posterior with ``f`` applied to its parameters."""
        return GaussianPosterior(f(self.mu), f(self.logvar))


@dataclass(frozen=True)
class Posterior:
    """The posteriors of all groups, which are independent given x."""

    parts: Mapping[str, GroupPosterior]

    def rsample(self) -> Tensor:
        """u (B, width) with gradient."""
        return torch.cat([part.rsample() for part in self.parts.values()], dim=1)

    def mode(self) -> Tensor:
        """The codes used for evaluation (B, width): means, or hard classes."""
        return torch.cat([part.mode() for part in self.parts.values()], dim=1)

    def log_prob_dims(self, u: Tensor) -> Tensor:
        """log q(u_d|x) (B, dims); see ``GroupPosterior.log_prob_dims`` for pairs."""
        return torch.cat([part.log_prob_dims(columns) for part, columns in self._columns(u)], dim=-1)

    def log_prob(self, u: Tensor) -> Tensor:
        """log q(u|x) (B,)."""
        return self.log_prob_dims(u).sum(-1)

    def paired_with(self, u: Tensor) -> list[tuple[GroupPosterior, Tensor]]:
        """Each group's posteriors and its columns of samples u (B, width), as ``mixtures`` takes them.

        Both are in single precision or better: half precision would lose the difference of squares.
        """
        return self.map(single)._columns(single(u))

    def log_code(self, c: Tensor) -> Tensor:
        """log Q(c|x) (B,) of codes c (B, width), whose discrete variables are at a class."""
        return torch.cat([part.log_code_dims(columns) for part, columns in self._columns(c)], dim=-1).sum(-1)

    def map(self, f: Callable[[Tensor], Tensor]) -> "Posterior":
        """The posterior with ``f`` applied to the parameters of every group."""
        return Posterior({name: part.map(f) for name, part in self.parts.items()})

    def parameters(self) -> list[Tensor]:
        """All parameters, in the order in which ``map`` visits them."""
        found: list[Tensor] = []

        def noted(parameter: Tensor) -> Tensor:
            found.append(parameter)
            return parameter

        self.map(noted)
        return found

    def _columns(self, u: Tensor) -> list[tuple[GroupPosterior, Tensor]]:
        columns = torch.split(u, [part.width for part in self.parts.values()], dim=-1)
        return list(zip(self.parts.values(), columns, strict=True))


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


@dataclass(frozen=True)
class Real(Kind):
    """``dims`` real variables with q(z_d|x) = N(mu_d, exp(logvar_d))."""

    deviation: ClassVar[float] = 1.0
    """Standard deviation of the default prior."""
    reach: ClassVar[float] = 2.0
    """Traversals go from minus this value to plus this value."""

    dims: int

    @property
    def width(self) -> int:
        """Number of columns of z."""
        return self.dims

    @property
    def parameters(self) -> int:
        """Number of encoder outputs."""
        return 2 * self.dims

    def posterior(self, parameters: Tensor, temperature: float) -> GroupPosterior:
        """The posterior of encoder outputs (B, 2·dims): means, then log-variances."""
        mu, logvar = parameters.chunk(2, dim=1)
        return GaussianPosterior(mu, logvar)

    def squash(self, u: Tensor) -> Tensor:
        """z from coordinates u (B, dims): u itself."""
        return u

    def hard(self, z: Tensor) -> Tensor:
        """z unchanged: real variables have no classes."""
        return z


class Gaussian(Real):
    """``dims`` real variables with q(z_d|x) = N(mu_d, exp(logvar_d)), for priors such as N(0, I)."""

    def draw(self, count: int, like: Tensor) -> Tensor:
        """(count, dims) draws from N(0, I), with the device and dtype of ``like``."""
        return torch.randn(count, self.dims, device=like.device, dtype=like.dtype)


def log_normal(z: Tensor, logvar: Tensor | float) -> Tensor:
    """log N(z; 0, exp(logvar)), elementwise."""
    if isinstance(logvar, Tensor):
        return -0.5 * (LOG_2PI + logvar + z**2 * (-logvar).exp())
    return -0.5 * (LOG_2PI + z**2) if logvar == 0 else log_normal(z, z.new_tensor(logvar))


def single(x: Tensor) -> Tensor:
    """x in float32, or unchanged if in float64: only networks work in half precision."""
    return x.to(torch.promote_types(x.dtype, torch.float32))
