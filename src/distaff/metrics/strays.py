"""How far latents stray from the mean of their class: quantiles of |z − E[z | f]|, class by class.

The quantile depends only on the highest strays. In classes of many rows, a sample tells beyond which limits
these probably lie. All rows are compared with the limits, and the few numbers beyond are sorted. If they turn
out to be fewer than needed, the class is read as a whole: no result depends on the sample.
"""

from collections.abc import Sequence
from functools import reduce
from math import isqrt, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from distaff.codes import FloatArray
from distaff.metrics.factor_vae import Groups
from distaff.metrics.inputs import Float64Array, IntArray

_MANY = 1000
"""With fewer rows per class, guessing limits takes longer than it saves."""

_TABLE = 20_480
"""Limits that are read together: they, and ..."""

_PIECE = 160_000
"""... the numbers that are compared with them at a time stay in a core's cache."""

_SAMPLED = 8
"""One row in so many is in the sample, and ..."""

_SEEN = 512
"""... at most so many of each class are looked at, since numpy sorts longer lines much more slowly."""

_FEW = 1 / 8
"""Limits are used if no larger share of the class is likely to lie beyond them."""

_BUNDLED = 4
"""Values are bundled if the best bundles are at least this large; in smaller ones there is little to gain."""


class Sample(NamedTuple):
    """Some of the rows: their numbers (m,), and their latents (d, m)."""

    rows: IntArray
    latents: NDArray[np.float32]


class _Held(NamedTuple):
    """A factor that is held fixed: the means of its classes and the limits around them, (classes, d) each.

    A quantile lies ``fraction`` of the way from the ``needed``-th highest stray to the next higher one.
    """

    group: Groups
    centre: Float64Array
    low: FloatArray
    high: FloatArray
    needed: IntArray
    fraction: Float64Array


class _Beyond(NamedTuple):
    """The numbers beyond the limits."""

    row: IntArray
    latent: IntArray
    value: Float64Array


def read_together(groups: Sequence[Groups], width: int) -> list[list[Groups]]:
    """Neighbouring factors with few combinations of classes, which rows are compared with at once."""
    parts: list[list[Groups]] = []
    for group in groups:
        last = parts[-1] if parts else []
        few = prod(other.size for other in [*last, group]) * width <= _TABLE
        if last and few and _many_rows(last[0]) and _many_rows(group):
            last.append(group)
        else:
            parts.append([group])
    return parts


def sample_of(means: FloatArray) -> Sample:
    """A random row out of each ``_SAMPLED`` of the (N, d) means."""
    rows = np.arange(0, len(means) - _SAMPLED + 1, _SAMPLED)
    rows += np.random.default_rng(0).integers(_SAMPLED, size=len(rows))
    return Sample(rows, means.take(rows, axis=0).T.astype(np.float32, order="C"))


def quantiles_of_strays(
    means: FloatArray, sample: Sample, quantile: float, groups: Sequence[Groups]
) -> Float64Array:
    """(classes of all factors, d) ``numpy.quantile`` of |z − mean| in each class.

    Args:
        means: (N, d) the latents, row by row in memory.
        sample: some of the rows.
        quantile: in (0, 1].
        groups: the rows by the class of each factor, without missing labels; a part of ``read_together``.
    """
    if not _many_rows(groups[0]):
        return np.concatenate([_class_by_class(means, quantile, group) for group in groups])
    cells = reduce(lambda cell, group: cell * group.size + group.classes, groups[1:], groups[0].classes)
    held = []
    for group, sums, counts in zip(groups, *_totals(means, cells, groups), strict=True):
        centre, place = sums / counts[:, None], np.asarray(quantile * (counts - 1), np.float64)
        needed = counts - place.astype(np.int64)
        seen = Groups(group.classes.take(sample.rows), group.size)
        limits = _limits(sample.latents, seen, centre, needed / counts)
        low, high = ((centre + side * limits).astype(means.dtype) for side in (-1, 1))
        held.append(_Held(group, centre, low, high, needed, place - np.floor(place)))
    low = _joined(np.maximum, [one.low for one in held])
    high = _joined(np.minimum, [one.high for one in held])
    beyond = _beyond(means, cells, low, high)
    tables = [_from_beyond(beyond, one) for one in held]
    for table, group in zip(tables, groups, strict=True):
        _read_lacking(means, quantile, group, table)
    return np.concatenate(tables)


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


def _many_rows(group: Groups) -> bool:
    return len(group.classes) >= _MANY * group.size


