"""Work cut into pieces, so that wide codes and many rows need little memory beside themselves."""

import numpy as np
from numpy.typing import NDArray

BUDGET = 8_000_000
"""Numbers that a piece may take: 64 MB in double precision."""


def blocks(count: int, cost: int) -> list[NDArray[np.int64]]:
    """``range(count)`` cut into pieces of at most ``BUDGET`` numbers when one item takes ``cost``."""
    return np.array_split(np.arange(count), max(1, -(-count * cost // BUDGET)))


def slices(count: int, cost: int) -> list[slice]:
    """As ``blocks``, for what is cut without a copy: the columns or rows of an array."""
    return [slice(int(b[0]), int(b[-1]) + 1) for b in blocks(count, cost) if len(b)]
