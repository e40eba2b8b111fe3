"""Data sets with dependent factors, drawn from data sets with independent ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distaff.data.dataset import Dataset
from distaff.foundation.errors import DistaffError


def from_joint(
    data: Dataset, names: Sequence[str], joint: NDArray[Any], count: int | None = None, seed: int = 0
) -> Dataset:
    """Draw ``count`` rows of ``data`` so that the named factors follow ``joint``; the others are unchanged.

    ``joint`` (size₁, …, size_M) holds their probabilities, up to a constant. Rows are drawn with replacement,
    by default as many as ``data`` has.
    """
    classes = tuple(data.column(name).astype(np.int64) for name in names)
    sizes = tuple(data.sizes[data.names.index(name)] for name in names)
    joint = np.asarray(joint, np.float64)
    if joint.shape != sizes or 0 in sizes:
        raise DistaffError(f"a joint of {', '.join(names)} must have the shape {sizes}, not {joint.shape}.")
    if not np.isfinite(joint).all() or joint.min() < 0:
        raise DistaffError("joint probabilities must be finite and not negative.")
    cell = np.ravel_multi_index(classes, sizes)
    rows_in_cell = np.bincount(cell, minlength=joint.size)
    if (joint.ravel()[rows_in_cell == 0] > 0).any():
        raise DistaffError(f"the joint gives weight to a combination of {', '.join(names)} that has no rows.")
    weights = joint.ravel()[cell] / rows_in_cell[cell]
    if weights.sum() == 0:
        raise DistaffError("joint probabilities must not all be zero.")
    edges = np.cumsum(weights / weights.sum())
    draws = np.random.default_rng(seed).random(count or len(data))
    rows = np.minimum(np.searchsorted(edges, draws, side="right"), len(data) - 1)
    return data.subset(rows, f"{data.name}-joint")


def correlated(
    data: Dataset, first: str, second: str, width: float = 0.2, count: int | None = None, seed: int = 0
) -> Dataset:
    """Correlate two factors: p(a, b) ∝ exp(−(a − b)² / 2·width²), with both factors running from 0 to 1.

    The smaller ``width``, the stronger the correlation (Träuble et al. 2021, Eq. 1; their code has widths of
    0.2, 0.4 and 0.7 of the range). Rows are drawn with replacement, by default as many as ``data`` has.

    >>> from distaff.data import from_array
    >>> square = from_array([[i, j] for i in range(5) for j in range(5)], np.indices((5, 5)).reshape(2, -1).T)
    >>> tied = correlated(square, "factor0", "factor1", width=0.1, count=1000)
    >>> bool(np.corrcoef(tied.factors.T)[0, 1] > 0.9)
    True
    """
    for name in (first, second):
        data.column(name)
    sizes = [data.sizes[data.names.index(name)] for name in (first, second)]
    if width <= 0 or min(sizes) < 2 or first == second:
        raise DistaffError(
            "correlated factors need a width above 0 and two different factors with two classes or more."
        )
    a, b = (np.arange(size) / (size - 1) for size in sizes)
    return from_joint(data, (first, second), np.exp(-((a[:, None] - b) ** 2) / (2 * width**2)), count, seed)


def tied(data: Dataset, text: str) -> Dataset:
    """``correlated`` with a text that gives the two factors and the width.

    In ``scale,posX:0.4`` the number is the width, by default 0.2.

    >>> from distaff.data import from_array
    >>> square = from_array([[i, j] for i in range(5) for j in range(5)], np.indices((5, 5)).reshape(2, -1).T)
    >>> tied(square, "factor0,factor1:0.1").name
    'array-joint'
    """
    factors, colon, width = text.partition(":")
    names = [name.strip() for name in factors.split(",")]
    try:
        number = float(width) if colon else 0.2
    except ValueError:
        number = 0.0
    if len(names) != 2 or not number > 0:
        raise DistaffError(
            f"correlate names two factors and a width above 0, such as scale,posX:0.4, not {text!r}."
        )
    return correlated(data, names[0], names[1], number)
