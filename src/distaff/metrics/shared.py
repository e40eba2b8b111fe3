"""How metrics work: once for what several share, and in pieces where codes are wide or rows are many."""

import weakref
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from distaff.codes import Codes
from distaff.metrics.inputs import Factors

Result = TypeVar("Result")
BUDGET = 8_000_000
"""Numbers that a piece may take: 64 MB in double precision."""

_memory: weakref.WeakKeyDictionary[Codes | Factors, tuple[Hashable, dict[Hashable, Any]]]
_memory = weakref.WeakKeyDictionary()

_PIECE = 1 << 20
"""Bytes at a time."""


def remember(owner: Codes | Factors, key: Hashable, compute: Callable[[], Result]) -> Result:
    """``compute()``, or what it gave before for the same object with the same contents, and the same key.

    Several metrics read the same densities, which take most of their time. The contents are known by their
    digest, so that arrays changed in place are computed anew; what belonged to the old ones is forgotten.
    """
    if isinstance(owner, Codes):
        contents = digest(owner.means, owner.logvars, *owner.categories.values())
    else:
        contents = digest(owner.values, owner.indices)
    known, kept = _memory.get(owner, (None, {}))
    if known != contents:
        kept = {}
        _memory[owner] = contents, kept
    if key not in kept:
        kept[key] = compute()
    result: Result = kept[key]
    return result


def digest(*arrays: NDArray[Any] | None) -> Hashable:
    """The arrays' types, shapes and order in memory, and Python's 64-bit hash of each megabyte of them.

    It takes half the time of SHA-256, which is most of the time of metrics that count; nobody chooses arrays
    in order to deceive a metric in the same process.
    """
    return tuple(None if array is None else _contents(array) for array in arrays)


def _contents(array: NDArray[Any]) -> Hashable:
    turned = array.flags.f_contiguous and not array.flags.c_contiguous
    flat = np.ascontiguousarray(array.T if turned else array).reshape(-1).view(np.uint8)
    pieces = tuple(hash(flat[at : at + _PIECE].tobytes()) for at in range(0, len(flat), _PIECE))
    return str(array.dtype), array.shape, turned, pieces


def blocks(count: int, cost: int) -> list[NDArray[np.int64]]:
    """``range(count)`` cut into pieces of at most ``BUDGET`` numbers when one item takes ``cost``."""
    return np.array_split(np.arange(count), max(1, -(-count * cost // BUDGET)))


def slices(count: int, cost: int) -> list[slice]:
    """As ``blocks``, for what is cut without a copy: the columns or rows of an array."""
    return [slice(int(b[0]), int(b[-1]) + 1) for b in blocks(count, cost) if len(b)]
