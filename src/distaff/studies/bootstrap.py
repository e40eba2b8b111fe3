"""Effects over seeds: resampled by seed, paired if two groups share seeds, with a valid 95% interval."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, rankdata, t

DRAWS = 4_000
TAIL = 0.025
PLACES = 201
"""Number of points at which curves are compared."""

Floats = np.ndarray


@dataclass(frozen=True, eq=False)
class Effect:
    """A number estimated from seeds.

    Args:
        value: the estimate.
        draws: (DRAWS,) its bootstrap distribution, widened for few seeds; empty for a single seed.
        seeds: number of seeds of the smaller group.
    """

    value: float
    draws: Floats
    seeds: int

    @property
    def interval(self) -> tuple[float, float]:
        """The central 95% of the draws; NaN if there are none."""
        if not len(self.draws):
            return float("nan"), float("nan")
        low, high = np.quantile(self.draws, [TAIL, 1 - TAIL])
        return float(low), float(high)

    def probability(self, low: float, high: float) -> float:
        """The fraction of draws in [low, high]; NaN if there are none."""
        if not len(self.draws):
            return float("nan")
        return float(((self.draws >= low) & (self.draws <= high)).mean())


def mean_of(values: Mapping[int, float]) -> Effect:
    """The mean over seeds.

    >>> effect = mean_of({0: 1.0, 1: 2.0, 2: 3.0})
    >>> effect.value, effect.seeds
    (2.0, 3)
    """
    numbers = np.array(list(values.values()), np.float64)
    draws = _sums(numbers[:, None], _generator())[:, 0] / len(numbers)
    return _effect(float(numbers.mean()), draws, len(numbers))


def difference_of(first: Mapping[int, float], second: Mapping[int, float]) -> Effect:
    """The difference of two means over seeds, first − second.

    A seed that both groups have is drawn for both at once, so that its effect on both cancels. A seed of only
    one group varies as the values of that group do: one or two such seeds do not show by themselves how far
    seeds differ. A single seed in common does not show it either, and counts as one of each group.
    """
    generator = _generator()
    shared = [seed for seed in first if seed in second]
    shared = shared if len(shared) > 1 else []
    fewest = min(len(first), len(second))
    both = np.array([[first[seed], second[seed]] for seed in shared], np.float64).reshape(-1, 2)
    sums = _sums(both, generator)
    if 0 < len(both) < fewest:  # fewer seeds than ``_effect`` corrects for
        correction = np.sqrt(len(both) / (len(both) - 1) * (fewest - 1) / fewest)
        sums = both.sum(0) + correction * (sums - both.sum(0))
    groups = [np.array(list(one.values()), np.float64) for one in (first, second)]
    totals = [_totals(sums[:, i], both[:, i], group, generator) for i, group in enumerate(groups)]
    draws = totals[0] / len(first) - totals[1] / len(second)
    return _effect(float(groups[0].mean() - groups[1].mean()), draws, fewest)


def rank_correlation_of(points: Mapping[int, Floats]) -> Effect:
    """Spearman's correlation over all runs; seeds are resampled, since runs of a seed are not independent.

    Args:
        points: seed → (runs, 2), both numbers of each of its runs.
    """
    parts = list(points.values())
    generator = _generator()
    picks = generator.integers(len(parts), size=(DRAWS, len(parts)))
    draws = np.array([spearman(np.concatenate([parts[i] for i in pick])) for pick in picks])
    effect = _effect(spearman(np.concatenate(parts)), draws, len(parts))
    return Effect(effect.value, effect.draws.clip(-1, 1), effect.seeds)


def spearman(pairs: Floats) -> float:
    """Spearman's rank correlation of the columns of (N, 2); 0 if one of them is constant."""
    ranks = rankdata(pairs, axis=0)
    centred = ranks - ranks.mean(0)
    scale = np.sqrt((centred**2).sum(0).prod())
    return float(centred.prod(1).sum() / scale) if scale else 0.0


def slope(x: Sequence[float] | Floats, y: Sequence[float] | Floats) -> float:
    """The least-squares slope of y over x; x must take at least two values."""
    centred = np.asarray(x, np.float64) - np.mean(x)
    return float(centred @ np.asarray(y, np.float64) / (centred @ centred))


def heights_at_equal(first: Floats, second: Floats) -> tuple[float, float] | None:
    """The mean heights of two curves over the range of x that both cover.

    Args:
        first: (P, 2) points (x, y) of a curve, joined by straight lines in the order of x.
        second: (Q, 2) points of another curve.

    Returns:
        The two means, or None if the curves have no x in common.
    """
    low = max(first[:, 0].min(), second[:, 0].min())
    high = min(first[:, 0].max(), second[:, 0].max())
    if low > high:
        return None
    x = np.linspace(low, high, PLACES)
    return float(_height(first, x).mean()), float(_height(second, x).mean())


def _height(curve: Floats, x: Floats) -> Floats:
    places, index = np.unique(curve[:, 0], return_inverse=True)
    heights = np.bincount(index, curve[:, 1]) / np.bincount(index)
    return np.asarray(np.interp(x, places, heights))


def _effect(value: float, draws: Floats, seeds: int) -> Effect:
    """Widen draws about the estimate: for few seeds, the plain bootstrap's intervals are too narrow.

    Resampling n values gives (n − 1)/n times the unbiased variance, and normal tails instead of Student's.
    Draws are stretched to correct both, so that the interval of a mean of normal values is close to
    Student's, while its skew is still that of the data.
    """
    if seeds < 2:
        return Effect(value, np.empty(0), seeds)
    student: Callable[..., float] = t.ppf
    stretch = np.sqrt(seeds / (seeds - 1)) * student(1 - TAIL, seeds - 1) / norm.ppf(1 - TAIL)
    return Effect(value, value + stretch * (draws - value), seeds)


def _totals(drawn: Floats, shared: Floats, group: Floats, generator: np.random.Generator) -> Floats:
    """(DRAWS,) sums over a group, from those drawn of the values that share a seed with the other group."""
    others = _sums(group[:, None], generator, len(group) - len(shared))[:, 0]
    # The others are drawn from the whole group: this moves them from its mean to their own.
    totals: Floats = drawn + others + (len(shared) * group.mean() - shared.sum())
    return totals


def _sums(values: Floats, generator: np.random.Generator, count: int | None = None) -> Floats:
    """(DRAWS, columns) sums over ``count`` rows drawn with replacement, by default as many as there are."""
    count = len(values) if count is None else count
    if not count:
        return np.zeros((DRAWS, values.shape[1]))
    rows = generator.integers(len(values), size=(DRAWS, count))
    drawn: Floats = values[rows].sum(1)
    return drawn


def _generator() -> np.random.Generator:
    return np.random.default_rng(0)
