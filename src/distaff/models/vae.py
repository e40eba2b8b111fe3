"""The variational auto-encoder with its prior and the usual likelihood: a batch in, an ``Output`` out."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from distaff.data.images import Images
from distaff.models.column_likelihood import ColumnLikelihood, Front
from distaff.models.groups import GroupPosterior, GroupPrior, Posterior, Real, StandardNormal, single
from distaff.models.latent_kinds import Group, Quantized
from distaff.models.latents import LatentSpace
from distaff.models.networks.halving import Networks
from distaff.models.priors.discrete import Codebook, Relaxed
from distaff.models.relaxed import TEMPERATURE


class Likelihood(Protocol):
    """The distribution of B observations given their latents."""

    numbers: ClassVar[int]
    """Number of decoder outputs per value of an observation."""

    @classmethod
    def read(cls, outputs: Tensor) -> Self:
        """The distribution parametrised by decoder outputs (B, numbers · C, ...)."""

    def log_prob(self, x: Tensor) -> Tensor:
        """log p(x|z) (B,), summed over pixels."""

    @property
    def mean(self) -> Tensor:
        """E[x|z], with the shape of x."""


@dataclass(frozen=True)
class Bernoulli:
    """Independent Bernoulli pixels given by ``logits``; x may lie anywhere in [0, 1] (cross-entropy)."""

    numbers: ClassVar[int] = 1

    logits: Tensor

    @classmethod
    def read(cls, outputs: Tensor) -> Self:
        """Decoder outputs are the logits."""
        return cls(outputs)

    def log_prob(self, x: Tensor) -> Tensor:
        """Σ_pixels x log p + (1 − x) log(1 − p), (B,)."""
        loss = F.binary_cross_entropy_with_logits(self.logits, x, reduction="none")
        return -loss.flatten(1).sum(1)

    @property
    def mean(self) -> Tensor:
        """Pixel probabilities."""
        return torch.sigmoid(self.logits)


def likelihood_for(shape: tuple[int, ...]) -> str:
    """The default likelihood: bernoulli for images, whose values lie in [0, 1], gaussian for vectors."""
    return "bernoulli" if len(shape) == 3 else "gaussian"


def outputs_of(likelihood: type[Likelihood] | ColumnLikelihood, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the decoder's output for observations of a shape."""
    if isinstance(likelihood, ColumnLikelihood):
        return likelihood.outputs(shape)
    return (likelihood.numbers * shape[0], *shape[1:])


def front_of(likelihood: type[Likelihood] | ColumnLikelihood) -> Front | None:
    """The layer before an encoder that takes logarithms of counts and fills missing values, or None."""
    if isinstance(likelihood, ColumnLikelihood):
        return likelihood.front
    return Front() if getattr(likelihood, "sees_logarithms", False) else None


class Prior(nn.Module):
    """Independent priors of all groups, in the order of z; densities and samples are in coordinates u.

    Args:
        groups: prior of each group.
    """

    def __init__(self, groups: Mapping[str, nn.Module]) -> None:
        super().__init__()
        self.names = tuple(groups)
        self.parts = nn.ModuleList(groups.values())
        self.temperature = TEMPERATURE

    @classmethod
    def standard(cls, latents: LatentSpace) -> "Prior":
        """N(0, I) for real groups, equal class probabilities for discrete ones."""
        return cls({name: standard(group) for name, group in latents.groups.items()})

    @property
    def groups(self) -> dict[str, nn.Module]:
        """The prior of each group."""
        return dict(zip(self.names, self.parts, strict=True))

    @property
    def temperature(self) -> float:
        """Temperature of the relaxed densities, equal to that of the posteriors."""
        return self._temperature

    @temperature.setter
    def temperature(self, value: float) -> None:
        self._temperature = value
        for part in self._parts:
            part.temperature = value

    @property
    def codebooks(self) -> dict[str, nn.Parameter]:
        """The codebook (dims, V) of each group of quantised latents."""
        return {name: part.values for name, part in self.groups.items() if isinstance(part, Codebook)}

    def start_from(self, images: Images) -> None:
        """Initialise the priors from the data, before training starts."""
        for part in self._parts:
            part.start_from(images)

    def log_prob(self, u: Tensor) -> Tensor:
        """log p(z) (B,)."""
        return self.log_prob_groups(u).sum(-1)

    def log_prob_groups(self, u: Tensor) -> Tensor:
        """log p(z_g) (B, groups)."""
        return torch.stack([part.log_prob(c) for part, c in self._columns(u)], dim=-1)

    def log_prob_dims(self, u: Tensor) -> Tensor:
        """The marginals log p(z_d) (B, dims)."""
        return torch.cat([part.log_prob_dims(c) for part, c in self._columns(u)], dim=-1)

    def sample(self, count: int, like: Tensor) -> Tensor:
        """u (count, width) drawn from the prior, with the device and dtype of ``like``."""
        return torch.cat([part.sample(count, like) for part in self._parts], dim=-1)

    def kl(self, posterior: Posterior, u: Tensor) -> Tensor:
        """KL(q(z|x) ‖ p(z)) (B,): in closed form if there is one, else log q − log p at u ~ q(u|x)."""
        return self.kl_groups(posterior, u).sum(-1)

    def kl_groups(self, posterior: Posterior, u: Tensor) -> Tensor:
        """KL(q(z_g|x) ‖ p(z_g)) (B, groups), computed like ``kl``."""
        return torch.stack([prior.kl(q, c) for prior, q, c in self._beside(posterior, u)], dim=-1)

    def kl_dims(self, posterior: Posterior, u: Tensor) -> Tensor:
        """KL(q(z_d|x) ‖ p(z_d)) (B, dims) of the marginals, computed like ``kl``."""
        return torch.cat([prior.kl_dims(q, c) for prior, q, c in self._beside(posterior, u)], dim=-1)

    @property
    def _parts(self) -> list[GroupPrior]:
        return [cast(GroupPrior, part) for part in self.parts]

    def _split(self, u: Tensor) -> tuple[Tensor, ...]:
        return torch.split(u, [part.width for part in self._parts], dim=-1)

    def _columns(self, u: Tensor) -> Iterator[tuple[GroupPrior, Tensor]]:
        return zip(self._parts, self._split(u), strict=True)

    def _beside(self, posterior: Posterior, u: Tensor) -> Iterator[tuple[GroupPrior, GroupPosterior, Tensor]]:
        return zip(self._parts, posterior.parts.values(), self._split(u), strict=True)


