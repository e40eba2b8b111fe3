"""Binned means: tables of latents and factors, and the information of each latent's mean on each factor."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distaff.codes import Codes, FloatArray, remember
from distaff.foundation.errors import DistaffError
from distaff.metrics import pieces
from distaff.metrics.inputs import Float64Array, IntArray
from distaff.metrics.labels import Labels, entropy, mutual_information

_FEW = 2000
"""Fewer values than this are searched for one by one."""
_LINE, _CACHED = 16, 1 << 18
"""Latents that are copied together, and the maximum size of the copy, which fits in a core's cache."""
HIDDEN = 0.05
"""If more than this share of a latent's variance lies within bins, the score gets a note."""


@dataclass(frozen=True)
class Bins:
    """``count`` equal bins over [low, high]."""

    count: int
    low: float
    high: float

    def __post_init__(self) -> None:
        if self.count < 2 or not self.low < self.high:
            raise DistaffError(f"{self.count} bins over [{self.low}, {self.high}]: need 2 and a real range.")

    @cached_property
    def edges(self) -> Float64Array:
        """(count + 1,) edges of the bins."""
        return np.linspace(self.low, self.high, self.count + 1)

    def index(self, values: FloatArray) -> IntArray:
        """The half-open bin of each value; values outside the range go to the nearest bin."""
        return bin_numbers(values, self.edges)


def bin_numbers(values: FloatArray, edges: FloatArray) -> IntArray:
    """The bin b of each value, with edges[b] ≤ value < edges[b + 1]; outside values go to the nearest bin.

    The comparisons are exact, like those of ``numpy.digitize``: rounding never moves a value on or next to an
    edge to another bin.
    """
    # Round edges up to the precision of the values: this gives the same comparisons as the exact edges.
    inner = edges[1:-1].astype(values.dtype)
    inner = np.where(inner < edges[1:-1], np.nextafter(inner, np.inf, dtype=values.dtype), inner)
    if len(inner) > np.iinfo(np.int8).max or values.size < _FEW:
        return np.searchsorted(inner, values, side="right")
    bins = np.zeros(values.shape, np.int8)
    for edge in inner:  # with few edges and many values, a pass per edge is faster than a search per value
        bins += (values >= edge).view(np.int8)
    return bins.astype(np.int64)


@dataclass(frozen=True)
class Tables:
    """Averages over observations.

    Args:
        masses: (L, S) Q(z_i = s), for L latents and S bins.
        conditional: (L,) H(z_i|x) in nats; NaN in tables with labels, where it is not needed.
        joint: (L, S, Σ sizes) Q(z_i = s, y_k = v), with the factors side by side; no columns without labels.
        outside: (L,) mass of q(z_i) outside the range, before renormalising.
        log_bins: (L,) log of the number of bins, or of classes for a categorical latent.
    """

    masses: Float64Array
    conditional: Float64Array
    joint: Float64Array
    outside: Float64Array
    log_bins: Float64Array

    def information(self, labels: Labels) -> Float64Array:
        """(L, K): I(z_i; y_k) in nats."""
        parts = [mutual_information(self.joint[..., columns]) for columns in labels.columns]
        return np.stack(parts, axis=-1)

    def note(self, codes: Codes, bins: Bins) -> tuple[str, ...]:
        """Notes on the part of q(z) that the bins miss: outside their range, or finer than one bin."""
        beyond = {name: o for name, o in zip(codes.names, self.outside, strict=True) if o > 0.01}
        listed = ", ".join(f"{name} {share:.1%}" for name, share in beyond.items())
        missed = (f"mass outside [{bins.low:g}, {bins.high:g}], renormalised: {listed}",) if beyond else ()
        width = (bins.high - bins.low) / bins.count
        hidden = hidden_shares(codes, bins.index(codes.means), bins.low, bins.high, width)
        return missed + hidden_note(codes.names, hidden, bins.low, bins.high)


@dataclass(frozen=True)
class Known:
    """Information that the means of single latents have about factors.

    Args:
        information: (L, K) I(z_i; y_k) in nats.
        entropies: (L,) H(z_i) of the binned means, in nats.
    """

    information: Float64Array
    entropies: Float64Array


def mean_information(codes: Codes, bins: int, labels: Labels) -> Known:
    """Information of the means in ``bins`` equal bins per latent; cached for all metrics of the same codes.

    The bins span the range of each latent. The edges are those of ``numpy.histogram``, in the precision of
    the means, as in Locatello et al. 2019. For a categorical latent, the most likely class is its bin. A
    constant latent lies in one bin and has no information. Latents are counted in batches, since the tables
    of wide codes would not fit in memory all at once. If some labels of a factor are missing, only the rows
    with a label are counted, in bins over the range of those rows.
    """
    key = ("means", bins, labels.contents)
    return remember(codes, key, lambda: _mean_information(codes, bins, labels))


def _mean_information(codes: Codes, bins: int, labels: Labels) -> Known:
    if labels.classes is not None and not labels.complete:
        return _information_of_known(codes, bins, labels, labels.classes)
    sizes = [bins] * codes.means.shape[1] + [p.shape[1] for p in codes.categories.values()]
    places = chain(own_bins_of_all(codes.means, bins), (p.argmax(axis=1) for p in codes.categories.values()))
    information, entropies = [], []
    count, cost = len(sizes), max(sizes) * sum(labels.sizes)
    for some in pieces.slices(count, cost) if count * cost > pieces.BUDGET else [slice(0, count)]:
        tables = index_tables(places, sizes[some], len(codes), labels)
        information.append(tables.information(labels))
        entropies.append(entropy(tables.masses))
    return Known(np.concatenate(information), np.concatenate(entropies))


