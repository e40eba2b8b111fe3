"""Linear support vector machines with one input: every class against the rest, solved exactly and together.

With the rows sorted by the input, the rows that a machine has not yet put beyond its margin are the first or
the last ones: their moments are differences of running sums, and a step does not touch any row.
"""

from dataclasses import dataclass

import numpy as np

from distaff.metrics.inputs import Float64Array, IntArray

_STEPS, _TOLERANCE, _ZERO = 100, 1e-13, 1e-12
_LARGEST = 1e100  # its square is finite


@dataclass(frozen=True)
class Machines:
    """Lines x ↦ slope·x + height, one for each class of each factor; the highest line gives the class.

    Args:
        slopes: (ΣC,) slopes for the classes of all factors in turn.
        heights: (ΣC,) heights; minus infinity for a class without rows.
        starts: (K − 1,) where the classes of the factors after the first begin.
    """

    slopes: Float64Array
    heights: Float64Array
    starts: IntArray

    def guesses(self, x: Float64Array) -> IntArray:
        """(n, K) predicted classes."""
        values = np.multiply.outer(x, self.slopes) + self.heights
        return np.stack([some.argmax(axis=1) for some in np.split(values, self.starts, axis=1)], axis=1)


def machines(x: Float64Array, classes: IntArray, sizes: tuple[int, ...], penalty: float) -> Machines:
    """The exact solutions of scikit-learn's ``LinearSVC(C=penalty, class_weight="balanced", dual=False)``.

    Each minimises ½(w² + b²) + Σ_n c_n max(0, 1 − y_n(w x_n + b))², with c_n = penalty · N/(C N_c) for the
    N_c rows of its class and, as in liblinear, c_n = penalty for the others if there are more than two
    classes. While the same rows are beyond the margin, this is a parabola in (w, b): each step goes to the
    minimum of the current parabola, or half as far until the value falls.

    Args:
        x: (N,) one input.
        classes: (N, K) classes of K factors.
        sizes: the number of classes of each factor.
        penalty: C.
    """
    starts = np.concatenate([[0], np.cumsum(sizes)])
    counts = np.bincount((classes + starts[:-1]).ravel(), minlength=starts[-1])
    present = np.add.reduceat(counts > 0, starts[:-1]).repeat(sizes)
    own = penalty * len(x) / (present * np.maximum(counts, 1))
    rest = np.where(present > 2, penalty, penalty * len(x) / (present * np.maximum(len(x) - counts, 1)))
    # Centred and scaled: a = slope · scale and h = height + slope · centre.
    centre, scale = _place(x)
    order = np.argsort(x)
    moments = _Moments.of((x[order] - centre) / scale, (classes + starts[:-1])[order], counts)
    ratio = np.clip(centre / scale, -_LARGEST, _LARGEST)
    ridge = np.array([[np.clip(1 / scale, 1 / _LARGEST, _LARGEST) ** 2 + ratio**2, -ratio], [-ratio, 1]])

    def parabolas(at: Float64Array) -> tuple[Float64Array, Float64Array, Float64Array]:
        """Values (ΣC,), Hessians (ΣC, 2, 2) and minima (ΣC, 2) of the parabolas at ``at``."""
        inside, outside = moments.within(at)
        inside, outside = inside * own, outside * rest
        both = 2 * (inside + outside)
        hessian = ridge + both[[[2, 1], [1, 0]]].transpose(2, 0, 1)
        pull = 2 * (inside - outside)[[1, 0]].T
        value = ((hessian @ at[:, :, None])[:, :, 0] * at).sum(axis=1) / 2 - (pull * at).sum(axis=1)
        # If all rows are beyond the margin, only the penalty is left: minimal at 0, but maybe singular.
        solvable = np.where(both[0, :, None, None] > 0, hessian, np.eye(2))
        lowest = np.linalg.solve(solvable, pull[:, :, None])[:, :, 0]
        return np.asarray(value + both[0] / 2), hessian, lowest.astype(np.float64)

    at = np.zeros((len(counts), 2))
    value, hessian, lowest = parabolas(at)
    share = np.ones(len(counts))
    for _ in range(_STEPS):
        way = lowest - at
        fall = ((hessian @ way[:, :, None])[:, :, 0] * way).sum(axis=1)
        moving = fall > _TOLERANCE * (value + _TOLERANCE)
        if not moving.any():
            break
        proposal = at + share[:, None] * way * moving[:, None]
        new, newer, next_lowest = parabolas(proposal)
        worse = moving & (new > value)
        share = np.where(worse, share / 2, 1.0)
        better = ~worse
        at, value = np.where(better[:, None], proposal, at), np.where(better, new, value)
        hessian = np.where(better[:, None, None], newer, hessian)
        lowest = np.where(better[:, None], next_lowest, lowest)
    at[np.abs(at[:, 1]) < _ZERO, 1] = 0  # for an uninformative input, rounding would choose the class
    slopes = at[:, 0] / scale
    return Machines(slopes, np.where(counts > 0, at[:, 1] - slopes * centre, -np.inf), starts[1:-1])


