"""Which labels are known, by one rule for data sets and metrics."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

MISSING = -1
"""What may stand for a class that is not known, beside NaN."""


def known_labels(column: NDArray[Any]) -> NDArray[np.bool_]:
    """(N,) where a label is: NaN is missing, and so is −1 beside classes of 0 and more, two at least.

    Args:
        column: (N,) numbers.

    >>> known_labels(np.array([0, 1, -1, 2])).tolist()
    [True, True, False, True]
    >>> known_labels(np.array([-1, 1, -1])).tolist()  # two classes of which one is called −1
    [True, True, True]
    """
    known = ~np.isnan(column)
    stands_for_none = column == MISSING
    if not stands_for_none.any():
        return np.asarray(known)
    others = np.unique(column[known & ~stands_for_none])
    classes = len(others) > 1 and others[0] >= 0 and bool((others == np.floor(others)).all())
    return np.asarray(known & ~stands_for_none if classes else known)
