"""Work on wide codes or many rows, cut into pieces that fit in memory."""

import numpy as np
from numpy.typing import NDArray

BUDGET = 8_000_000
"""Maximum size of a piece, in numbers: 64 MB in double precision."""


def blocks(count: int, cost: int) -> list[NDArray[np.int64]]:
    """``range(count)`` cut into pieces of at most ``BUDGET`` numbers, if one item takes ``cost`` numbers."""
    return np.array_split(np.arange(count), max(1, -(-count * cost // BUDGET)))


def slices(count: int, cost: int) -> list[slice]:
    """Like ``blocks``, as slices, which select columns or rows of an array without a copy."""
    return [slice(int(b[0]), int(b[-1]) + 1) for b in blocks(count, cost) if len(b)]
