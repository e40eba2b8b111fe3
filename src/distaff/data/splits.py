"""Parts of a data set: random splits, and combinations of factors held out."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from distaff.data.dataset import Condition, Dataset
from distaff.foundation.errors import DistaffError


def split(data: Dataset, test: float = 0.1, seed: int = 0) -> tuple[Dataset, Dataset]:
    """Two parts without common rows: one to train on and a random share ``test`` to test on."""
    count = round(len(data) * test)
    if not 0 < count < len(data):
        raise DistaffError(f"a test share of {test} leaves nothing on one side of {len(data)} observations.")
    order = np.random.default_rng(seed).permutation(len(data))
    held_out, kept = np.sort(order[:count]), np.sort(order[count:])
    return data.subset(kept, f"{data.name}-train"), data.subset(held_out, f"{data.name}-test")


def some(data: Dataset, count: int | None, seed: int = 0) -> Dataset:
    """``count`` random observations of a data set, always the same ones; all of them if that is None."""
    return data if count is None or count >= len(data) else data.subset(some_rows(len(data), count, seed))


def some_rows(size: int, count: int, seed: int = 0) -> NDArray[np.int64]:
    """The numbers of ``count`` random observations out of ``size``, always the same ones, in order."""
    return np.sort(np.random.default_rng(seed).choice(size, min(count, size), replace=False))


def without(data: Dataset, *combinations: Mapping[str, Condition]) -> tuple[Dataset, Dataset]:
    """The rows that meet none of the combinations, and those that meet at least one of them.

    >>> from distaff.data import line
    >>> kept, removed = without(line.load(count=10), {"point": [1, 2]}, {"point": lambda p: p > 7})
    >>> len(kept), len(removed)
    (6, 4)
    """
    if not combinations or not all(combinations):
        raise DistaffError("say which combination of factors to remove, such as {'shape': 2}.")
    removed = np.any([data.where(combination) for combination in combinations], axis=0)
    if removed.all() or not removed.any():
        rows = "every row" if removed.all() else "no row"
        raise DistaffError(f"{rows} of {data.name} has the combination to remove.")
    return data.subset(~removed, f"{data.name}-kept"), data.subset(removed, f"{data.name}-removed")
