"""What information metrics ask of labels: p(y_k|x_n) for every observation, hard or soft."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from distaff.codes import Codes, FloatArray, as_array
from distaff.foundation.errors import DistaffError
from distaff.metrics.entropies import entropy
from distaff.metrics.inputs import (
    CodesLike,
    Factors,
    FactorsLike,
    Float64Array,
    IntArray,
    as_codes,
    labelled,
)
from distaff.metrics.shared import remember


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of N observations: classes (N, K), or class probabilities (N, size) of each factor.

    Args:
        names: one name a factor.
        sizes: the number of classes of each factor.
        classes: (N, K) hard labels, if they are hard.
        soft: p(y_k|x_n), one (N, size) array a factor, if they are soft.
        notes: what a reader of a score should know.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    classes: IntArray | None = None
    soft: tuple[Float64Array, ...] = ()
    notes: tuple[str, ...] = ()

    def table(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """(len(rows), Σ sizes) float32: p(y_k = v|x_n), the factors side by side."""
        if self.classes is None:
            return np.concatenate([p[rows] for p in self.soft], axis=1, dtype=np.float32)
        starts = np.cumsum((0, *self.sizes[:-1]))
        table = np.zeros((len(rows), sum(self.sizes)), dtype=np.float32)
        np.put_along_axis(table, self.classes[rows] + starts, 1, axis=1)
        return table

    def members(self, factor: int, value: int) -> tuple[IntArray, Float64Array]:
        """The observations that may have y_k = value, and p(y_k = value|x_n) of each."""
        if self.classes is None:
            rows = np.flatnonzero(self.soft[factor][:, value] > 0)
            return rows, self.soft[factor][rows, value]
        rows = np.flatnonzero(self.classes[:, factor] == value)
        return rows, np.ones(len(rows))

    def draw(self, factor: int, rows: IntArray, rng: np.random.Generator) -> IntArray:
        """(len(rows),) a value of y_k from p(y_k|x_n) for each row."""
        if self.classes is None:
            return pick(self.soft[factor][rows], rng)
        return np.asarray(self.classes[rows, factor])

    @cached_property
    def by_factor(self) -> list[IntArray]:
        """Each factor's (N,) hard classes, in memory of its own: counting strided ones is slow."""
        return [] if self.classes is None else [np.ascontiguousarray(y) for y in self.classes.T]

    @cached_property
    def columns(self) -> list[slice]:
        """Where each factor stands in ``table``."""
        ends = np.cumsum(self.sizes).tolist()
        return [slice(end - size, end) for end, size in zip(ends, self.sizes, strict=True)]

    @cached_property
    def entropies(self) -> Float64Array:
        """(K,) H(y_k) in nats."""
        if self.classes is None:
            return np.array([entropy(p.mean(axis=0)) for p in self.soft])
        counts = [np.bincount(y, minlength=size) for y, size in zip(self.by_factor, self.sizes, strict=True)]
        return np.array([entropy(count / len(self.classes)) for count in counts])


def read_labels(
    codes: CodesLike,
    factors: FactorsLike | None,
    probabilities: Mapping[str, ArrayLike] | None,
) -> tuple[Codes, Labels]:
    """Codes with hard labels from ``factors`` or soft ones from ``probabilities``: one of the two."""
    if (factors is None) == (probabilities is None):
        raise DistaffError("give either factors (hard labels) or probabilities (soft labels p(y|x)).")
    if factors is not None:
        codes, read = labelled(codes, factors)
        return codes, hard_labels(read)
    codes = as_codes(codes)
    soft = tuple(_soft(name, values, len(codes)) for name, values in (probabilities or {}).items())
    if not soft:
        raise DistaffError("probabilities holds no factor: give a dict of name → (N, classes) arrays.")
    return codes, Labels(tuple(probabilities or {}), tuple(p.shape[1] for p in soft), soft=soft)


def hard_labels(factors: Factors) -> Labels:
    """The same ``Labels`` for the same ``Factors``, so that a table of metrics counts their classes once."""
    return remember(
        factors, "labels", lambda: Labels(factors.names, factors.sizes, factors.classes, notes=factors.notes)
    )


def _soft(name: str, values: ArrayLike, count: int) -> Float64Array:
    array = np.asarray(as_array(values), dtype=np.float64)
    if array.ndim != 2 or len(array) != count or array.shape[1] < 2:
        raise DistaffError(f"p(y|x) of {name!r} has shape {array.shape}, not ({count}, classes).")
    if not np.isfinite(array).all() or array.min() < 0 or np.abs(array.sum(axis=1) - 1).max() > 1e-3:
        raise DistaffError(f"each row of p(y|x) of {name!r} must be probabilities that sum to 1.")
    if entropy(array.mean(axis=0)) < 1e-12:
        raise DistaffError(f"factor {name!r} has one value only: leave it out, it cannot be scored.")
    return np.asarray(array / array.sum(axis=1, keepdims=True))


def pick(probabilities: FloatArray, rng: np.random.Generator) -> IntArray:
    """(M,) one class from each row of (M, k) probabilities, never one of probability 0."""
    cumulative = probabilities.cumsum(axis=1, dtype=np.float64)
    level = rng.random(len(probabilities)) * cumulative[:, -1]
    return np.asarray((cumulative <= level[:, None]).sum(axis=1))
