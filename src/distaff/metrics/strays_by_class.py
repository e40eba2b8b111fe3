"""How far latents stray from the mean of their class: quantiles of |z − E[z | f]|, class by class.

The quantile depends only on the highest strays. In classes of many rows, a sample tells beyond which limits
these probably lie. All rows are compared with the limits, and the few numbers beyond are sorted. If they turn
out to be fewer than needed, the class is read as a whole: no result depends on the sample.
"""

from collections.abc import Sequence
from functools import reduce
from itertools import chain, pairwise
from math import isqrt, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from distaff.codes import FloatArray
from distaff.foundation.parallel import side_by_side
from distaff.metrics.factor_vae import Groups
from distaff.metrics.inputs import Float64Array, IntArray
from distaff.metrics.strays import class_by_class, quantile_of_strays

_MANY = 1000
"""With fewer rows per class, guessing limits takes longer than it saves."""

_SHARED = 200_000
"""With fewer rows, waking a second thread takes longer than it saves."""

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


class Strays(NamedTuple):
    """How far latents stray.

    Args:
        by_class: for each factor (classes, d), ``numpy.quantile`` of |z − mean| in each class.
        furthest: (d,) the largest distance from the mean of all rows.
    """

    by_class: list[Float64Array]
    furthest: Float64Array


class _Sample(NamedTuple):
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


def strays_of(means: FloatArray, quantile: float, groups: Sequence[Groups]) -> Strays:
    """How far latents stray from the mean of each class, and from that of all rows.

    Args:
        means: (N, d) the latents, row by row in memory.
        quantile: in (0, 1].
        groups: the rows by the class of each factor, without missing labels.
    """
    sample = _sample_of(means)
    parts = read_together(list(filter(_many_rows, groups)), means.shape[1])
    cells = [
        reduce(lambda cell, group: cell * group.size + group.classes, p[1:], p[0].classes) for p in parts
    ]
    sums = _sums(means, cells, [prod(group.size for group in part) for part in parts])
    each = list(zip(parts, cells, sums, strict=True))
    run = side_by_side if len(means) >= _SHARED else map
    guessed = chain.from_iterable(run(lambda part: _by_guess(means, quantile, sample, *part), each))
    by_class = [
        next(guessed) if _many_rows(group) else class_by_class(means, quantile, group) for group in groups
    ]
    total = sums[0].sum(axis=0) if parts else means.sum(axis=0, dtype=np.float64)
    return Strays(by_class, _furthest(means, total / len(means)))


def read_together(groups: Sequence[Groups], width: int) -> list[list[Groups]]:
    """Neighbouring factors with few combinations of classes, which rows are compared with at once."""
    parts: list[list[Groups]] = []
    for group in groups:
        if parts and prod(other.size for other in [*parts[-1], group]) * width <= _TABLE:
            parts[-1].append(group)
        else:
            parts.append([group])
    return parts


def _sample_of(means: FloatArray) -> _Sample:
    """A random row out of each ``_SAMPLED`` of the (N, d) means."""
    rows = np.arange(0, len(means) - _SAMPLED + 1, _SAMPLED)
    rows += np.random.default_rng(0).integers(_SAMPLED, size=len(rows))
    return _Sample(rows, means.take(rows, axis=0).T.astype(np.float32, order="C"))


def _by_guess(
    means: FloatArray,
    quantile: float,
    sample: _Sample,
    groups: Sequence[Groups],
    cells: IntArray,
    sums: Float64Array,
) -> list[Float64Array]:
    """For each factor (classes, d) the quantiles, from the numbers beyond limits that a sample tells.

    Args:
        cells: (N,) combination of the factors' classes in each row.
        sums: (combinations, d) of the latents.
    """
    sizes = [group.size for group in groups]
    numbers, sums = np.bincount(cells, minlength=len(sums)).reshape(sizes), sums.reshape(*sizes, -1)
    held = []
    for k, group in enumerate(groups):
        others = tuple(j for j in range(len(sizes)) if j != k)
        counts = numbers.sum(axis=others)
        centre = sums.sum(axis=others) / counts[:, None]
        place = np.asarray(quantile * (counts - 1), np.float64)
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
    return tables


def _many_rows(group: Groups) -> bool:
    return len(group.classes) >= _MANY * group.size


def _sums(means: FloatArray, cells: Sequence[IntArray], sizes: Sequence[int]) -> list[Float64Array]:
    """For each of several lists of cells (N,), the sums (cells, d) of the rows in each cell; in one pass."""
    starts = np.cumsum([0, *sizes])
    sums = np.zeros((starts[-1], means.shape[1]))
    step = 2 * max(1, _PIECE // means.shape[1])
    for start in range(0, len(means) if cells else 0, step):
        z = means[start : start + step]
        places = np.empty((len(z), len(cells)), np.int32)
        for k, cell in enumerate(cells):
            np.add(cell[start : start + step], starts[k], out=places[:, k], casting="unsafe")
        ends = np.arange(0, places.size + 1, len(cells), dtype=np.int32)
        sums += csc_array((np.ones(places.size), places.reshape(-1), ends), (len(sums), len(z))) @ z
    return [sums[start:end] for start, end in pairwise(starts)]


def _furthest(means: FloatArray, centre: Float64Array) -> Float64Array:
    """(d,) the largest |z − centre|. Rows side by side are longer, and are compared faster."""
    together, width = max(1, isqrt(len(means))), means.shape[1]
    whole = len(means) // together * together
    bundles, rest = means[:whole].reshape(-1, together * width), means[whole:]
    ends = [
        extreme.reduce(np.concatenate([extreme.reduce(bundles).reshape(together, width), rest]))
        for extreme in (np.maximum, np.minimum)
    ]
    return np.asarray(np.abs(ends - centre).max(axis=0))


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
