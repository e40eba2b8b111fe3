"""Few labels: the observations of a data set with labels to learn from, and these labels."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from distaff.data.dataset import Dataset
from distaff.data.images import IntArray
from distaff.foundation.errors import DistaffError


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels of some observations.

    Args:
        rows: (n,) indices of the observations in the data set.
        values: (n, K) their factors scaled to 0–1; NaN where a label is missing.
        names: the names of the factors.
        size: N, the size of the data set.
        low: (K,) the value that is scaled to 0.
        span: (K,) the distance from there to the value that is scaled to 1; NaN for a constant factor.
    """

    rows: IntArray
    values: NDArray[np.float32]
    names: tuple[str, ...]
    size: int
    low: NDArray[np.float64]
    span: NDArray[np.float64]

    @classmethod
    def of(cls, data: Dataset, count: int | Literal["all"], seed: int = 0) -> "Labels":
        """The labels of ``count`` observations chosen at random among those that have any, or of all.

        Classes 0 … size−1 are scaled to 0 … 1, and numbers from their smallest to their largest value among
        the chosen labels. A constant factor is uninformative and counts as missing.

        >>> from distaff.data import from_array
        >>> data = from_array(np.zeros((4, 2)), [0, 2, np.nan, 1])
        >>> Labels.of(data, "all").values.ravel().tolist()
        [0.0, 1.0, 0.5]
        """
        if data.factors is None:
            raise DistaffError(f"{data.name} has no labels to learn from: leave labels out.")
        known = data.labelled
        rows = np.flatnonzero(known.any(1))
        if count != "all":
            if count > len(rows):
                raise DistaffError(
                    f"{count} labelled observations were requested, but {data.name} has {len(rows)}: "
                    "ask for fewer, or for all."
                )
            rows = np.sort(np.random.default_rng((seed, len(data))).choice(rows, count, replace=False))
        table = data.factors[rows].astype(np.float64)
        classes = np.array(data.sizes) > 0
        low = np.where(classes, 0.0, np.fmin.reduce(table))
        high = np.where(classes, np.array(data.sizes) - 1.0, np.fmax.reduce(table))
        span = np.where(high > low, high - low, np.nan)
        return cls(rows, ((table - low) / span).astype(np.float32), data.names, len(data), low, span)

    def of_others(self, data: Dataset) -> "Labels":
        """All labels of other observations on the same scale; one row of missing labels if there are none."""
        rows = np.flatnonzero(data.labelled.any(1)) if data.names == self.names else np.empty(0, np.int64)
        if data.factors is None or not len(rows):
            nothing = np.full((1, len(self.names)), np.nan, np.float32)
            return replace(self, rows=np.zeros(1, np.int64), values=nothing, size=len(data))
        values = ((data.factors[rows].astype(np.float64) - self.low) / self.span).astype(np.float32)
        return replace(self, rows=rows, values=values, size=len(data))

    def __str__(self) -> str:
        counts = (~np.isnan(self.values)).sum(0)
        each = ", ".join(f"{name} {count}" for name, count in zip(self.names, counts, strict=True))
        return f"labels of {len(self.rows):,} of {self.size:,} observations are learnt from ({each})"
