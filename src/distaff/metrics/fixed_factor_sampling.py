"""Draw observations that share a factor: the sampling behind the FactorVAE score, Z-diff and IRS."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from distaff.foundation.errors import DistaffError
from distaff.metrics.inputs import Factors, IntArray


@dataclass(frozen=True, eq=False)
class Groups:
    """The rows sorted by the class of one factor, so that drawing from a class is index arithmetic.

    On a full grid of factors, a random row of a group is a draw of all other factors, each uniform and
    independent, as the papers require; on any other data it is a draw from the data given the factor.

    Args:
        classes: (N,) class of each row; −1 if missing: such rows are in no group.
        size: number of classes.
    """

    classes: IntArray
    size: int

    @cached_property
    def complete(self) -> bool:
        """Whether every row has a class: then no list of the ``known`` rows is needed."""
        return bool(self.classes.min(initial=0) >= 0)

    @cached_property
    def known(self) -> IntArray:
        """(M,) the rows that have a class."""
        return np.flatnonzero(self.classes >= 0)

    @cached_property
    def _known_classes(self) -> IntArray:
        """(M,) the classes of the ``known`` rows."""
        return self.classes if self.complete else self.classes[self.known]

    @cached_property
    def order(self) -> IntArray:
        """(M,) the rows, class by class. Few classes fit small integers, which numpy sorts in linear time."""
        classes = self._known_classes
        small = classes.astype(np.uint16) if self.size <= 1 << 16 else classes
        order = np.argsort(small, kind="stable")
        return order if self.complete else np.asarray(self.known[order])

    @cached_property
    def counts(self) -> IntArray:
        """(size,) number of rows in each class."""
        return np.bincount(self._known_classes, minlength=self.size)

    @cached_property
    def starts(self) -> IntArray:
        """(size,) where each class begins in ``order``."""
        return np.concatenate([[0], np.cumsum(self.counts)[:-1]])

    def anchors(self, count: int, rng: np.random.Generator) -> IntArray:
        """(count,) random rows from classes with at least two rows."""
        if self.complete and self.counts.min() >= 2:
            return rng.integers(len(self.classes), size=count)
        rows: IntArray = self.known[self.counts[self.classes[self.known]] >= 2]
        return rows[rng.integers(len(rows), size=count)]

    def companions(self, rows: IntArray, count: int, rng: np.random.Generator) -> IntArray:
        """(len(rows), count) random rows, with replacement, of the same class as each of ``rows``."""
        classes = self.classes.take(rows)[:, None]
        place = (rng.random((len(rows), count)) * self.counts.take(classes)).astype(np.int64)
        place += self.starts.take(classes)
        return self.order.take(place)


def group_rows(factors: Factors) -> list[Groups]:
    """One ``Groups`` per factor; raises an error that names a factor for which no two rows share a class."""
    columns = map(np.ascontiguousarray, factors.classes.T)
    groups = [Groups(classes, size) for classes, size in zip(columns, factors.sizes, strict=True)]
    for name, group in zip(factors.names, groups, strict=True):
        if group.size == (len(group.classes) if group.complete else len(group.known)):  # no class is empty
            raise DistaffError(
                f"every row has its own value of factor {name!r}, so it can never be held fixed: leave it "
                "out, or bin it as a number: quantize_factors(as_factors(values, real=[name]))."
            )
    return groups


def fixed_factor_rows(groups: list[Groups], fixed: IntArray, size: int, rng: np.random.Generator) -> IntArray:
    """(M, size) rows of M draws; the ``size`` observations of draw m agree in factor ``fixed[m]``."""
    rows = np.empty((len(fixed), size), dtype=np.int64)
    for k, group in enumerate(groups):
        votes = np.flatnonzero(fixed == k)
        rows[votes] = group.companions(group.anchors(len(votes), rng), size, rng)
    return rows


def share_right(right: NDArray[np.bool_], fixed: IntArray, names: Sequence[str]) -> dict[str, float]:
    """The accuracy of guessing the fixed factor, by factor; NaN for a factor that was never fixed."""
    return {
        name: float(right[fixed == k].mean()) if (fixed == k).any() else float("nan")
        for k, name in enumerate(names)
    }
