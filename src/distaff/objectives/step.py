"""``Step``: one training batch and everything that a term may need of it, computed on first use."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor, nn

from distaff.mixtures.pairs import log_each, log_joint, log_pairs, log_sum_exp
from distaff.models.groups import Posterior, single
from distaff.models.vae import VAE, Output
from distaff.objectives.densities import Density, Shape, Source, stratified
from distaff.objectives.memory import PosteriorMemory


def alone(x: Tensor) -> Tensor:
    """Gathering for a single process: the identity."""
    return x


def no_more_images(source: Source) -> Tensor:
    """Default of ``Step.images``: raise an error, because the step has only its batch."""
    raise LookupError(f"this step knows no images of {source.value}")


@dataclass(frozen=True)
class Labelled:
    """Observations with labels.

    Args:
        x: (B, *shape) observations.
        y: (B, K) factors scaled to 0–1; NaN where a label is missing.
    """

    x: Tensor
    y: Tensor


def no_labels() -> Labelled:
    """Default of ``Step.labelled``: raise an error, because the step has no labels."""
    raise LookupError("this step knows no labels")


@dataclass(frozen=True)
class Processes:
    """The processes that share a batch.

    Args:
        rank: number of this process.
        gather: function from (B, ...) of each process to (all B, ...) in order of rank, with gradient.
    """

    rank: int = 0
    gather: Callable[[Tensor], Tensor] = alone


@dataclass(frozen=True)
class Step:
    """One batch through the model at one moment of training.

    Args:
        model: the VAE, with its latent space.
        output: distributions of the model for the batch.
        index: number of the step, from 0.
        data_size: N, number of observations in the data set.
        networks: networks of the terms that have one, by term name.
        density: estimator of q(z).
        processes: processes that share the batch.
        images: function that returns observations beyond the batch, for densities that need them.
        memory: posteriors of earlier steps, for densities with a memory.
        labelled: function that returns a batch of labelled observations, for terms that learn from labels.
    """

    model: VAE
    output: Output
    index: int
    data_size: int
    networks: Mapping[str, nn.Module] = field(default_factory=dict)
    density: Density = stratified
    processes: Processes = Processes()
    images: Callable[[Source], Tensor] = no_more_images
    memory: PosteriorMemory | None = None
    labelled: Callable[[], Labelled] = no_labels

    @property
    def z(self) -> Tensor:
        """(B, width) the sampled latents, as decoders and critics see them."""
        return self.output.z

    @property
    def u(self) -> Tensor:
        """(B, width) the sampled latents in the coordinates used for densities (see ``Output``)."""
        return self.output.u

    @cached_property
    def log_px_z(self) -> Tensor:
        """log p(x|z) (B,)."""
        return self.output.likelihood.log_prob(self.output.x)

    @cached_property
    def kl(self) -> Tensor:
        """KL(q(z|x) ‖ p(z)) (B,), in closed form if there is one."""
        return self.output.prior.kl(self.output.posterior, self.u)

    @cached_property
    def kl_groups(self) -> Tensor:
        """KL(q(z_g|x) ‖ p(z_g)) (B, G) of each group, in closed form if there is one."""
        return self.output.prior.kl_groups(self.output.posterior, self.u)

    @cached_property
    def kl_dims(self) -> Tensor:
        """KL(q(z_d|x) ‖ p(z_d)) (B, D) of the marginals, in closed form if there is one."""
        return self.output.prior.kl_dims(self.output.posterior, self.u)

    @cached_property
    def log_qz_x_dims(self) -> Tensor:
        """log q(z_d|x) (B, D) at the sample."""
        return self.output.posterior.log_prob_dims(self.u)

    @cached_property
    def log_qz_x(self) -> Tensor:
        """log q(z|x) (B,) at the sample."""
        return self.log_qz_x_dims.sum(-1)

    @cached_property
    def log_pz(self) -> Tensor:
        """log p(z) (B,) at the sample."""
        return self.output.prior.log_prob(self.u)

    @cached_property
    def log_pz_groups(self) -> Tensor:
        """log p(z_g) (B, G) at the sample."""
        return self.output.prior.log_prob_groups(self.u)

    @cached_property
    def log_pz_dims(self) -> Tensor:
        """log p(z_d) (B, D) at the sample."""
        return self.output.prior.log_prob_dims(self.u)

    @cached_property
    def log_qz(self) -> Tensor:
        """log q(z) (B,), estimated by the step's density."""
        return log_joint(self.posteriors.paired_with(self.u), self.log_weights)

    @cached_property
    def log_qz_groups(self) -> Tensor:
        """log q(z_g) (B, G), estimated by the step's density."""
        groups = self.posteriors.paired_with(self.u)
        if len(groups) == 1:
            return self.log_qz[:, None]
        return torch.stack([log_joint([group], self.log_weights) for group in groups], dim=1)

    @cached_property
    def log_qz_dims(self) -> Tensor:
        """log q(z_d) (B, D), estimated by the step's density."""
        return log_each(self.posteriors.paired_with(self.u), self.log_weights)

    def log_qz_of(self, variables: Sequence[int]) -> Tensor:
        """log q(z_a) (B,), the joint density of some variables a, estimated by the step's density."""
        log_terms = log_pairs(self.posteriors.paired_with(self.u))[list(variables)].sum(0)
        return log_sum_exp(log_terms, self.log_weights)

    @cached_property
    def log_weights(self) -> Tensor:
        """(B, M) the logarithms of the density's weights."""
        rows, columns = len(self.z), len(self.posteriors.mode())
        shape = Shape(rows, columns, self.processes.rank * rows, self.data_size)
        return self.density.log_weights(shape, single(self.z))

    @cached_property
    def posteriors(self) -> Posterior:
        """The M posteriors, of all processes, whose weighted mixture estimates q(z)."""
        if self.density.source is Source.BATCH:
            own = self.output.posterior.map(self.processes.gather)
            return own if self.memory is None else self.memory.beside(own, self.index * len(own.mode()))
        others = self.model.encode(self.images(self.density.source))
        return others if self.density.source is Source.DATA_SET else others.map(self.processes.gather)

    @cached_property
    def all_z(self) -> Tensor:
        """(all B, width) the samples of all processes."""
        return single(self.processes.gather(self.z))

    @cached_property
    def prior_u(self) -> Tensor:
        """(B, width) samples of the prior, in the coordinates used for densities."""
        return self.output.prior.sample(len(self.z), self.z)

    @cached_property
    def prior_z(self) -> Tensor:
        """(B, width) the same samples of the prior, as decoders and critics see them."""
        return self.model.latents.squash(self.prior_u)

    @cached_property
    def all_prior_z(self) -> Tensor:
        """(all B, width) the prior samples of all processes."""
        return single(self.processes.gather(self.prior_z))
