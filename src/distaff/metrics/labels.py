"""Labels for information metrics, hard or soft (p(y_k|x_n)), and entropies of tables."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array, csr_array

from distaff.codes import Codes, FloatArray, as_array, digest
from distaff.foundation.errors import DistaffError
from distaff.metrics.inputs import (
    CodesLike,
    Factors,
    FactorsLike,
    Float64Array,
    IntArray,
    aligned,
    as_codes,
    refuse_constant,
)
from distaff.metrics.missing_labels import all_labelled

COMBINATIONS = 1 << 11
"""Of the classes of a bundle of factors: with some twenty bins, so many counts fit in a core's cache."""


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of N observations: classes (N, K), or class probabilities (N, size) for each factor.

    Args:
        names: one name per factor.
        sizes: the number of classes of each factor.
        classes: (N, K) hard labels; −1 is missing, which only formulas that handle factors one by one accept.
        soft: p(y_k|x_n) for soft labels, one (N, size) array per factor.
        notes: what a reader of a score should know.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    classes: IntArray | None = None
    soft: tuple[Float64Array, ...] = ()
    notes: tuple[str, ...] = ()

    def table(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """(len(rows), Σ sizes) float32: p(y_k = v|x_n), with the factors side by side."""
        if self.classes is None:
            return np.concatenate([p[rows] for p in self.soft], axis=1, dtype=np.float32)
        starts = np.cumsum((0, *self.sizes[:-1]))
        table = np.zeros((len(rows), sum(self.sizes)), dtype=np.float32)
        np.put_along_axis(table, self.classes[rows] + starts, 1, axis=1)
        return table

    def select(self, rows: IntArray) -> "Labels":
        """The labels of some observations; a factor with one value among them is an error."""
        if self.classes is None:
            soft = [_soft(name, p[rows], len(rows)) for name, p in zip(self.names, self.soft, strict=True)]
            return replace(self, soft=tuple(soft))
        numbered = [np.unique(y, return_inverse=True)[1] for y in self.classes[rows].T]
        sizes = [int(y.max()) + 1 for y in numbered]
        refuse_constant(self.names, sizes)
        return replace(self, classes=np.stack(numbered, axis=1), sizes=tuple(sizes))

    def members(self, factor: int, value: int) -> tuple[IntArray, Float64Array]:
        """The observations that may have y_k = value, and p(y_k = value|x_n) for each."""
        if self.classes is None:
            rows = np.flatnonzero(self.soft[factor][:, value] > 0)
            return rows, self.soft[factor][rows, value]
        rows = np.flatnonzero(self.classes[:, factor] == value)
        return rows, np.ones(len(rows))

    def draw(self, factor: int, rows: IntArray, rng: np.random.Generator) -> IntArray:
        """(len(rows),) one value of y_k per row, drawn from p(y_k|x_n)."""
        if self.classes is None:
            return pick(self.soft[factor][rows], rng)
        return np.asarray(self.classes[rows, factor])

    @cached_property
    def by_factor(self) -> list[IntArray]:
        """The (N,) hard classes of each factor as contiguous arrays: counting strided ones is slow."""
        return [] if self.classes is None else [np.ascontiguousarray(y) for y in self.classes.T]

    @cached_property
    def columns(self) -> list[slice]:
        """The columns of each factor in ``table``."""
        ends = np.cumsum(self.sizes).tolist()
        return [slice(end - size, end) for end, size in zip(ends, self.sizes, strict=True)]

    @cached_property
    def contents(self) -> Hashable:
        """A key that identifies these hard labels, see ``distaff.codes.remember``."""
        small = np.min_scalar_type(-max(self.sizes))
        return self.sizes, None if self.classes is None else digest(self.classes.astype(small))

    @cached_property
    def complete(self) -> bool:
        """Whether no label is missing."""
        return self.classes is None or bool(self.classes.min() >= 0)

    @cached_property
    def bundles(self) -> "Bundles":
        """Hard labels, bundled where combinations of classes are few: fewer bundles need fewer passes."""
        parts: list[list[int]] = []
        for k, size in enumerate(self.sizes):
            if parts and prod(self.sizes[j] for j in parts[-1]) * size <= COMBINATIONS:
                parts[-1].append(k)
            else:
                parts.append([k])
        return _bundles(self, parts)

    @cached_property
    def entropies(self) -> Float64Array:
        """(K,) H(y_k) in nats."""
        if self.classes is None:
            return np.array([entropy(p.mean(axis=0)) for p in self.soft])
        if not self.complete:
            counts = [np.bincount(y + 1)[1:] for y in self.by_factor]
            return np.array([entropy(count / count.sum()) for count in counts])
        masses = next(self.bundles.joint([np.zeros(1, np.int32)], 1))[:, 0] / len(self.classes)
        return np.array([entropy(masses[columns]) for columns in self.columns])


@dataclass(frozen=True)
class Bundles:
    """Neighbouring factors in bundles, whose combinations of classes are counted at once.

    Args:
        cells: (bundles, N) the combination of each row, numbered on from one bundle to the next.
        margins: (Σ sizes, combinations) 1 where a combination has the class; sums counts over other factors.
    """

    cells: NDArray[np.int32]
    margins: csc_array

    def joint(self, places: Iterable[NDArray[np.integer[Any]]], bins: int) -> Iterator[NDArray[np.int32]]:
        """(Σ sizes, bins) how many rows of each class are in each bin, from the (N,) bins of each latent.

        A sparse matrix adds up what it has at one place: this takes less than half the time of
        ``numpy.bincount``.
        """
        size = self.margins.shape[1] * bins
        kind = np.int32 if size < 1 << 31 else np.int64
        cells, ones = self.cells * kind(bins), np.ones(self.cells.size, np.int32)
        ends = np.array([0, cells.size], kind)
        for place in places:
            own = (cells + place.astype(kind, copy=False)).reshape(-1)
            counts = csr_array((ones, own, ends), shape=(1, size)).toarray()
            yield self.margins @ counts.reshape(-1, bins)


def _bundles(labels: Labels, parts: Sequence[list[int]]) -> Bundles:
    sizes = [[labels.sizes[k] for k in part] for part in parts]
    widths = list(map(prod, sizes))
    cells = np.zeros((len(parts), len(labels.by_factor[0])), np.int32)
    for b, part in enumerate(parts):
        for k in part:
            cells[b] *= labels.sizes[k]
            cells[b] += labels.by_factor[k].astype(np.int32)
        cells[b] += sum(widths[:b])
    first = np.cumsum([0, *labels.sizes[:-1]])
    classes = [
        np.indices(each).reshape(len(each), -1).T + first[k] for k, each in zip(parts, sizes, strict=True)
    ]
    rows = np.concatenate([each.reshape(-1) for each in classes])
    ends = np.append(0, np.repeat(list(map(len, parts)), widths).cumsum())
    margins = csc_array((np.ones(len(rows), np.int32), rows, ends), shape=(sum(labels.sizes), sum(widths)))
    return Bundles(cells, margins)


def read_labels(
    codes: CodesLike,
    factors: FactorsLike | None,
    probabilities: Mapping[str, ArrayLike] | None,
) -> tuple[Codes, Labels]:
    """Codes with labels: hard ones from ``factors`` or soft ones from ``probabilities``, not both."""
    if (factors is None) == (probabilities is None):
        raise DistaffError("give either factors (hard labels) or probabilities (soft labels p(y|x)).")
    if factors is not None:
        codes, read = all_labelled(*aligned(codes, factors))
        return codes, hard_labels(read)
    if not isinstance(probabilities, Mapping):
        raise DistaffError(
            f"probabilities are p(y|x) by the factors' names, not a {type(probabilities).__name__}: give a "
            "dict of name → (N, classes) arrays."
        )
    codes = as_codes(codes)
    soft = tuple(_soft(name, values, len(codes)) for name, values in probabilities.items())
    if not soft:
        raise DistaffError("probabilities holds no factor: give a dict of name → (N, classes) arrays.")
    return codes, Labels(tuple(probabilities), tuple(p.shape[1] for p in soft), soft=soft)


def hard_labels(factors: Factors) -> Labels:
    """The hard labels of categorical factors."""
    return Labels(factors.names, factors.sizes, factors.classes, notes=factors.notes)


def _soft(name: str, values: ArrayLike, count: int) -> Float64Array:
    array = np.asarray(as_array(values), dtype=np.float64)
    if array.ndim != 2 or len(array) != count or array.shape[1] < 2:
        raise DistaffError(f"p(y|x) of {name!r} has shape {array.shape}, not ({count}, classes).")
    if not np.isfinite(array).all() or array.min() < 0 or np.abs(array.sum(axis=1) - 1).max() > 1e-3:
        raise DistaffError(f"each row of p(y|x) of {name!r} must be probabilities that sum to 1.")
    if entropy(array.mean(axis=0)) < 1e-12:
        raise DistaffError(f"factor {name!r} has only one value and cannot be scored: leave it out.")
    return np.asarray(array / array.sum(axis=1, keepdims=True))


def pick(probabilities: FloatArray, rng: np.random.Generator) -> IntArray:
    """(M,) one class drawn from each row of (M, k) probabilities, never one with probability 0."""
    cumulative = probabilities.cumsum(axis=1, dtype=np.float64)
    level = rng.random(len(probabilities)) * cumulative[:, -1]
    return np.asarray((cumulative <= level[:, None]).sum(axis=1))


def entropy(probabilities: FloatArray, axes: int = 1) -> Float64Array:
    """−Σ p log p over the last ``axes`` axes, in nats, with 0 log 0 = 0."""
    terms = probabilities * np.log(np.where(probabilities > 0, probabilities, 1))
    return np.asarray(-terms.sum(axis=tuple(range(-axes, 0)), dtype=np.float64))


def mutual_information(joint: FloatArray) -> Float64Array:
    """I(a; b) of joint tables (..., A, B); never negative.

    A table in float32 sums to 1 only up to rounding, which would look like information.
    """
    joint = joint / joint.sum(axis=(-2, -1), keepdims=True)
    separate = entropy(joint.sum(axis=-1)) + entropy(joint.sum(axis=-2))
    return np.maximum(separate - entropy(joint, axes=2), 0)


def highest_two(information: Float64Array) -> tuple[Float64Array, Float64Array]:
    """The highest I* and the second highest I° over latents of (..., latents, K): two arrays (..., K).

    With a single latent, I° is 0.
    """
    ordered: Float64Array = np.sort(information, axis=-2)
    best = ordered[..., -1, :]
    second = ordered[..., -2, :] if information.shape[-2] > 1 else np.zeros_like(best)
    return best, second


def one_latent_note(codes: Codes) -> tuple[str, ...]:
    """A note that explains the gap if there is a single latent."""
    return ("there is one latent: the second highest information counts as 0",) * (len(codes.names) == 1)


def gap_details(codes: Codes, labels: Labels, information: Float64Array) -> dict[str, object]:
    """The details of a gap: the matrix I(z_i; y_k) (L, K), and the best latent for each factor."""
    star = information.argmax(axis=0)
    return {
        "mutual_information": information,
        "latents": codes.names,
        "best_latent": {name: codes.names[i] for name, i in zip(labels.names, star, strict=True)},
        "factor_entropies": labels.entropies,
    }
