"""The thresholds that cut a line into one interval per class and win the best balanced accuracy.

Each row of class c counts 1/n_c, so that all classes weigh the same. Cuts lie between distinct values.
"""

from itertools import pairwise

import numpy as np

from distaff.codes import FloatArray
from distaff.metrics.inputs import Float64Array, IntArray

_CANDIDATES = 256
_SWEEPS = 3


class Line:
    """The rows in the order of one latent, for the search of thresholds for several factors.

    Args:
        latent: (N,) its values.
    """

    def __init__(self, latent: FloatArray) -> None:
        self.order: IntArray = np.argsort(latent, kind="stable")
        ordered = latent[self.order]
        new = np.append(True, ordered[1:] != ordered[:-1])
        self.starts: IntArray = np.flatnonzero(new)
        """The first row of each distinct value, in order."""
        self.values: IntArray = np.cumsum(new) - 1
        """(N,) the number of each row's value, in order."""
        levels = np.arange(1, _CANDIDATES) * len(latent) // _CANDIDATES
        self.quantiles: IntArray = np.unique(self.starts[self.values[levels]])
        """Rows, in order, before which 255 quantiles cut the line."""

    def guesses(self, classes: IntArray, size: int) -> IntArray:
        """(N,) the class that the best cuts give to each row.

        At most ``size`` intervals, several of which may have the same class. With up to 256 distinct values
        the search is exact. With more, the candidates are 255 quantiles and, for each two classes whose
        medians are neighbours, the best threshold between the two; each cut found then moves to its best
        place between the cuts beside it. With more than 256 classes the quantiles are left out.
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
        labels = _best_labels(counts.reshape(size, -1) * share[:, None])
        new = np.append(True, labels[1:] != labels[:-1])
        bounds, labels = np.append(bounds[:-1][new], len(y)), labels[new]
        if len(self.starts) > _CANDIDATES:
            bounds = self._moved(bounds, labels, y, share)
        found = np.empty(len(y), dtype=np.int64)
        found[self.order] = np.repeat(labels, np.diff(bounds))
        return found

    def _between_neighbours(self, y: IntArray, size: int) -> IntArray:
        """The best cut between each two classes whose medians are neighbours."""
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
        """Each cut at its best place between the two beside it, given the labels on both its sides."""
        bounds = bounds.copy()
        for _ in range(_SWEEPS):
            before = bounds.copy()
            for cut, (left, right) in enumerate(pairwise(labels), start=1):
                low, high = bounds[cut - 1], bounds[cut + 1]
                rows = y[low:high]
                balance = share[left] * (rows == left) - share[right] * (rows == right)
                gain = np.concatenate([[0], np.cumsum(balance)])
                first, last = np.searchsorted(self.starts, [low, high])
                allowed = np.append(self.starts[first:last], high)
                best = allowed[gain[allowed - low].argmax()]
                if gain[best - low] > gain[bounds[cut] - low] + 1e-12:
                    bounds[cut] = best
            if np.array_equal(before, bounds):
                break
        return bounds


def _best_labels(recall: Float64Array) -> IntArray:
    """(B,) the class given to each bin when at most C intervals win the most of the recall (C, B)."""
    size, bins = recall.shape
    if bins <= size:
        return np.asarray(recall.argmax(axis=0))
    upto = np.zeros((size, bins + 1))
    np.cumsum(recall, axis=1, out=upto[:, 1:])
    # gain[a, b]: recall won by giving bins a ... b − 1 to the class with the largest share of itself there
    gain = np.full((bins + 1, bins + 1), -np.inf)
    winner = np.zeros((bins + 1, bins + 1), dtype=np.int64)
    for c, row in enumerate(upto):
        won = row[None, :] - row[:, None]
        np.copyto(winner, c, where=won > gain)
        np.maximum(gain, won, out=gain)
    gain[np.tril_indices(bins + 1, -1)] = -np.inf
    best, starts = gain[0], []
    for _ in range(size - 1):
        extended = best[:, None] + gain
        starts.append(extended.argmax(axis=0))
        best = extended.max(axis=0)
    guess, end = np.zeros(bins, dtype=np.int64), bins
    for start in [*reversed(starts), np.zeros(bins + 1, dtype=np.int64)]:
        guess[start[end] : end] = winner[start[end], end]
        end = int(start[end])
    return guess
