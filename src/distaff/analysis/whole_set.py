"""Samples of a data set as one training step, with q(z) of the whole data set."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter

import torch
from torch import Tensor

from distaff.metrics.sampled import Samples
from distaff.mixtures.gaussians import Mixture, blur
from distaff.models.groups import GaussianPosterior, GroupPosterior, Posterior
from distaff.models.vae import VAE
from distaff.objectives.densities import exact
from distaff.objectives.step import Step


@dataclass(frozen=True, kw_only=True)
class WholeSet(Step):
    """A step of samples from the whole data set, in float64.

    With all N posteriors, q(z) is their mixture. With n < N posteriors, chosen at random, it is an unbiased
    estimate, in which a sample's own posterior weighs 1/N and every other (N−1)/(N(n−1))
    (``objectives.stratified``, HFVAE Eq. 13). The plain mixture of n would give a sample's own posterior N/n
    times that weight, and I(x; z) could not exceed log n.

    Args:
        everything: q(z|x) of the n observations.
    """

    everything: Posterior

    @classmethod
    def of(
        cls,
        model: VAE,
        everything: Posterior,
        drawn: Samples,
        images: Tensor,
        networks: Mapping[str, torch.nn.Module],
        data_size: int,
    ) -> "WholeSet":
        """A step with samples drawn in the same way as for metrics.

        Args:
            model: the VAE.
            everything: q(z|x) of n observations.
            drawn: M samples of their Gaussian latents; the other latents are drawn here.
            images: (M, ...) observations that the samples come from.
            networks: critics, by the names of their terms.
            data_size: N; the n observations are all N or a random sample of them.
        """
        wide = Posterior({name: _wide(part) for name, part in everything.parts.items()})
        own = wide.map(itemgetter(torch.from_numpy(drawn.rows)))
        u = own.rsample()
        real = [variable.columns for variable in model.latents.coded if not variable.classes]
        for columns, z in zip(real, drawn.z.T, strict=True):
            u[:, columns] = z[:, None].to(u.device)
        output = replace(model.output(images, own, u.to(images.dtype)), u=u)
        return cls(model, output, 0, data_size, networks, exact, everything=wide)

    @cached_property
    def log_qz(self) -> Tensor:
        """log q(z) (B,)."""
        return self._of_all(self._mixture.log_density(*self._values), self.log_qz_x)

    @cached_property
    def log_qz_groups(self) -> Tensor:
        """log q(z_g) (B, G)."""
        latents = self.model.latents
        numbers = {variable.place: number for number, variable in enumerate(latents.coded)}
        groups = [[numbers[d] for d in range(dims.start, dims.stop)] for dims in latents.group_dims.values()]
        mixed = torch.stack([self._mixture.log_density(*self._values, keep) for keep in groups], 1)
        own = torch.stack([self.log_qz_x_dims[:, dims].sum(-1) for dims in latents.group_dims.values()], 1)
        return self._of_all(mixed, own)

    @cached_property
    def log_qz_dims(self) -> Tensor:
        """log q(z_d) (B, D)."""
        places = torch.tensor([variable.place for variable in self.model.latents.coded])
        mixed = self._mixture.log_density_of_each(*self._values)[:, places.argsort()]
        return self._of_all(mixed, self.log_qz_x_dims)

    def _of_all(self, mixed: Tensor, own: Tensor) -> Tensor:
        """log q of all N, from log-densities of the mixture of n and of each sample's own posterior."""
        size, count = self.data_size, len(self.everything.mode())
        if count == size:
            return mixed
        weight = (size - 1) / (size * (count - 1))
        every = torch.maximum(mixed + math.log(count), own) + math.log(weight)  # the sum includes the own one
        surplus = own + math.log(weight - 1 / size)
        return every + torch.log1p(-torch.exp(surplus - every))

    @cached_property
    def _mixture(self) -> Mixture:
        """All posteriors, their latents in the order of ``latents.coded``: the Gaussian ones first."""
        parts = self.everything.parts.values()
        gaussians = [part for part in parts if isinstance(part, GaussianPosterior)]
        nothing = next(iter(parts)).mode()[:, :0]
        return Mixture(
            torch.cat([nothing, *(part.mu for part in gaussians)], 1),
            torch.cat([nothing, *(part.logvar for part in gaussians)], 1),
            [part for part in parts if not isinstance(part, GaussianPosterior)],
        )

    @cached_property
    def _values(self) -> tuple[Tensor, list[Tensor]]:
        """The samples of the Gaussian latents (B, D), and those of each other group."""
        columns = self.everything.paired_with(self.u)
        gaussian = [u for part, u in columns if isinstance(part, GaussianPosterior)]
        others = [u for part, u in columns if not isinstance(part, GaussianPosterior)]
        return torch.cat([self.u[:, :0], *gaussian], 1), others


def _wide(part: GroupPosterior) -> GroupPosterior:
    """The posterior in float64, with a small width in place of σ = 0."""
    if isinstance(part, GaussianPosterior):
        part = GaussianPosterior(part.mu, blur(part.mu, part.logvar))
    return part.map(torch.Tensor.double)