def standard(group: Group) -> nn.Module:
    """The default prior of a group: N(0, I), or equally likely classes or values."""
    if isinstance(group, Quantized):
        return Codebook(group)
    return StandardNormal(group.dims) if isinstance(group, Real) else Relaxed(group, learned=False)


@dataclass(frozen=True)
class Output:
    """One batch through a VAE.

    Args:
        x: (B, *shape) observations.
        posterior: q(z|x).
        u: (B, width) one posterior sample per observation, in the coordinates used for densities: z itself,
            except log z for classes and log z/(1 − z) for bits, which do not round to 0 or 1.
        z: (B, width) the same sample as decoders and critics see it.
        likelihood: p(x|z) at that sample.
        prior: p(z).
    """

    x: Tensor
    posterior: Posterior
    u: Tensor
    z: Tensor
    likelihood: Likelihood
    prior: Prior


class VAE(nn.Module):
    """Encoder, decoder and prior.

    Args:
        networks: encoder and decoder.
        latents: latent space, which turns encoder outputs into q(z|x).
        prior: p(z); by default N(0, I), or equally likely classes.
        likelihood: function from decoder outputs to p(x|z).

    ``temperature`` is that of relaxed variables in q(z|x) and p(z); training sets it at every step.
    """

    def __init__(
        self,
        networks: Networks,
        latents: LatentSpace,
        prior: Prior | None = None,
        likelihood: Callable[[Tensor], Likelihood] = Bernoulli,
    ) -> None:
        super().__init__()
        self.encoder, self.decoder = networks
        self.latents = latents
        self.prior = prior or Prior.standard(latents)
        self.likelihood = likelihood

    @property
    def temperature(self) -> float:
        """Temperature of relaxed variables, stored in the prior."""
        return self.prior.temperature

    @temperature.setter
    def temperature(self, value: float) -> None:
        self.prior.temperature = value

    def forward(self, x: Tensor) -> Output:
        """x (B, *shape) → q(z|x), z ~ q(z|x), p(x|z)."""
        posterior = self.encode(x)
        return self.output(x, posterior, posterior.rsample())

    def output(self, x: Tensor, posterior: Posterior, u: Tensor) -> Output:
        """The ``Output`` at a given sample u (B, width) of the posteriors."""
        z = self.latents.squash(u)
        return Output(x, posterior, u, z, self.decode(z), self.prior)

    def encode(self, x: Tensor) -> Posterior:
        """q(z|x)."""
        return self.latents.posterior(self.encoder(x), self.temperature, self.prior.codebooks)

    def decode(self, z: Tensor) -> Likelihood:
        """p(x|z) for z (B, width), in single precision or better."""
        return self.likelihood(single(self.decoder(z)))

    def measure(self, x: Tensor) -> tuple[Posterior, dict[str, Tensor]]:
        """q(z|x), and the parts of each observation's ELBO at one sample of it.

        ``nll`` (B,) is −log p(x|z), ``kl`` (B,) is KL(q(z|x) ‖ p(z)), and ``kl_dims`` (B, dims) is the KL of
        each variable, in the order of ``latents.coded``.
        """
        output = self(x)
        places = [variable.place for variable in self.latents.coded]
        return output.posterior, {
            "nll": -output.likelihood.log_prob(x),
            "kl": output.prior.kl(output.posterior, output.u),
            "kl_dims": output.prior.kl_dims(output.posterior, output.u)[:, places],
        }

    @torch.no_grad()
    def draw_latents(self, count: int) -> Tensor:
        """z (count, width) drawn from the prior, with discrete variables at a class."""
        return self.latents.hard(self.latents.squash(self.prior.sample(count, next(self.parameters()))))

    @torch.no_grad()
    def draw(self, count: int) -> Tensor:
        """E[x|z] of ``count`` latents drawn from the prior."""
        return self.decode(self.draw_latents(count)).mean
