"""Samples of q(z, x) with their log-densities, for the sampled estimates of information."""

import math
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from scipy.special import ndtri
from torch import Tensor

from distaff.codes import Codes, remember
from distaff.metrics.inputs import Float64Array, IntArray
from distaff.metrics.labels import Labels, pick
from distaff.mixtures.gaussians import Classes, Mixture, blur
from distaff.mixtures.pairs import log_density

EACH_LEFT_OUT = (64, "compares samples with all posteriors, leaving out each latent in turn")
"""The limit on latents of such metrics; above about ten they are unstable (Do & Tran 2020, Fig. 19)."""


@dataclass(frozen=True, eq=False)
class Samples:
    """M draws of (x, z) from the data and q(z|x), with log-densities that are computed on first use.

    q(z) is the mixture over all N observations, so the estimates are exact except for the M draws. A latent
    with σ = 0, or with known means only, is blurred (see ``distaff.mixtures.gaussians.blur``).

    Args:
        codes: the posteriors.
        count: M.
        seed: random seed; each observation is drawn equally often, or at most once if M < N.
    """

    codes: Codes
    count: int
    seed: int

    @cached_property
    def rows(self) -> IntArray:
        """(M,) the observation that each sample comes from."""
        rng = np.random.default_rng(self.seed)
        turns = math.ceil(self.count / len(self.codes))
        return np.concatenate([rng.permutation(len(self.codes)) for _ in range(turns)])[: self.count]

    @cached_property
    def posterior(self) -> tuple[Tensor, Tensor]:
        """(N, D) means and blurred log-variances."""
        mu = torch.from_numpy(self.codes.means)
        known = self.codes.logvars
        logvar = torch.full_like(mu, -torch.inf) if known is None else torch.from_numpy(known)
        return mu, blur(mu, logvar)

    @cached_property
    def z(self) -> Tensor:
        """(M, D) values of the Gaussian latents."""
        mu, logvar = (array[self.rows].double() for array in self.posterior)
        rng = np.random.default_rng([self.seed, 1])
        # One draw from each of M equal slices of N(0, 1), in random order: this removes the error that the
        # noise of a single latent would add to a mean over samples (Latin hypercube sampling).
        slices = rng.permuted(np.broadcast_to(np.arange(self.count), mu.T.shape), axis=1).T
        noise = ndtri((slices + rng.uniform(size=mu.shape)) / self.count)
        return mu + torch.from_numpy(noise) * torch.exp(logvar / 2)

    @cached_property
    def classes(self) -> list[Tensor]:
        """(M,) values of each categorical latent."""
        rng = np.random.default_rng([self.seed, 2])
        return [torch.from_numpy(pick(p[self.rows], rng)) for p in self.codes.categories.values()]

    @cached_property
    def log_qz_x_dims(self) -> Float64Array:
        """(M, L): log q(z_i|x) of each latent."""
        mu, logvar = (array[self.rows].double() for array in self.posterior)
        parts = [log_density(self.z, mu, logvar).numpy()]
        for p, chosen in zip(self.codes.categories.values(), self.classes, strict=True):
            parts.append(np.log(p[self.rows, chosen.numpy()].astype(np.float64))[:, None])
        return np.concatenate(parts, axis=1)

    @cached_property
    def log_qz_dims(self) -> Float64Array:
        """(M, L): log q(z_i) of each latent."""
        return np.asarray(self._mixture().log_density_of_each(self.z, self.classes).numpy())

    @cached_property
    def log_qz(self) -> Float64Array:
        """(M,): log q(z)."""
        return np.asarray(self._mixture().log_density(self.z, self.classes).numpy())

    @cached_property
    def log_qz_without(self) -> Float64Array:
        """(M, L): log q(z_≠i) for each latent i."""
        if len(self.codes.names) == 1:
            return np.zeros((self.count, 1))
        return np.asarray(self._mixture().log_density_without_each(self.z, self.classes).numpy())

    @property
    def informative(self) -> Float64Array:
        """(M, L) terms whose mean is I(x; z_i)."""
        return self.log_qz_x_dims - self.log_qz_dims

    @property
    def shared(self) -> Float64Array:
        """(M, L) terms whose mean is I(z_i; z_≠i)."""
        return self.log_qz[:, None] - self.log_qz_dims - self.log_qz_without

    @property
    def alone(self) -> Float64Array:
        """(M, L) terms whose mean is I(x; z_i|z_≠i) = I(x; z) − I(x; z_≠i)."""
        log_qz_x = self.log_qz_x_dims.sum(axis=1, keepdims=True)
        of_all = log_qz_x - self.log_qz[:, None]
        of_others = log_qz_x - self.log_qz_x_dims - self.log_qz_without
        return np.asarray(of_all - of_others)

    def log_qz_y(self, labels: Labels) -> Float64Array:
        """(M, L, K): log q(z_i|y_k) at the sample's own label, drawn from p(y|x) if labels are soft."""
        rng = np.random.default_rng([self.seed, 3])
        result = np.empty((self.count, len(self.codes.names), len(labels.names)))
        for k in range(len(labels.names)):
            own = labels.draw(k, self.rows, rng)
            for value in np.unique(own):
                mine = np.flatnonzero(own == value)
                result[mine, :, k] = self._log_qz_among(mine, *labels.members(k, value))
        return result

    def _log_qz_among(self, mine: IntArray, members: IntArray, shares: Float64Array) -> Float64Array:
        """(len(mine), L): log-densities of some samples under the mixture of some observations."""
        mixture, classes = self._mixture(members, shares), [chosen[mine] for chosen in self.classes]
        return np.asarray(mixture.log_density_of_each(self.z[mine], classes).numpy())

    def _mixture(self, members: IntArray | None = None, shares: Float64Array | None = None) -> Mixture:
        """The mixture of all posteriors, or of some observations weighted by ``shares``."""
        rows = slice(None) if members is None else torch.from_numpy(members)
        mu, logvar = (array[rows] for array in self.posterior)
        categories = [Classes(torch.from_numpy(p)[rows]) for p in self.codes.categories.values()]
        return Mixture(mu, logvar, categories, None if shares is None else torch.from_numpy(shares))


def samples_of(codes: Codes, count: int, seed: int) -> Samples:
    """``Samples``, cached for all metrics of the same ``Codes``."""
    # A copy, since a cached value must not keep its owner alive.
    return remember(codes, ("samples", count, seed), lambda: Samples(copy(codes), count, seed))


def means_only_note(codes: Codes) -> tuple[str, ...]:
    """A note for codes without log-variances, which metrics of q(z|x) treat as deterministic."""
    unknown = codes.logvars is None and codes.means.shape[1] > 0
    return ("only means are known: the latents are taken as deterministic (σ = 0)",) * unknown
