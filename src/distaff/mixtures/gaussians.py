"""The aggregate posterior q(z) = 1/N Σ_n q(z|x_n) of a whole data set, taken at many samples for evaluation.

It is a mixture with one component per observation, and taking it at M samples looks at M·N pairs. ``Mixture``
turns these into the matrix product of ``pairs``, with a streaming logsumexp. Components and samples are first
sorted into small boxes: each box has its own origin and its own precision, by which log q(z) is right to 1e-4
nats for any σ ≥ 1e-6, and pairs of boxes too far apart to count are skipped. ``log_marginal`` takes a single
latent's q(z_d), where like components are merged first.

A deterministic latent (σ = 0, log-variance −inf) has no density: ``blur`` gives it a width far below
anything the data show, after which all densities are finite and mutual informations near their σ → 0 limits.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

import torch
from torch import Tensor

from distaff.foundation.parallel import side_by_side
from distaff.mixtures.boxes import LOG_2, Box, OtherPart, log_sum, neighbours

SMALLEST_WIDTH = 1e-4
"""The σ given to a deterministic latent, in standard deviations of that latent under q(z)."""
DETERMINISTIC = 5e-7
"""A σ below this, in the same unit, counts as 0."""

COMPONENTS_PER_BOX = (768, 1536)
"""The least and the most; between them, as many as make 128 boxes."""
SAMPLES_PER_BOX = 256

NEGLIGIBLE = 11.0
"""Skipped terms add up to less than exp(−NEGLIGIBLE) of a sum."""

FEW = 4096
"""Components that are not merged."""

LOG_ZERO = -300.0
"""The logarithm used for a class of probability 0."""


def blur(mu: Tensor, logvar: Tensor) -> Tensor:
    """The log-variances with σ = 1e-4 standard deviations of its latent under q(z) in place of every σ = 0.

    The width is relative so that rescaling a latent changes nothing. A latent that never moves counts as
    having standard deviation 1.

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
    """One categorical latent of N posteriors, taken at classes.

    Args:
        probabilities: (N, k) of the classes.
    """

    probabilities: Tensor

    def log_prob_pairs(self, classes: Tensor) -> Tensor:
        """log p_n(c_m) (1, M, N) of classes c (M,), integers."""
        return self.probabilities.double().log().clamp_(min=LOG_ZERO).T[classes.long()][None]

    def log_marginal(self, classes: Tensor, weights: Tensor) -> Tensor:
        """log Σ_n w_n p_n(c_m) (M,) of classes c (M,) and weights (N,) that add up to 1."""
        return (weights.double() @ self.probabilities.double()).log()[classes.long()]

    def map(self, f: Callable[[Tensor], Tensor]) -> "Classes":
        """The latent with ``f`` of the probabilities."""
        return Classes(f(self.probabilities))


