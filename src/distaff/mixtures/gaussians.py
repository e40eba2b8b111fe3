"""The aggregate posterior q(z) = 1/N Σ_n q(z|x_n) of a whole data set, at many samples, for evaluation.

It is a mixture with one component per observation, and evaluating it at M samples involves M·N pairs.
``Mixture`` computes these with the matrix product of ``pairs`` and a streaming logsumexp. Components are
first grouped into small boxes (``boxes``): each has its own origin and precision, so that log q(z) is
accurate to 1e-4 nats for any σ ≥ 1e-6, and boxes too far from a sample to matter are skipped (``box_sums``).
``log_marginal`` computes q(z_d) of a single latent by interpolation on a grid.

A deterministic latent (σ = 0, log-variance −inf) has no density: ``blur`` gives it a width far below
anything visible in the data. All densities are then finite, and mutual information is near its σ → 0 limit.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

import torch
from torch import Tensor

from distaff.foundation.parallel import side_by_side
from distaff.mixtures.box_sums import BoxSums
from distaff.mixtures.boxes import Box, OtherPart, neighbours

SMALLEST_WIDTH = 1e-4
"""The σ given to a deterministic latent, in standard deviations of that latent under q(z)."""
DETERMINISTIC = 5e-7
"""A σ below this, in the same unit, is treated as 0."""

BOXES = 128
"""Target number of boxes: more boxes skip more components, but take longer to check."""
COMPONENTS_PER_BOX = (768, 1536)
"""Smallest and largest number; in between, as many as give the target number of boxes."""
COMPONENTS_PER_INTERVAL = (1024, 4096)
"""The same for a single dimension, where large boxes are still narrow."""

FEW = 16384
"""Up to this many components of one latent are not merged."""

DOUBTFUL = 3e-5
"""If polynomials of degree 7 and 5 differ by more than this, in nats, a sample is not interpolated."""

LOG_ZERO = -300.0
"""The logarithm used for a class of probability 0."""


def blur(mu: Tensor, logvar: Tensor) -> Tensor:
    """The log-variances, with every σ = 0 replaced by 1e-4 standard deviations of the latent under q(z).

    The width is relative, so that rescaling a latent changes nothing. A constant latent is treated as having
    standard deviation 1.

    Args:
        mu: (N, D) means.
        logvar: (N, D) log-variances; −inf is a deterministic latent.

    Returns:
        (N, D) log-variances, all finite.
    """
    moves = mu.amax(0) > mu.amin(0)  # the variance of equal numbers need not be exactly 0
    spread = torch.where(moves, (mu.double() - mu.double().mean(0)).square().mean(0), 0.0)
    variance = spread + logvar.double().exp().mean(0)
    log_variance = torch.where(variance > 0, variance, 1.0).log()
    least, given = (log_variance + 2 * math.log(width) for width in (DETERMINISTIC, SMALLEST_WIDTH))
    return torch.where(logvar < least, given.to(logvar.dtype), logvar)


@dataclass(frozen=True)
class Classes:
    """One categorical latent of N posteriors, evaluated at classes.

    Args:
        probabilities: (N, k) class probabilities.
    """

    probabilities: Tensor

    def log_prob_pairs(self, classes: Tensor) -> Tensor:
        """log p_n(c_m) (1, M, N) for integer classes c (M,)."""
        return self.probabilities.double().log().clamp_(min=LOG_ZERO).T[classes.long()][None]

    def log_marginal(self, classes: Tensor, weights: Tensor) -> Tensor:
        """log Σ_n w_n p_n(c_m) (M,) for classes c (M,) and weights (N,) that sum to 1."""
        return (weights.double() @ self.probabilities.double()).log()[classes.long()]

    def map(self, f: Callable[[Tensor], Tensor]) -> "Classes":
        """The latent with ``f`` applied to the probabilities."""
        return Classes(f(self.probabilities))


class Mixture:
    """q(z, c) = Σ_n w_n Π_d N(z_d; μ_nd, σ²_nd) Π_g q_ng(c_g), evaluated at many samples without gradients.

    >>> mixture = Mixture(torch.tensor([[-1.0], [1.0]]), torch.zeros(2, 1))
    >>> mixture.log_density(torch.zeros(1, 1))
    tensor([-1.4189], dtype=torch.float64)

    Args:
        mu: (N, D) means of the Gaussian latents.
        logvar: (N, D) log-variances, all finite (use ``blur``).
        others: the latents that are not Gaussian, such as ``Classes``.
        weights: (N,) the weights w_n, which are normalised; equal by default.
    """

    def __init__(
        self, mu: Tensor, logvar: Tensor, others: Sequence[OtherPart] = (), weights: Tensor | None = None
    ) -> None:
        self.mu, self.logvar = mu.detach(), logvar.detach()
        self.others = [part.map(torch.detach) for part in others]
        self.count, self.dimensions = mu.shape
        self.scale = self.logvar.mean(0).div(2).exp()
        weights = mu.new_ones(self.count) if weights is None else weights.detach()
        self.weights = weights.double() / weights.double().sum()

    def log_density(
        self, z: Tensor, values: Sequence[Tensor] = (), keep: Sequence[int] | None = None
    ) -> Tensor:
        """Log q of samples, or of some of their latents with the others integrated out.

        Args:
            z: (M, D) values of the Gaussian latents.
            values: values of each other part, (M, ...).
            keep: the latents to keep, with those of other parts numbered after the Gaussian ones; all by
                default.

        Returns:
            (M,) in float64.
        """
        return self._sums.log_densities(z.detach(), values, [keep])[0]

    def log_density_without_each(self, z: Tensor, values: Sequence[Tensor] = ()) -> Tensor:
        """(M, D + G) float64: log q(z_≠i) for every latent i, D Gaussian ones and then G categorical ones."""
        latents = range(self.dimensions + len(self.others))
        others = [[j for j in latents if j != i] for i in latents]
        return self._sums.log_densities(z.detach(), values, others).T

    def log_density_of_each(self, z: Tensor, values: Sequence[Tensor] = ()) -> Tensor:
        """Log q(z_i) of every single latent.

        Args:
            z: (M, D) values of the Gaussian latents.
            values: values of each other part, (M, ...).

        Returns:
            (M, L) in float64, the Gaussian latents first.
        """
        found = [
            log_marginal(z[:, i], self.mu[:, i], self.logvar[:, i], self.weights)
            for i in range(self.dimensions)
        ]
        for part, value in zip(self.others, values, strict=True):
            if isinstance(part, Classes):
                found.append(part.log_marginal(value, self.weights))
            else:
                found += self._log_marginals_of(part, value).unbind()
        return torch.stack(found, 1)

    def _log_marginals_of(self, part: OtherPart, value: Tensor) -> Tensor:
        """(variables, M): log-marginals of each variable of a part, summed over blocks of components."""
        total = torch.full((), -math.inf, dtype=torch.float64, device=value.device)
        for rows in torch.split(torch.arange(self.count, device=value.device), COMPONENTS_PER_BOX[0]):
            pairs = part.map(itemgetter(rows)).log_prob_pairs(value).double()
            total = torch.logaddexp(total, (pairs + self.weights[rows].log()).logsumexp(-1))
        return total

    @cached_property
    def _sums(self) -> BoxSums:
        """The components grouped into boxes of neighbours."""
        least, most = COMPONENTS_PER_BOX if self.dimensions > 1 else COMPONENTS_PER_INTERVAL
        groups = neighbours(self.mu / self.scale, min(max(self.count // BOXES, least), most))
        weights = self.weights.log()
        boxes = side_by_side(
            lambda rows: Box.of(
                self.mu[rows],
                self.logvar[rows],
                [part.map(lambda p: p[rows]) for part in self.others],
                weights[rows],
            ),
            groups,
        )
        return BoxSums(list(boxes), all(isinstance(part, Classes) for part in self.others))


def log_marginal(z: Tensor, mu: Tensor, logvar: Tensor, weights: Tensor | None = None) -> Tensor:
    """log Σ_n w_n N(z_m; μ_n, σ²_n) of one latent.

    Components are split into classes whose σ differ by less than a factor of 4. The log-density of a class is
    smooth on the scale s of its smallest σ: if a grid of step s/6 has few points compared with the samples,
    it is computed there and interpolated (``_interpolated``).

    More than 16,384 components are first merged if they are similar in μ (within σ/8) and σ (within 0.2%),
    into one with the same mass, mean and variance. The error of log-densities is then below 1e-4 within 4 σ
    of a component; the error of the density integrates to zero, so the error of entropies is its square.

    Args:
        z: (M,) values.
        mu: (N,) means.
        logvar: (N,) log-variances, all finite.
        weights: (N,) masses of the components, which are normalised; equal by default.

    Returns:
        (M,) in float64.
    """
    z, mu, logvar = (x.detach().double() for x in (z, mu, logvar))
    weights = torch.ones_like(mu) if weights is None else weights.detach().double()
    level = torch.floor((logvar - logvar.min()) / (2 * math.log(4)))
    found = []
    for one in torch.unique(level).tolist() if level.any() else [0.0]:
        own = (level == one) & (weights > 0)
        if own.any():
            share = (weights[own].sum() / weights.sum()).log()
            found.append(_interpolated(z, mu[own], logvar[own], weights[own]) + share)
    return torch.stack(found).logsumexp(0)


def _interpolated(z: Tensor, mu: Tensor, logvar: Tensor, weights: Tensor) -> Tensor:
    """(M,) log q(z) of components of about the same σ; all arguments are (N,) except z (M,), in float64.

    A polynomial of degree 7 through the eight nearest points of a grid, whose step h is a sixth of the
    smallest σ: its error is 1e-3 h⁸ |∂⁸ log q|, about 1e-6 unless the sample lies in a gap many σ wide. There
    it differs from the polynomial of degree 5, and the sample is evaluated exactly.
    """
    step = (logvar.min() / 2).exp() / 6
    if len(mu) > FEW:
        mu, logvar, weights = _merged(mu, logvar, weights)
    mixture = Mixture(mu[:, None], logvar[:, None], weights=weights)
    place = torch.floor(z / step)
    if not 2 * (place.max() - place.min()) < len(z):
        return mixture.log_density(z[:, None])
    first = place.min() - 3
    grid = torch.arange(int(place.max() - first) + 5, device=z.device) * step + first * step
    around = torch.arange(-3, 5, device=z.device)
    values = mixture.log_density(grid[:, None])[(place - first).long()[:, None] + around]
    away = (z / step - place)[:, None] - around
    away[away == 0] = 1e-12
    degree_7, degree_5 = _lagrange(away, values), _lagrange(away[:, 1:-1], values[:, 1:-1])
    doubtful = (degree_7 - degree_5).abs() > DOUBTFUL
    if doubtful.any():
        degree_7[doubtful] = mixture.log_density(z[doubtful, None])
    return degree_7


def _lagrange(away: Tensor, values: Tensor) -> Tensor:
    """(M,) the polynomial through values (M, k) at k points of a grid, evaluated at samples.

    ``away`` (M, k) is the distance from each point to the sample, in grid steps, and never 0.
    """
    k = away.shape[1]
    weights = torch.tensor([(-1.0) ** j * math.comb(k - 1, j) for j in range(k)]).to(away) / away
    return (weights * values).sum(1) / weights.sum(1)


def _merged(mu: Tensor, logvar: Tensor, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Means, log-variances and masses of the merged components, from those of all components (N,)."""
    level = torch.floor(logvar / 0.004)
    place = torch.floor(mu * torch.exp(-0.002 * level) * 8)
    span = place.max() - place.min() + 1
    key = (level - level.min()) * span + place - place.min()
    if key.max() < FEW + 16 * len(key):  # counting is much faster than sorting
        key = key.long()
        cell = (torch.bincount(key) > 0).cumsum(0)[key] - 1
    else:
        _, cell = torch.unique(key, return_inverse=True)
    mass = torch.bincount(cell, weights)
    mean = torch.bincount(cell, weights * mu) / mass
    variance = torch.bincount(cell, weights * (logvar.exp() + (mu - mean[cell]).square())) / mass
    return mean, variance.log(), mass
