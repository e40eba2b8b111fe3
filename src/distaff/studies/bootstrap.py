"""Effects over seeds: resampled by seed, paired if two groups share seeds, with a valid 95% interval."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, rankdata, t

DRAWS = 4_000
TAIL = 0.025

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

    A seed that both groups have is drawn for both at once, so that its effect on both cancels; seeds of only
    one group are drawn within that group.

    Args:
        first: seed → value.
        second: seed → value.
    """
    generator = _generator()
    both = np.array([[first[seed], second[seed]] for seed in first if seed in second], np.float64)
    sums = _sums(both.reshape(-1, 2), generator)
    alone = [
        np.array([value for seed, value in one.items() if seed not in other], np.float64)
        for one, other in ((first, second), (second, first))
    ]
    totals = [sums[:, i] + _sums(values[:, None], generator)[:, 0] for i, values in enumerate(alone)]
    draws = totals[0] / len(first) - totals[1] / len(second)
    value = float(np.mean(list(first.values())) - np.mean(list(second.values())))
    return _effect(value, draws, min(len(first), len(second)))


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


def heights_at_equal(first: Floats, second: Floats, grid: int = 201) -> tuple[float, float] | None:
    """The mean heights of two curves over the range of x that both cover.

    Args:
        first: (P, 2) points (x, y) of a curve, joined by straight lines in the order of x.
        second: (Q, 2) points of another curve.
        grid: number of points at which the heights are compared.

    Returns:
        The two means, or None if the curves have no x in common.
    """
    low = max(first[:, 0].min(), second[:, 0].min())
    high = min(first[:, 0].max(), second[:, 0].max())
    if low > high:
        return None
    x = np.linspace(low, high, grid)
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


def _sums(values: Floats, generator: np.random.Generator) -> Floats:
    """(DRAWS, columns) sums over all rows of a resample, drawn with replacement."""
    if not len(values):
        return np.zeros((DRAWS, values.shape[1]))
    rows = generator.integers(len(values), size=(DRAWS, len(values)))
    drawn: Floats = values[rows].sum(1)
    return drawn


def _generator() -> np.random.Generator:
    return np.random.default_rng(0)