def _information_of_known(codes: Codes, bins: int, labels: Labels, classes: IntArray) -> Known:
    """Like ``mean_information``, with each factor on the rows that have its label; H(z_i) uses all rows."""
    information = np.empty((len(codes.names), len(labels.names)))
    for k, (name, size) in enumerate(zip(labels.names, labels.sizes, strict=True)):
        there = classes[:, k] >= 0
        own = Labels((name,), (size,), classes[there, k : k + 1])
        information[:, k] = _mean_information(codes[there], bins, own).information[:, 0]
    whole = Labels(("row",), (1,), np.zeros((len(codes), 1), np.int64))
    return Known(information, _mean_information(codes, bins, whole).entropies)


def index_tables(
    places: Iterable[NDArray[np.integer[Any]]],
    sizes: Sequence[int],
    count: int,
    labels: Labels | None,
    outside: Float64Array | None = None,
) -> Tables:
    """``Tables`` of deterministic latents and hard labels, one latent at a time.

    Threads do not help: steps as short as these wait for the interpreter longer than they take.

    Args:
        places: the (count,) bin numbers of each latent; an iterator may go on to further latents.
        sizes: how many bins each of the latents has.
        count: the number of rows.
        labels: the hard labels, if there are any.
        outside: (L,) mass outside the range.
    """
    bins = max(sizes)
    places = islice(places, len(sizes))
    if labels is None or labels.classes is None:
        joint = np.empty((len(sizes), bins, 0))
        masses = np.stack([np.bincount(z, minlength=bins) for z in places]) / count
    else:
        joint = np.stack([table.T for table in labels.bundles.joint(places, bins)]) / count
        masses = joint[..., labels.columns[0]].sum(axis=-1)
    return Tables(
        masses=masses,
        conditional=np.zeros(len(sizes)),
        joint=joint,
        outside=np.zeros(len(sizes)) if outside is None else outside,
        log_bins=np.log(sizes),
    )


def own_bins_of_all(means: FloatArray, bins: int) -> Iterator[NDArray[np.int32]]:
    """The (N,) bins of each latent. Neighbours share cache lines: a few are copied together."""
    width = max(1, min(_LINE, _CACHED // max(1, len(means))))
    for start in range(0, means.shape[1], width):
        for column in np.ascontiguousarray(means[:, start : start + width].T):
            yield own_bins(column, bins)


def own_bins(means: FloatArray, bins: int) -> NDArray[np.int32]:
    """(N,) the bin of each mean, for ``bins`` equal bins between the lowest and the highest mean."""
    low, high = means.min(), means.max()
    if not low < high:
        return np.zeros(len(means), np.int32)
    return _equal_bins(means, np.linspace(low, high, bins + 1, dtype=means.dtype))


def _equal_bins(values: FloatArray, edges: FloatArray) -> NDArray[np.int32]:
    """``bin_numbers`` for bins of equal width, with no value outside the range.

    A multiplication finds the bin of nearly every value. Only values so close to an edge that rounding could
    put them on the wrong side are compared with the edges.
    """
    bins, low, high = len(edges) - 1, float(edges[0]), float(edges[-1])
    scale = bins / (high - low)
    doubt = 8 * float(np.finfo(values.dtype).eps) * (bins + max(abs(low), abs(high)) * scale)
    if not doubt < 0.01 or high - low > np.finfo(values.dtype).max or scale > np.finfo(values.dtype).max:
        return bin_numbers(values, edges).astype(np.int32)
    place = values - edges[0]
    place *= values.dtype.type(scale)
    numbers: NDArray[np.int32] = place.astype(np.int32)
    place -= np.rint(place)
    near = np.flatnonzero(np.abs(place, out=place) < doubt)
    if 8 * len(near) > len(values):
        return bin_numbers(values, edges).astype(np.int32)
    numbers[near] = bin_numbers(values[near], edges)
    return numbers


def hidden_shares(codes: Codes, places: IntArray, low: float, high: float, width: float) -> Float64Array:
    """(D,) the approximate share of each Gaussian latent's variance under q(z) that lies within bins.

    The variance within bins is E Var(μ | bin), for means clipped to the range; noise adds to it up to
    width²/12, the variance within a uniformly filled bin. The share of a constant latent is 1.

    Args:
        codes: the posteriors.
        places: (N, D) the bin of each mean.
        low: lower end of the range.
        high: upper end of the range.
        width: width of a bin.
    """
    shares = np.empty(codes.means.shape[1])
    for i, (mu, place) in enumerate(zip(codes.means.T, places.T, strict=True)):
        mu = mu.clip(low, high).astype(np.float64)
        centres = np.bincount(place, weights=mu) / np.maximum(np.bincount(place), 1)
        noise = np.zeros(1) if codes.logvars is None else np.exp(codes.logvars[:, i].astype(np.float64))
        within = np.square(mu - centres[place]).mean()
        within = max(within, min(within + np.minimum(noise, width**2 / 12).mean(), width**2 / 12))
        total = mu.var() * (mu.max() > mu.min()) + noise.mean()
        shares[i] = min(within / total, 1.0) if total > 0 else 1.0
    return shares


def hidden_note(names: tuple[str, ...], shares: Float64Array, low: float, high: float) -> tuple[str, ...]:
    """A note on the latents that the grid resolves too coarsely."""
    unseen = {name: share for name, share in zip(names, shares, strict=False) if share > HIDDEN}
    if not unseen:
        return ()
    listed = ", ".join(f"{name} {share:.0%}" for name, share in unseen.items())
    return (
        f"the bins over [{low:g}, {high:g}] miss what is finer than one of them ({listed} of the "
        "variance): rescale the latents, or narrow low and high",
    )
