"""The thresholds that cut a line into one interval per class with the best balanced accuracy.

Each row of class c has weight 1/n_c, so that all classes have the same weight. Cuts lie between distinct
values. There are at most as many intervals as classes; several may have the same class.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from distaff.codes import FloatArray
from distaff.metrics.inputs import Float64Array, IntArray
from distaff.metrics.pieces import slices

_CANDIDATES = 256
_SWEEPS = 3


class Line:
    """The rows sorted by one latent, to search thresholds for several factors.

    Args:
        latent: (N,) values of the latent.
    """

    def __init__(self, latent: FloatArray) -> None:
        # Rows with the same value are never separated, so their order does not matter.
        self.order: IntArray = np.argsort(latent)
        ordered = latent[self.order]
        new = np.append(True, ordered[1:] != ordered[:-1])
        self.starts: IntArray = np.flatnonzero(new)
        """The first position of each distinct value, in sorted order."""
        self.inside: IntArray = np.flatnonzero(~new)
        """The other positions, before which there can be no cut."""
        self.values: IntArray = np.cumsum(new) - 1
        """(N,) the rank of each row's value among distinct values, in sorted order."""
        levels = np.arange(1, _CANDIDATES) * len(latent) // _CANDIDATES
        self.quantiles: IntArray = np.unique(self.starts[self.values[levels]])
        """Positions of 255 quantiles, in sorted order."""

    def candidates(self, classes: IntArray, size: int) -> "Candidates":
        """The candidate cuts for one factor, and the distribution of its classes between them.

        With up to 256 distinct values, the line may be cut between any two. With more, the candidates are 255
        quantiles and, for each two classes with neighbouring medians, the best threshold between the two.
        With more than 256 classes, the quantiles are left out.
        """
        y = classes[self.order]
        share = 1 / np.maximum(np.bincount(y, minlength=size), 1)
        cuts = self.starts[1:]
        if len(self.starts) > _CANDIDATES:
            cuts = self._between_neighbours(y, size)
            if size <= _CANDIDATES:
                cuts = np.union1d(cuts, self.quantiles)
            cuts = cuts[cuts > 0]
        bounds = np.concatenate([[0], cuts, [len(y)]])
        bins = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        counts = np.bincount(y * len(bounds[1:]) + bins, minlength=size * len(bounds[1:]))
        return Candidates(y, share, bounds, counts.reshape(size, -1) * share[:, None])

    def guesses(self, found: "Candidates", labels: IntArray) -> IntArray:
        """(N,) the class of each row, for (B,) labels of the intervals between candidates.

        If there are more distinct values than candidates, each cut moves to its best position between the two
        neighbouring cuts.
        """
        new = np.append(True, labels[1:] != labels[:-1])
        bounds, labels = np.append(found.bounds[:-1][new], len(found.y)), labels[new]
        if len(self.starts) > _CANDIDATES:
            bounds = self._moved(bounds, labels, found.y, found.share)
        guessed = np.empty(len(found.y), dtype=np.int64)
        guessed[self.order] = np.repeat(labels, np.diff(bounds))
        return guessed

    def _between_neighbours(self, y: IntArray, size: int) -> IntArray:
        """The best cut between each two classes with neighbouring medians."""
        counts = np.bincount(y, minlength=size)
        # Classes of at most 16 bits are sorted in linear time.
        by_class = np.argsort(y.astype(np.uint16) if size <= 1 << 16 else y, kind="stable")
        values = [own for own in np.split(self.values[by_class], np.cumsum(counts)[:-1]) if len(own)]
        values.sort(key=lambda own: own[len(own) // 2])
        cuts = []
        for lower, upper in pairwise(values):
            below = np.arange(1, len(lower) + 1) / len(lower)
            won = below - np.searchsorted(upper, lower, side="right") / len(upper)
            cuts.append(lower[won.argmax()] + 1)
        kept = np.unique(cuts)
        return np.asarray(self.starts[kept[kept < len(self.starts)]])

    def _moved(self, bounds: IntArray, labels: IntArray, y: IntArray, share: Float64Array) -> IntArray:
        """Move each cut to its best position between its neighbours, given the labels on both sides."""
        bounds = bounds.copy()
        searched: dict[int, tuple[int, int]] = {}
        for _ in range(_SWEEPS):
            before = bounds.copy()
            for cut, (left, right) in enumerate(pairwise(labels), start=1):
                low, high = int(bounds[cut - 1]), int(bounds[cut + 1])
                if searched.get(cut) == (low, high):  # it is already at its best position
                    continue
                searched[cut] = low, high
                weights = np.zeros(len(share))
                weights[left], weights[right] = share[left], -share[right]
                gain = np.zeros(high - low + 1)
                np.cumsum(weights[y[low:high]], out=gain[1:])
                first, last = np.searchsorted(self.inside, [low, high])
                gain[self.inside[first:last] - low] = -np.inf
                best = low + gain.argmax()
                if gain[best - low] > gain[bounds[cut] - low] + 1e-12:
                    bounds[cut] = best
            if np.array_equal(before, bounds):
                break
        return bounds


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidate cuts of a line for a factor of C classes.

    Args:
        y: (N,) the classes, in the order of the line.
        share: (C,) the weight of a row of each class.
        bounds: (B + 1,) positions at which intervals may begin or end.
        recall: (C, B) the share of each class that lies in each interval.
    """

    y: IntArray
    share: Float64Array
    bounds: IntArray
    recall: Float64Array


def best_labels(recalls: Sequence[Float64Array]) -> list[IntArray]:
    """For each (C, B) recall, the (B,) classes of the intervals with the largest sum, in at most C runs.

    The classes of runs are chosen interval by interval, for all lines at once and every number m of runs up
    to C: won[m, c] is the largest sum so far if the last of m runs has class c.
    """
    size = len(recalls[0])
    labels = [recall.argmax(axis=0) for recall in recalls]  # correct if there are at most C intervals
    many = [line for line, recall in enumerate(recalls) if recall.shape[1] > size]
    longest = max((recalls[line].shape[1] for line in many), default=0)
    for some in slices(len(many), longest * size * size):
        chosen = many[some]
        padded = np.zeros((longest, len(chosen), size))
        for place, line in enumerate(chosen):
            padded[: recalls[line].shape[1], place] = recalls[line].T
        for line, found in zip(chosen, _runs(padded).T, strict=True):
            labels[line] = found[: recalls[line].shape[1]]
    return labels


def _runs(recall: Float64Array) -> IntArray:
    """(B, lines) the class of each interval, for recalls (B, lines, C)."""
    bins, lines, size = recall.shape
    won = np.full((lines, size, size), -np.inf)
    won[:, 0] = recall[0]
    began = np.zeros((bins, lines, size, size), dtype=bool)
    last = np.zeros((bins, lines, size), dtype=np.int64)
    last[0] = won.argmax(axis=2)
    most = won.max(axis=2)
    for b in range(1, bins):
        np.greater(most[:, :-1, None], won[:, 1:], out=began[b, :, 1:])
        np.maximum(won[:, 1:], most[:, :-1, None], out=won[:, 1:])
        won += recall[b][:, None]
        won.argmax(axis=2, out=last[b])
        most = won.max(axis=2)
    every = np.arange(lines)
    runs = most.argmax(axis=1)
    found = np.empty((bins, lines), dtype=np.int64)
    found[-1] = last[-1, every, runs]
    for b in range(bins - 1, 0, -1):
        new = began[b, every, runs, found[b]]
        runs = runs - new
        found[b - 1] = np.where(new, last[b - 1, every, runs], found[b])
    return found