@dataclass(frozen=True)
class _Moments:
    """Running sums of 1, u and u² over rows sorted by u: over all rows, and class by class.

    Args:
        u: (N,) sorted inputs.
        whole: (3, N + 1) sums over all rows.
        places: (NK,) class · N + rank, sorted: gives the number of rows of a class before a rank.
        apart: (3, NK + 1) sums over the rows in the order of ``places``.
        ends: (2, ΣC) where the sums of each class begin and end in ``apart``.
    """

    u: Float64Array
    whole: Float64Array
    places: IntArray
    apart: Float64Array
    ends: IntArray

    @staticmethod
    def of(u: Float64Array, targets: IntArray, counts: IntArray) -> "_Moments":
        """The moments of sorted inputs and (N, K) classes that are numbered across all factors."""
        powers, ends = np.stack([np.ones_like(u), u, u**2]), np.cumsum(counts)
        # Small integers are sorted by counting; the classes of a factor follow those of the previous factor.
        small = targets.T.astype(np.uint16 if len(counts) <= 1 << 16 else np.int64)
        ranks = np.argsort(small, axis=1, kind="stable")
        places = np.repeat(np.arange(len(counts)) * len(u), counts) + ranks.ravel()
        apart = _running(powers[:, ranks.ravel()])
        return _Moments(u, _running(powers), places, apart, np.stack([ends - counts, ends]))

    def within(self, lines: Float64Array) -> tuple[Float64Array, Float64Array]:
        """(3, ΣC) moments of the rows of a class below height 1, and of all other rows above −1."""
        slopes, heights = lines.T
        rising = slopes >= 0
        with np.errstate(over="ignore"):
            cuts = (np.array([[1.0], [-1.0]]) - heights) / np.where(slopes == 0, 1e-300, slopes)
        ranks = np.searchsorted(self.u, cuts)
        before = self.apart[:, np.searchsorted(self.places, np.arange(len(slopes)) * len(self.u) + ranks)]
        own = before[:, 0] - self.apart[:, self.ends[0]], self.apart[:, self.ends[1]] - before[:, 0]
        rest = (
            self.whole[:, ranks[1]] - (before[:, 1] - self.apart[:, self.ends[0]]),
            self.whole[:, -1:] - self.whole[:, ranks[1]] - (self.apart[:, self.ends[1]] - before[:, 1]),
        )
        return np.where(rising, *own), np.where(rising, *rest[::-1])


def _running(values: Float64Array) -> Float64Array:
    """(3, n + 1) sums of the values before each position."""
    return np.concatenate([np.zeros((len(values), 1)), np.cumsum(values, axis=1)], axis=1)


def _place(x: Float64Array) -> tuple[float, float]:
    """The mean, and the largest distance from it, or 1 if that is 0."""
    centre = float(x.mean())
    return centre, float(np.abs(x - centre).max()) or 1.0
