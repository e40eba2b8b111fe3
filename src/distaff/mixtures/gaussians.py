"""Densities of many diagonal Gaussians: the kernel that training, ``decompose`` and metrics share.

The aggregate posterior q(z) = 1/N Σ_n q(z|x_n) is a mixture with one component an observation, and taking it
at M samples looks at M·N pairs. ``Mixture`` turns these into a matrix product, [z², z, 1] against
[−1/2σ², μ/σ², const], with a streaming logsumexp. Components and samples are first sorted into small boxes:
each box has its own origin, which keeps float32 accurate where σ is small, and pairs of boxes too far apart
to count are skipped. ``log_marginal`` takes a single latent's q(z_d), where like components are merged first.

A deterministic latent (σ = 0, log-variance −inf) has no density: ``blur`` gives it a width far below
anything the data show, after which all densities are finite and mutual informations near their σ → 0 limits.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from distaff.foundation.parallel import side_by_side

LOG_2PI = math.log(2 * math.pi)
LOG_2 = math.log(2)

SMALLEST_WIDTH = 1e-4
"""The σ given to a deterministic latent, in standard deviations of that latent under q(z)."""

COMPONENTS_A_BOX = 1536
SAMPLES_A_BOX = 512
MANY_BOXES = 256
"""With more boxes of components than this, boxes of half as many samples skip more pairs than they cost."""

NEGLIGIBLE = 9.0
"""Skipped terms add up to less than exp(−NEGLIGIBLE) of a sum."""

ROUNDING = 0.02
"""The largest rounding error of one float32 term, in nats, before a box goes to float64."""

LOG_ZERO = -300.0
"""The logarithm used for a class of probability 0."""


def log_density(z: Tensor, mu: Tensor, logvar: Tensor) -> Tensor:
    """Log-density of N(μ, σ²) at z, element by element; shapes broadcast and gradients flow."""
    return -0.5 * (LOG_2PI + logvar + (z - mu).square() * torch.exp(-logvar))


def pairwise_log_density(z: Tensor, mu: Tensor, logvar: Tensor) -> Tensor:
    """(M, N, D): log N(z_md; μ_nd, σ²_nd) of every sample under every posterior, with gradients.

    For batches, where M·N·D numbers fit in memory; for a data set there is ``Mixture``.
    """
    return log_density(z[:, None], mu[None], logvar[None])


def blur(mu: Tensor, logvar: Tensor, width: float = SMALLEST_WIDTH) -> Tensor:
    """The log-variances (N, D) with every σ at least ``width`` standard deviations of its latent under q(z).

    The width is relative so that rescaling a latent changes nothing. A latent that never moves counts as
    having standard deviation 1.
    """
    moves = mu.amax(0) > mu.amin(0)  # the variance of equal numbers need not be exactly 0
    spread = torch.where(moves, (mu.double() - mu.double().mean(0)).square().mean(0), 0.0)
    variance = spread + logvar.double().exp().mean(0)
    variance = torch.where(variance > 0, variance, 1.0)
    return torch.maximum(logvar, (variance.log() + 2 * math.log(width)).to(logvar.dtype))


class Mixture:
    """q(z, c) = Σ_n w_n Π_d N(z_d; μ_nd, σ²_nd) Π_g p_ng(c_g), taken at many samples without gradients.

    Args:
        mu: (N, D) means.
        logvar: (N, D) log-variances, all finite (``blur`` sees to it).
        categories: (N, k_g) class probabilities of each categorical latent g.
        log_weights: (N,) logarithms of the weights w_n; −log N each if not given.
    """

    def __init__(
        self, mu: Tensor, logvar: Tensor, categories: Sequence[Tensor] = (), log_weights: Tensor | None = None
    ) -> None:
        mu, logvar = mu.detach(), logvar.detach()
        self.count, self.dimensions = mu.shape
        self.class_counts = [p.shape[1] for p in categories]
        self.scale = logvar.mean(0).div(2).exp()
        equal = mu.new_full((self.count,), -math.log(self.count))
        weights = equal if log_weights is None else log_weights
        boxes = side_by_side(
            lambda rows: _Box.of(mu[rows], logvar[rows], [p[rows] for p in categories], weights[rows]),
            _neighbours(mu / self.scale, COMPONENTS_A_BOX),
        )
        self.boxes = list(boxes)
        self.centre = torch.stack([box.centre for box in self.boxes])
        self.low = torch.stack([box.low for box in self.boxes])
        self.high = torch.stack([box.high for box in self.boxes])
        self.least_precision = torch.stack([box.least_precision for box in self.boxes])

    def log_density(
        self, z: Tensor, classes: Sequence[Tensor] = (), keep: Sequence[int] | None = None
    ) -> Tensor:
        """(M,) float64: log q of samples, or of some of their latents with the others integrated out.

        Args:
            z: (M, D) values of the Gaussian latents.
            classes: (M,) integer values of each categorical latent.
            keep: the latents to keep, categorical ones numbered after the Gaussian ones; all by default.
        """
        z, latents = z.detach(), self.dimensions + len(self.class_counts)
        kept = self.low.new_zeros(latents)
        kept[list(range(latents) if keep is None else keep)] = 1
        # Latents left out have zeros on the left of the product, and no share in the constants.
        dims, groups = kept[: self.dimensions], kept[self.dimensions :]
        hits = [
            one_hot(c.long(), k) * on for c, k, on in zip(classes, self.class_counts, groups, strict=True)
        ]
        chosen = torch.cat([*hits, kept.new_ones(len(z), 1)], 1)
        heights = [box.log_weights + box.heights @ dims for box in self.boxes]
        constants = [height + box.drops @ dims for height, box in zip(heights, self.boxes, strict=True)]
        rights = [
            torch.cat([box.factor, constant.to(box.factor.dtype)[None]])
            for constant, box in zip(constants, self.boxes, strict=True)
        ]
        peaks = torch.stack([height.amax() for height in heights])
        half_precision = self.least_precision * dims / (2 * LOG_2)
        margin = (math.log(self.count) + NEGLIGIBLE) / LOG_2

        def of_samples(rows: Tensor) -> Tensor:
            here, hit = z[rows].double(), chosen[rows]
            gap = torch.maximum(self.low - here[:, None], here[:, None] - self.high).clamp_(min=0)
            ceiling = peaks - (gap.square_() * half_precision).sum(-1)

            def log_sums(boxes: Tensor) -> Tensor:
                moved = (here - self.centre[boxes, None]) * dims
                lefts = torch.cat([moved.square(), moved, hit.expand(len(boxes), -1, -1)], 2)
                return _log_sums(lefts, [rights[i] for i in boxes.tolist()])

            # The nearest boxes first: what they hold decides which others can add anything.
            nearest = torch.unique(ceiling.argmax(1))
            near = log_sums(nearest)
            counts = (ceiling > (near.logsumexp(0) / LOG_2 - margin)[:, None]).any(0)
            counts[nearest] = False
            return torch.cat([near, log_sums(counts.nonzero()[:, 0])]).logsumexp(0)

        size = SAMPLES_A_BOX // 2 if len(self.boxes) > MANY_BOXES else SAMPLES_A_BOX
        boxes = _neighbours(z / self.scale, size)
        result = torch.empty(len(z), dtype=torch.float64, device=z.device)
        result[torch.cat(boxes)] = torch.cat(list(side_by_side(of_samples, boxes)))
        return result

    def log_density_without_each(self, z: Tensor, classes: Sequence[Tensor] = ()) -> Tensor:
        """(M, D + G) float64: log q(z_≠i) for every latent i, Gaussian ones first."""
        latents = range(self.dimensions + len(self.class_counts))
        return torch.stack([self.log_density(z, classes, [j for j in latents if j != i]) for i in latents], 1)


@dataclass(frozen=True)
class _Box:
    """Neighbouring components, ready for the product; everything but the geometry is in bits.

    Args:
        low: (D,) the least mean; ``high`` the greatest, ``centre`` between them the box's origin.
        least_precision: (D,) the least 1/σ².
        factor: (2D + Σk, n) what z² and z from the centre, and hits of classes, are multiplied with.
        heights: (n, D) log-density at the component's own mean.
        drops: (n, D) log-density at the centre, less the height.
        log_weights: (n,).
    """

    low: Tensor
    high: Tensor
    centre: Tensor
    least_precision: Tensor
    factor: Tensor
    heights: Tensor
    drops: Tensor
    log_weights: Tensor

    @classmethod
    def of(cls, mu: Tensor, logvar: Tensor, categories: list[Tensor], log_weights: Tensor) -> "_Box":
        mu, logvar = mu.double(), logvar.double()
        low, high = mu.amin(0), mu.amax(0)
        centre, precision = (low + high) / 2, torch.exp(-logvar)
        linear = precision * (mu - centre)
        log_classes = [p.double().log().clamp_(min=LOG_ZERO) for p in categories]
        factor = torch.cat([-0.5 * precision, linear, *log_classes], 1) / LOG_2
        # The terms of a near pair cancel down from about (half the box)² / σ²: that decides the precision.
        terms = (precision.amax(0) * ((high - low) / 2).square()).sum()
        single = terms.item() * torch.finfo(torch.float32).eps < ROUNDING
        return cls(
            low=low,
            high=high,
            centre=centre,
            least_precision=precision.amin(0),
            factor=(factor.float() if single else factor).T.contiguous(),
            heights=-0.5 * (logvar + LOG_2PI) / LOG_2,
            drops=-0.5 * linear * (mu - centre) / LOG_2,
            log_weights=log_weights.double() / LOG_2,
        )


def log_marginal(z: Tensor, mu: Tensor, logvar: Tensor, weights: Tensor | None = None) -> Tensor:
    """(M,) float64: log Σ_n w_n N(z; μ_n, σ²_n) of one latent's values z (M,).

    Components alike in μ (within σ/4) and σ (within 10%) are first merged into one of the same mass, mean and
    variance. The density's relative error is then below 1e-3 where its mass is, and integrates to zero, so
    that entropies err by its square.

    Args:
        z: (M,) values.
        mu: (N,) means.
        logvar: (N,) log-variances, all finite.
        weights: (N,) masses of the components, normalised here; equal if not given.
    """
    mu, logvar = mu.double(), logvar.double()
    weights = torch.ones_like(mu) if weights is None else weights.double()
    level = torch.floor(logvar / 0.2)
    place = torch.floor(mu * torch.exp(-0.1 * level) * 4)
    span = place.max() - place.min() + 1
    _, cell = torch.unique(level * span + place - place.min(), return_inverse=True)
    mass = torch.bincount(cell, weights)
    mean = torch.bincount(cell, weights * mu) / mass
    variance = torch.bincount(cell, weights * (logvar.exp() + (mu - mean[cell]).square())) / mass
    some = mass > 0
    merged = Mixture(
        mean[some, None], variance[some, None].log(), log_weights=(mass[some] / mass.sum()).log()
    )
    return merged.log_density(z[:, None])


def _log_sums(lefts: Tensor, rights: list[Tensor]) -> Tensor:
    """(b, m): log Σ_n 2^(left·right_n) of each box's rows, of lefts (b, m, K) and rights (K, n) each."""
    tops, sums = [lefts.new_empty(0, lefts.shape[1])], [lefts.new_empty(0, lefts.shape[1])]
    for left, right in zip(lefts, rights, strict=True):
        bits = left.to(right.dtype) @ right
        top = bits.amax(1, keepdim=True)
        # exp2 is twice as fast as exp; below −126 its results are subnormal and many times slower.
        powers = bits.sub_(top).float().clamp_(min=-126).exp2_()
        tops.append(top.T.double())
        sums.append(powers.sum(1)[None].double())
    return LOG_2 * torch.cat(tops) + torch.cat(sums).log()


def _neighbours(points: Tensor, size: int) -> list[Tensor]:
    """Rows of ``points`` in groups of at most ``size`` neighbours, by halving the widest side."""
    if points.shape[1] == 0:
        return list(torch.split(torch.arange(len(points), device=points.device), size))
    values, found, stack = points.float().cpu().numpy(), [], [np.arange(len(points))]
    while stack:
        rows = stack.pop()
        if len(rows) <= size:
            found.append(torch.from_numpy(rows).to(points.device))
            continue
        sample = values[rows[:: max(1, len(rows) // 256)]]
        order = np.argpartition(values[rows, sample.std(0).argmax()], len(rows) // 2)
        stack += [rows[order[len(rows) // 2 :]], rows[order[: len(rows) // 2]]]
    return found
