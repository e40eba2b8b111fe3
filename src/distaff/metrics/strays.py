"""How far latents stray from the mean of their class: quantiles of |z − E[z | f]|, each class by itself."""

from math import isqrt

import numpy as np

from distaff.codes import FloatArray
from distaff.metrics.factor_vae import Groups
from distaff.metrics.inputs import Float64Array

_BUNDLED = 4
"""Values are bundled if the best bundles are at least this large; in smaller ones there is little to gain."""


def class_by_class(means: FloatArray, quantile: float, group: Groups) -> Float64Array:
    """(classes, d) the quantiles. Whole rows are moved, of one class at a time, which stay in a cache."""
    members = np.split(group.order, group.starts[1:])
    return np.stack([quantile_of_strays(means.take(rows, axis=0), quantile) for rows in members])


def quantile_of_strays(z: FloatArray, quantile: float) -> Float64Array:
    """(d,) ``numpy.quantile`` of |z − mean| along the rows of (n, d), with one selection instead of two."""
    place = quantile * (len(z) - 1)
    highest = len(z) - int(place)
    strays = _highest_strays(z, highest)
    below = strays.shape[1] - highest
    strays.partition(below, axis=1)
    first = strays[:, below]
    if place == int(place):
        return np.asarray(first.copy())
    second = strays[:, below + 1 :].min(axis=1)
    share, step = place - int(place), second - first
    return np.asarray(first + step * share if share < 0.5 else second - step * (1 - share))


def _highest_strays(z: FloatArray, count: int) -> Float64Array:
    """(d, m) some of the distances |z − mean| of (n, d), among them the ``count`` highest of each column.

    They lie in the ``count`` bundles that reach furthest from the mean, as their highest and lowest values
    tell. Selecting among n/b bundles of b, and then among ``count`` · b values, takes least for b² =
    n/``count``. A bundle is made of rows that lie far apart, so that long rows are added and compared.
    """
    size, width = isqrt(len(z) // count), z.shape[1]
    if size < _BUNDLED:
        columns = np.ascontiguousarray(z.T)
        return np.asarray(np.abs(columns - columns.mean(axis=1, dtype=np.float64, keepdims=True)))
    each = len(z) // size
    bundles, rest = z[: size * each].reshape(size, each * width), z[size * each :]
    sums = bundles.sum(axis=0, dtype=np.float64).reshape(each, width).sum(axis=0)
    centre = (sums + rest.sum(axis=0, dtype=np.float64))[:, None] / len(z)
    high, low = (ends.reshape(each, width).T for ends in (bundles.max(axis=0), bundles.min(axis=0)))
    reach = np.maximum(high - centre, centre - low, order="C")
    chosen = np.argpartition(reach, each - count, axis=1)[:, each - count :]
    found = bundles.take(chosen * width + np.arange(width)[:, None], axis=1)
    found = np.concatenate([found.swapaxes(0, 1).reshape(width, -1), rest.T], axis=1)
    return np.asarray(np.abs(found - centre))
