"""Latents in bins: closed-form masses of q(z|x), histograms of means, and their tables with factors.

Do & Tran 2020, A.10 and A.14: Q(s|x) is the Gaussian's mass in bin s of [low, high], renormalised over the
range. Categorical latents take part with their classes as bins, which is exact.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from distaff.codes import Codes, FloatArray
from distaff.foundation.errors import DistaffError
from distaff.foundation.parallel import side_by_side
from distaff.metrics.blocks import BUDGET
from distaff.metrics.inputs import Float64Array, IntArray
from distaff.metrics.labels import Labels, mutual_information
from distaff.metrics.resolution import hidden_note, hidden_shares
from distaff.metrics.shared import remember

ROWS = 1024
"""Rows at a time: their masses fit in a core's cache; fewer of wide codes."""

SLAB = 1 << 16
"""Rows that one core sums up."""

CELLS = 1 << 15
"""Counts that fit in a core's cache."""

MASSES_OF_BINS = (4096, "integrates every posterior over every bin")
"""The most latents of metrics that do, see ``distaff.metrics.card.Card``."""

OUTSIDE = 1e-4
"""A posterior with less mass inside the range goes to its nearest bin, which renormalising tends to."""


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
        """(count + 1,) where the bins begin and end."""
        return np.linspace(self.low, self.high, self.count + 1)

    def index(self, values: FloatArray) -> IntArray:
        """The half-open bin of each value; values outside go to the nearest."""
        return bin_numbers(values, self.edges)


def bin_numbers(values: FloatArray, edges: FloatArray) -> IntArray:
    """The bin b of each value with edges[b] ≤ value < edges[b + 1]; values outside go to the nearest.

    The comparisons are exact, as those of ``numpy.digitize``: no value that lies on an edge or beside it is
    moved by rounding.
    """
    # The least number of the values' precision that is not below an edge: comparing with it is the same.
    inner = edges[1:-1].astype(values.dtype)
    inner = np.where(inner < edges[1:-1], np.nextafter(inner, np.inf, dtype=values.dtype), inner)
    if len(inner) > np.iinfo(np.int8).max:
        return np.searchsorted(inner, values, side="right")
    bins = np.zeros(values.shape, np.int8)
    for edge in inner:  # for few edges a pass each is many times as quick as a search for each value
        bins += (values >= edge).view(np.int8)
    return bins.astype(np.int64)


