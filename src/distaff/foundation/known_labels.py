"""Which labels are known: one rule for data sets and metrics."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

MISSING = -1
"""A number that, like NaN, may mark an unknown class."""


def known_labels(column: NDArray[Any]) -> NDArray[np.bool_]:
    """(N,) mask of known labels: NaN is missing, and so is −1 next to at least two classes from 0 on.

    Args:
        column: (N,) numbers.

    >>> known_labels(np.array([0, 1, -1, 2])).tolist()
    [True, True, False, True]
    >>> known_labels(np.array([-1, 1, -1])).tolist()  # two classes, one of which is −1
    [True, True, True]
    """
    known = ~np.isnan(column)
    stands_for_none = column == MISSING
    if not stands_for_none.any():
        return np.asarray(known)
    others = np.unique(column[known & ~stands_for_none])
    classes = len(others) > 1 and others[0] >= 0 and bool((others == np.floor(others)).all())
    return np.asarray(known & ~stands_for_none if classes else known)
