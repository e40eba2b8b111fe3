"""Mixtures of many components at many samples: sums over boxes of neighbours, skipping boxes out of reach."""

import math
from collections.abc import Iterator, Sequence
from functools import cached_property

import torch
from torch import Tensor

from distaff.foundation.parallel import side_by_side
from distaff.mixtures.boxes import LOG_2, Box, log_sum

NEGLIGIBLE = 11.0
"""All skipped terms together are less than exp(−NEGLIGIBLE) of a sum."""

SAMPLES = 1 << 14
"""Maximum number of samples at a time."""
FLAGS = 1 << 26
"""Maximum size in bytes of the flags that say which boxes count for which samples and densities."""
REACH = 256
"""Samples per batch when distances to all boxes are computed, so that they fit in a core's cache."""
PAIRS = 1 << 18
"""Number of pairs at a time, for the same reason."""

FAR = 1e30
"""Replacement for distances that float32 cannot represent."""

Kept = Sequence[int] | None
"""The variables of a marginal density by number; those of other parts come after the Gaussian ones."""


class BoxSums:
    """Log-densities of samples under the components of all boxes.

    Several marginal densities of the same samples are computed at once: they share the distances from samples
    to boxes, which determine what is skipped.

    Args:
        boxes: the components, grouped by neighbourhood; at least one box.
        bounded: whether the log-densities of other parts are at most 0, as for probabilities.
    """

    def __init__(self, boxes: Sequence[Box], bounded: bool) -> None:
        self.boxes = boxes
        self.bounded = bounded
        self.count = sum(len(box.log_weights) for box in boxes)
        self.dimensions = len(boxes[0].low)

    def log_densities(self, z: Tensor, values: Sequence[Tensor], kept: Sequence[Kept]) -> Tensor:
        """(S, M) float64: S marginal log-densities of each sample.

        Args:
            z: (M, D) values of the Gaussian latents.
            values: values of each other part, (M, ...).
            kept: the S choices of variables; None for all.
        """
        marginals = _Marginals(self, kept)
        size = max(1, min(SAMPLES, FLAGS // (len(kept) * len(self.boxes))))
        pieces = torch.split(torch.arange(len(z), device=z.device), size)
        found = [marginals.at(z[rows].double(), [value[rows] for value in values]) for rows in pieces]
        return torch.cat(found, 1)

    def likeliest(self, z: Tensor) -> Tensor:
        """(M,) the box with about the largest weight at each sample, treating each box as one Gaussian."""
        origin = self.centre.mean(0)
        centre, moved, variance = self.centre - origin, z - origin, self.variance
        constants = self.log_mass - 0.5 * (variance.log() + centre.square() / variance).sum(1)
        factor = torch.cat([-0.5 / variance, centre / variance], 1)
        return torch.addmm(constants, torch.cat([moved.square(), moved], 1), factor.T).argmax(1)

    @cached_property
    def variance(self) -> Tensor:
        """(boxes, D) the variance of a box's mixture about its centre."""
        return torch.stack([box.variance for box in self.boxes])

    @cached_property
    def log_mass(self) -> Tensor:
        """(boxes,) the logarithm of the sum of a box's weights."""
        return torch.stack([box.log_weights.mul(LOG_2).logsumexp(0) for box in self.boxes])

    @cached_property
    def centre(self) -> Tensor:
        """(boxes, D) the origin of each box."""
        return torch.stack([box.centre for box in self.boxes])

    @cached_property
    def half_width(self) -> Tensor:
        """(boxes, D) float32: the distance from the centre to the ends, rounded up."""
        return (torch.stack([(box.high - box.low) / 2 for box in self.boxes]) * (1 + 1e-6)).float()

    @cached_property
    def half_precision(self) -> Tensor:
        """(boxes, D) float32: the smallest reduction of log-densities per squared distance, in bits."""
        least = torch.stack([box.least_precision for box in self.boxes])
        return (least / (2 * LOG_2)).clamp(max=FAR).float()


class _Marginals:
    """S marginal densities of a mixture, with everything that is common to all samples."""

    def __init__(self, mixture: BoxSums, kept: Sequence[Kept]) -> None:
        self.mixture, boxes = mixture, mixture.boxes
        dimensions = mixture.dimensions
        self.dims = mixture.centre.new_ones(len(kept), dimensions)
        """(S, D) 1 for each Gaussian latent that is kept."""
        self.chosen: list[list[int] | slice] = [slice(None)] * len(kept)
        """The variables of other parts that are kept."""
        for s, variables in enumerate(kept):
            if variables is not None:
                self.dims[s] = 0
                self.dims[s, [i for i in variables if i < dimensions]] = 1
                self.chosen[s] = [i - dimensions for i in variables if i >= dimensions]
        self.constants = [
            (box.log_weights + self.dims @ box.constants.T).to(box.factor.dtype) for box in boxes
        ]
        heights = [(box.log_weights + self.dims @ box.heights.T).amax(1) for box in boxes]
        self.peaks = torch.stack(heights, 1)
        """(S, boxes) the largest possible log-density of a component of a box, in bits."""
        if not mixture.bounded and any(self.chosen):
            self.peaks.fill_(math.inf)  # a density, unlike a probability, is unbounded

    def at(self, z: Tensor, values: Sequence[Tensor]) -> Tensor:
        """(S, M) the log-densities of samples."""
        boxes = range(len(self.mixture.boxes))
        values = values if any(self.chosen) else ()
        # The most likely box of each sample first: its sum determines which other boxes matter.
        first = self.mixture.likeliest(z)
        order = first.argsort(stable=True)
        groups = torch.split(order, torch.bincount(first, minlength=len(boxes)).tolist())
        near = z.new_empty(len(self.dims), len(z))
        found = side_by_side(lambda i: self._log_sums(i, groups[i], z, values, slice(None)), boxes)
        near[:, order] = torch.cat(list(found), 1)

        wanted = self._in_reach(z, near)
        wanted[:, first, torch.arange(len(z), device=z.device)] = False
        total = near.clone()
        for more in side_by_side(lambda i: list(self._wanted_sums(i, wanted[:, i], z, values)), boxes):
            for s, rows, sums in more:
                total[s, rows] = torch.logaddexp(total[s, rows], sums)
        return total

    def _wanted_sums(
        self, box: int, wanted: Tensor, z: Tensor, values: Sequence[Tensor]
    ) -> Iterator[tuple[int, Tensor, Tensor]]:
        """For each density, the rows (m,) with ``wanted`` (S, M), and their sums (m,) over the box."""
        for s, mask in enumerate(wanted):
            rows = mask.nonzero()[:, 0]
            if len(rows):
                yield s, rows, self._log_sums(box, rows, z, values, slice(s, s + 1))[0]

    def _log_sums(
        self, number: int, rows: Tensor, z: Tensor, values: Sequence[Tensor], densities: slice
    ) -> Tensor:
        """(s, m) log-sums of s densities over the components of a box, at some samples."""
        box, dims = self.mixture.boxes[number], self.dims[densities]
        constants = self.constants[number][densities]
        found = [z.new_empty(len(dims), 0)]
        for some in torch.split(rows, max(1, PAIRS // constants.numel())):
            bits = box.bits(z[some] - box.centre, dims, constants)
            if values:
                parts = zip(box.others, values, strict=True)
                pairs = torch.cat([part.log_prob_pairs(value[some]) for part, value in parts])
                summed = [pairs[variables].sum(0) for variables in self.chosen[densities]]
                bits = bits + torch.stack(summed) / LOG_2
            found.append(log_sum(bits))
        return torch.cat(found, 1)

    def _in_reach(self, z: Tensor, near: Tensor) -> Tensor:
        """(S, boxes, M) whether a box may contribute a non-negligible amount relative to ``near`` (S, M)."""
        mixture = self.mixture
        floor = ((near - math.log(mixture.count) - NEGLIGIBLE) / LOG_2).float()
        found = torch.empty(len(near), len(mixture.boxes), len(z), dtype=torch.bool, device=z.device)
        dims, peaks = self.dims.float(), self.peaks.float()[:, :, None]

        def of_samples(rows: Tensor) -> None:
            distances = torch.empty(mixture.dimensions, len(mixture.boxes), len(rows), device=z.device)
            for d, gap in enumerate(distances):
                torch.sub(z[rows, d], mixture.centre[:, d, None], out=gap)
                gap.abs_().sub_(mixture.half_width[:, d, None]).clamp_(min=0)
                gap.square_().mul_(mixture.half_precision[:, d, None]).clamp_(max=FAR)
            least = (dims @ distances.flatten(1)).view(len(dims), len(mixture.boxes), -1)
            least += floor[:, None, rows]
            torch.lt(least, peaks, out=found[:, :, rows[0] : rows[-1] + 1])

        for _ in side_by_side(of_samples, torch.split(torch.arange(len(z), device=z.device), REACH)):
            pass
        return found