@dataclass(frozen=True)
class Tables:
    """Averages over observations.

    Args:
        masses: (L, S) Q(z_i = s), for L latents and S bins.
        conditional: (L,) H(z_i|x) in nats; NaN in tables with labels, where nobody asks for it.
        joint: (L, S, Σ sizes) Q(z_i = s, y_k = v), the factors side by side; no columns without labels.
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
        """What the bins miss of q(z): beyond their range, or finer than one of them."""
        beyond = {name: o for name, o in zip(codes.names, self.outside, strict=True) if o > 0.01}
        listed = ", ".join(f"{name} {share:.1%}" for name, share in beyond.items())
        missed = (f"mass outside [{bins.low:g}, {bins.high:g}], renormalised: {listed}",) if beyond else ()
        width = (bins.high - bins.low) / bins.count
        hidden = hidden_shares(codes, bins.index(codes.means), bins.low, bins.high, width)
        return missed + hidden_note(codes.names, hidden, bins.low, bins.high)


def posterior_tables(codes: Codes, bins: Bins, labels: Labels | None = None) -> Tables:
    """``Tables`` of q(z|x); without log-variances the codes are deterministic."""
    hard = labels is None or labels.classes is not None
    if codes.logvars is None and not codes.categories and hard:
        outside = ((codes.means < bins.low) | (codes.means >= bins.high)).mean(axis=0)
        sizes = [bins.count] * codes.means.shape[1]
        indices = (bins.index(z) for z in codes.means.T)
        return index_tables(indices, len(codes), sizes, labels, outside)
    if not hard:
        return _posterior_tables(codes, bins, labels)
    key = ("tables", bins, None if labels is None else labels.contents)
    return remember(codes, key, lambda: _posterior_tables(codes, bins, labels))


def index_tables(
    indices: Iterable[IntArray],
    count: int,
    sizes: Sequence[int],
    labels: Labels | None,
    outside: Float64Array | None = None,
) -> Tables:
    """``Tables`` of deterministic latents, each (N,) bin numbers below its size, counted with hard labels.

    The latents are taken one at a time, so that an iterator that makes them needs memory for one: fresh pages
    cost more than the counting.
    """
    latents, bins = len(sizes), max(sizes)
    hard = labels if labels is not None and labels.classes is not None else None
    masses = np.empty((latents, bins))
    joint = np.empty((latents, bins, 0 if hard is None else sum(hard.sizes)))
    place = np.empty(count, np.int64)
    bundles = [] if hard is None else _bundles(hard.by_factor, hard.sizes, CELLS // bins)
    bundles = [(factors, y * bins) for factors, y in bundles]
    for i, z in enumerate(indices):
        if hard is None:
            masses[i] = np.bincount(z, minlength=bins) / count
            continue
        for factors, y in bundles:
            shape = tuple(hard.sizes[k] for k in factors)
            size = int(np.prod(shape))
            cells = np.bincount(np.add(y, z, out=place), minlength=bins * size).reshape(*shape, bins)
            for k in factors:
                joint[i, :, hard.columns[k]] = cells.sum(axis=tuple(range(1, cells.ndim - 1))).T / count
                cells = cells.sum(axis=0)
        masses[i] = joint[i, :, hard.columns[0]].sum(axis=-1)
    return Tables(
        masses=masses,
        conditional=np.zeros(latents),
        joint=joint,
        outside=np.zeros(latents) if outside is None else outside,
        log_bins=np.log(sizes),
    )


def own_bins(means: FloatArray, bins: int) -> IntArray:
    """(N,) the bin of each mean, of ``bins`` between the lowest and the highest."""
    low, high = means.min(), means.max()
    if not low < high:
        return np.zeros(len(means), np.int64)
    return _equal_bins(means, np.linspace(low, high, bins + 1, dtype=means.dtype))


def _equal_bins(values: FloatArray, edges: FloatArray) -> IntArray:
    """``bin_numbers`` of bins of equal width, with no value outside.

    A multiplication tells the bin of nearly every value. Only those so near to an edge that rounding may
    have moved them, or it, are compared with the edges.
    """
    bins, low, high = len(edges) - 1, float(edges[0]), float(edges[-1])
    scale = bins / (high - low)
    doubt = 8 * float(np.finfo(values.dtype).eps) * (bins + max(abs(low), abs(high)) * scale)
    if not doubt < 0.01 or high - low > np.finfo(values.dtype).max or scale > np.finfo(values.dtype).max:
        return bin_numbers(values, edges)
    place = values - edges[0]
    place *= values.dtype.type(scale)
    whole = np.floor(place)
    place -= whole
    place -= values.dtype.type(0.5)
    near = np.flatnonzero(np.abs(place, out=place) > 0.5 - doubt)
    if 8 * len(near) > len(values):
        return bin_numbers(values, edges)
    numbers: IntArray = whole.astype(np.int64)
    numbers[near] = bin_numbers(values[near], edges)
    return numbers


def _bundles(
    classes: Sequence[IntArray], sizes: Sequence[int], limit: int
) -> list[tuple[list[int], IntArray]]:
    """Factors whose joint classes number at most ``limit``, with those (N,) classes: fewer passes."""
    bundles: list[tuple[list[int], IntArray]] = []
    product = 0
    for k, (column, size) in enumerate(zip(classes, sizes, strict=True)):
        if bundles and product * size <= limit:
            factors, together = bundles[-1]
            bundles[-1] = ([*factors, k], together * size + column)
            product *= size
        else:
            bundles.append(([k], column))
            product = size
    return bundles


def _posterior_tables(codes: Codes, bins: Bins, labels: Labels | None) -> Tables:
    sizes = [bins.count] * codes.means.shape[1] + [p.shape[1] for p in codes.categories.values()]
    slabs = np.array_split(np.arange(len(codes)), 1 + len(codes) // SLAB)
    sums = list(side_by_side(lambda slab: _slab_sums(codes, slab, bins, max(sizes), labels), slabs))
    masses, conditional, joint, outside = (sum(parts) / len(codes) for parts in zip(*sums, strict=True))
    return Tables(masses, conditional, joint, outside, np.log(sizes))


def _slab_sums(
    codes: Codes, rows: IntArray, bins: Bins, width: int, labels: Labels | None
) -> tuple[Float64Array, Float64Array, Float64Array, Float64Array]:
    """Sums over ``rows`` of what ``Tables`` averages: masses, conditional, joint and outside."""
    latents, columns = len(codes.names), 0 if labels is None else sum(labels.sizes)
    masses, joint = np.zeros((latents, width)), np.zeros((latents, width, columns))
    conditional = np.full(latents, 0.0 if labels is None else np.nan)
    outside = np.zeros(latents)
    step = min(ROWS, max(1, BUDGET // (latents * width)))
    for start in range(0, len(rows), step):
        some = rows[start : start + step]
        mass, beyond = _row_masses(codes, some, bins, width)
        outside[: len(beyond)] += beyond
        if labels is not None:
            table = torch.from_numpy(labels.table(some))
            joint += (mass.flatten(1).T @ table).numpy().reshape(joint.shape)
        else:
            masses += mass.sum(0).numpy()
            conditional -= torch.log(mass.clamp(min=1e-30)).mul_(mass).sum(dim=(0, 2)).numpy()
    if labels is not None:
        masses = joint[..., labels.columns[0]].sum(axis=-1)
    return masses, conditional, joint, outside


def _row_masses(codes: Codes, rows: IntArray, bins: Bins, width: int) -> tuple[Tensor, Float64Array]:
    """(n, L, width) float32: Q(z_i = s|x_n); and (D,) the mass that lay outside, summed over rows."""
    means = codes.means[rows]
    mu = torch.from_numpy(np.ascontiguousarray(means, dtype=np.float32))
    count, dims = mu.shape
    logvar = torch.full_like(mu, -torch.inf)
    if codes.logvars is not None:
        logvar = torch.from_numpy(np.ascontiguousarray(codes.logvars[rows], dtype=np.float32))
    inverse = torch.exp(-0.5 * logvar).div_(2**0.5).clamp_(max=1e30)  # as steep as float32 allows
    distance = torch.from_numpy(bins.edges).float() - mu[:, :, None]
    levels = distance.mul_(inverse[:, :, None]).erf_()
    inside = (levels[:, :, -1] - levels[:, :, 0]) / 2
    mass = torch.zeros(count, dims + len(codes.categories), width)
    gaussian = mass[:, :dims, : bins.count]
    torch.sub(levels[:, :, 1:], levels[:, :, :-1], out=gaussian)
    gaussian.div_(2 * inside.clamp(min=OUTSIDE)[:, :, None])
    sharp = torch.isneginf(logvar)
    placed = sharp | (inside < OUTSIDE)
    if placed.any():
        place = torch.from_numpy(bins.index(means[placed.numpy()]))
        gaussian[placed] = torch.nn.functional.one_hot(place, bins.count).float()
        within = torch.from_numpy((bins.low <= means) & (means < bins.high)).float()
        inside = torch.where(sharp, within, inside)
    for g, probabilities in enumerate(codes.categories.values()):
        mass[:, dims + g, : probabilities.shape[1]] = torch.from_numpy(
            np.asarray(probabilities[rows], dtype=np.float32)
        )
    return mass, (1 - inside).sum(0, dtype=torch.float64).numpy()
