"""Parts of a data set: random splits, and held-out combinations of factors."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from distaff.data.dataset import Condition, Dataset
from distaff.foundation.errors import DistaffError


def split(data: Dataset, test: float = 0.1, seed: int = 0, by: str | None = None) -> tuple[Dataset, Dataset]:
    """Split into two parts without common rows: a training part and a random test part.

    Args:
        data: N observations.
        test: the share of test rows, between 0 and 1.
        seed: random seed for the choice.
        by: a factor whose groups stay together, such as a subject: random groups are chosen until their rows
            make up the share.

    Returns:
        The training part and the test part, each in the order of ``data``.

    >>> from distaff.data import pinwheel
    >>> tuple(len(part) for part in split(pinwheel.load(), test=0.25))
    (300, 100)
    """
    count = round(len(data) * test)
    if not 0 < count < len(data):
        raise DistaffError(f"a test share of {test} leaves nothing on one side of {len(data)} observations.")
    rng = np.random.default_rng(seed)
    if by is None:
        order = rng.permutation(len(data))
        held_out, kept = np.sort(order[:count]), np.sort(order[count:])
    else:
        chosen = _groups(data, by, count, rng)
        held_out, kept = np.flatnonzero(chosen), np.flatnonzero(~chosen)
    return data.subset(kept, f"{data.name}-train"), data.subset(held_out, f"{data.name}-test")


def _groups(data: Dataset, by: str, count: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """(N,) mask of random groups, chosen until they have ``count`` rows, but never all groups."""
    names, numbers, sizes = np.unique(data.column(by), return_inverse=True, return_counts=True)
    if len(names) < 2:
        raise DistaffError(f"all rows of {data.name} are of one group of {by!r}, so none can be held out.")
    order = rng.permutation(len(names))
    before = np.cumsum(sizes[order]) - sizes[order]
    taken = order[before < count][: len(names) - 1]
    return np.isin(numbers, taken)


def some(data: Dataset, count: int | None, seed: int = 0) -> Dataset:
    """Random observations of a data set, the same ones for the same seed.

    Args:
        data: N observations.
        count: number of observations; all of them if None or above N.
        seed: random seed for the choice.

    Returns:
        min(count, N) observations in the order of ``data``.
    """
    return data if count is None or count >= len(data) else data.subset(some_rows(len(data), count, seed))


def some_rows(size: int, count: int, seed: int = 0) -> NDArray[np.int64]:
    """Sorted numbers of random observations, the same ones for the same seed.

    Args:
        size: number of observations.
        count: number of observations to choose, at most ``size``.
        seed: random seed for the choice.

    Returns:
        (count,) numbers from 0 to size − 1.

    >>> some_rows(100, 3).tolist() == some_rows(100, 3).tolist()
    True
    """
    return np.sort(np.random.default_rng(seed).choice(size, min(count, size), replace=False))


def without(data: Dataset, *combinations: Mapping[str, Condition]) -> tuple[Dataset, Dataset]:
    """The rows that meet none of the combinations, and those that meet at least one of them.

    Args:
        data: rows with known factors.
        combinations: each maps factors to a class, several classes, or a function of the column.

    >>> from distaff.data import pinwheel
    >>> kept, removed = without(pinwheel.load(count=80), {"arm": [0, 1]}, {"arm": lambda arm: arm > 2})
    >>> len(kept), len(removed)
    (20, 60)
    """
    if not combinations or not all(combinations):
        raise DistaffError("say which combination of factors to remove, such as {'shape': 2}.")
    removed = np.any([data.where(combination) for combination in combinations], axis=0)
    if removed.all() or not removed.any():
        rows = "every row" if removed.all() else "no row"
        raise DistaffError(f"{rows} of {data.name} has the combination to remove.")
    return data.subset(~removed, f"{data.name}-kept"), data.subset(removed, f"{data.name}-removed")