def _totals(
    means: FloatArray, cells: IntArray, groups: Sequence[Groups]
) -> tuple[list[Float64Array], list[IntArray]]:
    """For each factor the sums (classes, d) and the numbers of rows, from those of combinations."""
    sizes = [group.size for group in groups]
    sums = np.zeros((prod(sizes), means.shape[1]))
    step = 2 * max(1, _PIECE // means.shape[1])
    ones, ends = np.ones(min(step, len(means))), np.arange(min(step, len(means)) + 1)
    for start in range(0, len(means), step):
        z, cell = means[start : start + step], cells[start : start + step]
        sums += csc_array((ones[: len(z)], cell, ends[: len(z) + 1]), (len(sums), len(z))) @ z
    counts = np.bincount(cells, minlength=len(sums)).reshape(sizes)
    sums = sums.reshape(*sizes, -1)
    others = [tuple(j for j in range(len(sizes)) if j != k) for k in range(len(sizes))]
    return [sums.sum(axis=axes) for axes in others], [counts.sum(axis=axes) for axes in others]


def _limits(
    sample: NDArray[np.float32], seen: Groups, centre: Float64Array, share: Float64Array
) -> Float64Array:
    """(classes, d) distances that probably a little more than the ``share`` of strays exceed.

    Of the strays in the sample, those that are needed are m·``share`` on average, with a variance about as
    large. The limit leaves out three standard deviations more; it is infinite if that is too large a part.
    """
    each = min(_SEEN, 1 << max(1, sample.shape[1] // seen.size).bit_length() - 1)
    rows = seen.starts[:, None] + np.arange(each) * seen.counts[:, None] // each
    strays = sample.take(seen.order.take(rows, mode="clip"), axis=1)
    strays -= centre.T[:, :, None].astype(np.float32)
    np.abs(strays, out=strays).sort(axis=2)
    count = np.maximum(np.minimum(seen.counts, each), 1)
    beyond = share + 3 * np.sqrt(share / count) + 1 / count
    limits = strays[:, np.arange(seen.size), (each * np.maximum(1 - beyond, 0)).astype(np.int64)].T
    # A little further: of many equal strays, which lie exactly at the limit, none is to be beyond.
    limits = limits + (limits + np.abs(centre)) * 2.0**-23
    return np.where(beyond[:, None] < _FEW, limits, np.inf)


def _joined(tightest: np.ufunc, limits: list[FloatArray]) -> FloatArray:
    """(combinations, d) for each combination of classes of the factors, the tightest of their limits."""
    return reduce(lambda a, b: np.asarray(tightest(a[:, None], b)).reshape(-1, b.shape[1]), limits)


def _beyond(means: FloatArray, cells: IntArray, low: FloatArray, high: FloatArray) -> _Beyond:
    """The numbers that are below ``low`` or above ``high`` in the row of their cell."""
    width = means.shape[1]
    step = 8 * max(1, _PIECE // (8 * width))
    limit = np.empty((step, width), means.dtype)
    places = []
    for start in range(0, len(means), step):
        z, cell = means[start : start + step], cells[start : start + step]
        beyond = z > high.take(cell, axis=0, out=limit[: len(z)], mode="clip")
        beyond |= z < low.take(cell, axis=0, out=limit[: len(z)], mode="clip")
        places.append(_nonzero(beyond) + start * width)
    place = np.concatenate(places)
    row = place // width
    return _Beyond(row, place - row * width, means.reshape(-1).take(place).astype(np.float64))


def _nonzero(few: NDArray[np.bool_]) -> IntArray:
    """``np.flatnonzero``, faster where few are true: first those eight in which any is."""
    if few.size % 8:
        return np.flatnonzero(few)
    eights = few.reshape(-1, 8)
    some = (eights.view(np.uint64) != 0).reshape(-1).nonzero()[0]
    place = eights.take(some, axis=0).reshape(-1).nonzero()[0]
    return np.asarray(some.take(place >> 3) * 8 + (place & 7))


def _from_beyond(beyond: _Beyond, held: _Held) -> Float64Array:
    """(classes, d) the quantiles; NaN where fewer strays than needed are known to be the highest."""
    group, centre, low, high, needed, fraction = held
    cell = group.classes.take(beyond.row) * centre.shape[1] + beyond.latent
    strays = np.abs(beyond.value - centre.reshape(-1).take(cell))
    reach = np.maximum(high - centre, centre - low)  # no other number strays further
    kept = np.flatnonzero(strays > reach.reshape(-1).take(cell))
    cell = cell.take(kept)
    counts = np.bincount(cell, minlength=centre.size)
    needed, fraction = needed.repeat(centre.shape[1]), fraction.repeat(centre.shape[1])
    some = np.flatnonzero(counts >= needed)
    last, share = counts.cumsum()[some] - 1, fraction[some]
    place = last + 1 - needed[some]
    first, second = _in_order(strays.take(kept), cell, np.stack([place, np.minimum(place + 1, last)]))
    step = second - first
    quantiles = np.full(centre.size, np.nan)
    quantiles[some] = np.where(share < 0.5, first + step * share, second - step * (1 - share))
    return quantiles.reshape(centre.shape)


def _in_order(strays: Float64Array, cells: IntArray, places: IntArray) -> Float64Array:
    """Those at some places of the positive ``strays``, cell by cell and from low to high in each.

    Positive numbers are in the order of their bits, read as integers. With the cell's number in front, one
    sort of integers does it all; numpy sorts these several times faster than it finds an order. If they need
    more than 63 bits, the last bits of the strays are dropped, at most those after the eleventh digit.
    """
    if not places.size:
        return np.empty(places.shape)
    bits = strays.view(np.int64)
    lowest = bits.min()
    width = int(bits.max() - lowest).bit_length()
    dropped = max(0, width + int(cells.max()).bit_length() - 63)
    width -= dropped
    keys = (bits - lowest >> dropped) | (cells << width)
    keys.sort()
    chosen = keys[places] & (1 << width) - 1
    return np.asarray(((chosen << dropped) + lowest).view(np.float64))


def _read_lacking(means: FloatArray, quantile: float, group: Groups, table: Float64Array) -> None:
    """Put the quantiles of whole classes where (classes, d) is NaN."""
    lacking = np.isnan(table)
    for c in np.flatnonzero(lacking.any(axis=1)):
        z = means.take(group.order[group.starts[c] : group.starts[c] + group.counts[c]], axis=0)
        table[c, lacking[c]] = quantile_of_strays(z if lacking[c].all() else z[:, lacking[c]], quantile)


def _class_by_class(means: FloatArray, quantile: float, group: Groups) -> Float64Array:
    """(classes, d) the quantiles. Whole rows are moved, of one class at a time, which stay in a cache."""
    members = np.split(group.order, group.starts[1:])
    return np.stack([quantile_of_strays(means.take(rows, axis=0), quantile) for rows in members])


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