class Mixture:
    """q(z, c) = Σ_n w_n Π_d N(z_d; μ_nd, σ²_nd) Π_g q_ng(c_g), taken at many samples without gradients.

    >>> mixture = Mixture(torch.tensor([[-1.0], [1.0]]), torch.zeros(2, 1))
    >>> mixture.log_density(torch.zeros(1, 1))
    tensor([-1.4189], dtype=torch.float64)

    Args:
        mu: (N, D) means of the Gaussian latents.
        logvar: (N, D) log-variances, all finite (``blur`` sees to it).
        others: the latents that are not Gaussian, such as ``Classes``.
        weights: (N,) the weights w_n, normalised here; equal by default.
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
            values: of each other part, (M, ...).
            keep: the latents to keep, those of the other parts numbered after the Gaussian ones; all by
                default.

        Returns:
            (M,) in float64.
        """
        z = z.detach()
        dims = self.low.new_ones(self.dimensions)
        chosen: list[int] | slice = slice(None)
        if keep is not None:
            dims = torch.zeros_like(dims)
            dims[[i for i in keep if i < self.dimensions]] = 1
            chosen = [i - self.dimensions for i in keep if i >= self.dimensions]
        others = values if chosen else ()
        constants = [box.log_weights + box.constants @ dims for box in self.boxes]
        heights = [box.log_weights + box.heights @ dims for box in self.boxes]
        peaks = torch.stack([height.amax() for height in heights])
        if others and not all(isinstance(part, Classes) for part in self.others):
            peaks = torch.full_like(
                peaks, math.inf
            )  # a density may be anything where a probability is below 1
        half_precision = self.least_precision * dims / (2 * LOG_2)
        margin = (math.log(self.count) + NEGLIGIBLE) / LOG_2

        def of_samples(rows: Tensor) -> Tensor:
            here, there = z[rows].double(), [value[rows] for value in others]
            gap = torch.maximum(self.low - here[:, None], here[:, None] - self.high).clamp_(min=0)
            ceiling = peaks - (gap.square_() * half_precision).sum(-1)

            def log_sums(chosen_boxes: Tensor) -> Tensor:
                sums = [here.new_empty(0, len(here))]
                for i in chosen_boxes.tolist():
                    box = self.boxes[i]
                    bits = box.bits(here - self.centre[i], dims, constants[i])
                    if there:
                        pairs = [part.log_prob_pairs(v) for part, v in zip(box.others, there, strict=True)]
                        bits = bits + (torch.cat(pairs)[chosen].sum(0) / LOG_2)
                    sums.append(log_sum(bits)[None])
                return torch.cat(sums)

            # The nearest boxes first: what they hold decides which others can add anything.
            nearest = torch.unique(ceiling.argmax(1))
            near = log_sums(nearest)
            counts = (ceiling > (near.logsumexp(0) / LOG_2 - margin)[:, None]).any(0)
            counts[nearest] = False
            return torch.cat([near, log_sums(counts.nonzero()[:, 0])]).logsumexp(0)

        boxes = neighbours(z / self.scale, SAMPLES_PER_BOX)
        result = torch.empty(len(z), dtype=torch.float64, device=z.device)
        result[torch.cat(boxes)] = torch.cat(list(side_by_side(of_samples, boxes)))
        return result

    def log_density_without_each(self, z: Tensor, values: Sequence[Tensor] = ()) -> Tensor:
        """(M, D + G) float64: log q(z_≠i) for every latent i, Gaussian ones first, of G categorical ones."""
        latents = range(self.dimensions + len(self.others))
        return torch.stack([self.log_density(z, values, [j for j in latents if j != i]) for i in latents], 1)

    def log_density_of_each(self, z: Tensor, values: Sequence[Tensor] = ()) -> Tensor:
        """Log q(z_i) of every latent by itself.

        Args:
            z: (M, D) values of the Gaussian latents.
            values: of each other part, (M, ...).

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
        """(variables, M): each variable of a part, summed over blocks of components."""
        total = torch.full((), -math.inf, dtype=torch.float64, device=value.device)
        for rows in torch.split(torch.arange(self.count, device=value.device), COMPONENTS_PER_BOX[0]):
            pairs = part.map(itemgetter(rows)).log_prob_pairs(value).double()
            total = torch.logaddexp(total, (pairs + self.weights[rows].log()).logsumexp(-1))
        return total

    @cached_property
    def boxes(self) -> list[Box]:
        """The components, neighbours together."""
        least, most = COMPONENTS_PER_BOX
        groups = neighbours(self.mu / self.scale, min(max(self.count // 128, least), most))
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
        return list(boxes)

    @cached_property
    def centre(self) -> Tensor:
        """(boxes, D) the origin of each box."""
        return torch.stack([box.centre for box in self.boxes])

    @cached_property
    def low(self) -> Tensor:
        """(boxes, D) the least mean of each box."""
        return torch.stack([box.low for box in self.boxes])

    @cached_property
    def high(self) -> Tensor:
        """(boxes, D) the greatest mean of each box."""
        return torch.stack([box.high for box in self.boxes])

    @cached_property
    def least_precision(self) -> Tensor:
        """(boxes, D) the least 1/σ² of each box."""
        return torch.stack([box.least_precision for box in self.boxes])


def log_marginal(z: Tensor, mu: Tensor, logvar: Tensor, weights: Tensor | None = None) -> Tensor:
    """log Σ_n w_n N(z_m; μ_n, σ²_n) of one latent.

    More than 4096 components are first merged where they are alike in μ (within σ/8) and σ (within 0.5%),
    into one of the same mass, mean and variance. Log-densities are then off by less than 1e-4 within 4 σ of a
    component; the error of the density integrates to zero, so that entropies err by its square.

    Args:
        z: (M,) values.
        mu: (N,) means.
        logvar: (N,) log-variances, all finite.
        weights: (N,) masses of the components, normalised here; equal by default.

    Returns:
        (M,) in float64.
    """
    mu, logvar = mu.detach().double(), logvar.detach().double()
    weights = torch.ones_like(mu) if weights is None else weights.detach().double()
    if len(mu) > FEW:
        mu, logvar, weights = _merged(mu, logvar, weights)
    some = weights > 0
    return Mixture(mu[some, None], logvar[some, None], weights=weights[some]).log_density(z[:, None])


def _merged(mu: Tensor, logvar: Tensor, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Means, log-variances and masses of merged components, from those of all (N,)."""
    level = torch.floor(logvar / 0.01)
    place = torch.floor(mu * torch.exp(-0.005 * level) * 8)
    span = place.max() - place.min() + 1
    _, cell = torch.unique(level * span + place - place.min(), return_inverse=True)
    mass = torch.bincount(cell, weights)
    mean = torch.bincount(cell, weights * mu) / mass
    variance = torch.bincount(cell, weights * (logvar.exp() + (mu - mean[cell]).square())) / mass
    return mean, variance.log(), mass
