"""Bootstrap intervals: one way for every metric, over all draws at once.

Each metric says what it resamples: votes, test points, rows or counts of a histogram. Resampling n equal
items is giving each a multinomial weight, so a draw is a row of weights and a mean is a matrix product.
"""

import numpy as np

from distaff.codes import FloatArray
from distaff.errors import DistaffError
from distaff.metrics.inputs import Float64Array, IntArray

LEVEL = 0.95
_BLOCK = 20_000_000


def interval(value: float, draws: FloatArray, bounds: tuple[float, float]) -> tuple[float, float]:
    """The 95% interval of ``value`` from bootstrap ``draws``, within ``bounds``.

    Entropies, maxima and gaps are biased upwards or downwards by resampling; the draws are therefore moved so
    that their mean is the value (the bias-corrected percentile interval).
    """
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) - (np.mean(draws) - value)
    return float(min(value, max(low, bounds[0]))), float(max(value, min(high, bounds[1])))


def checked_draws(bootstrap: int) -> int:
    """``bootstrap`` if it is a usable number of draws: 0 for no interval, or at least 20."""
    if bootstrap < 0 or 0 < bootstrap < 20:
        raise DistaffError(f"bootstrap={bootstrap}: use 0 for no interval, or 20 draws and more.")
    return bootstrap


def resample_weights(count: int, draws: int, rng: np.random.Generator) -> FloatArray:
    """(draws, count) float32: how often each item occurs in each resample of ``count`` items."""
    chosen = rng.integers(count, size=(draws, count))
    chosen += count * np.arange(draws)[:, None]
    counts = np.bincount(chosen.ravel(), minlength=draws * count)
    return counts.reshape(draws, count).astype(np.float32)


def resample_counts(counts: IntArray, draws: int, rng: np.random.Generator) -> IntArray:
    """(draws, *shape): resampled histograms; the same as resampling the observations that were counted."""
    total = int(counts.sum())
    drawn = rng.multinomial(total, counts.ravel() / total, size=draws)
    return drawn.reshape(draws, *counts.shape)


def resample_means(values: FloatArray, draws: int, rng: np.random.Generator) -> Float64Array:
    """(draws, *shape): means of ``values`` (n, *shape) over resamples of its n rows, in blocks of memory."""
    count = len(values)
    flat = values.reshape(count, -1).astype(np.float64)
    block = max(1, _BLOCK // count)
    means = [
        resample_weights(count, min(block, draws - start), rng) @ flat / count
        for start in range(0, draws, block)
    ]
    return np.concatenate(means).reshape(draws, *values.shape[1:])
