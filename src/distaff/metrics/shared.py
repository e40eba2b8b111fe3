"""Caching of results that several metrics share, and splitting of work on wide codes or many rows."""

import weakref
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from distaff.codes import Codes
from distaff.metrics.inputs import UNSHARED, Factors

Result = TypeVar("Result")
BUDGET = 8_000_000
"""Maximum size of a piece, in numbers: 64 MB in double precision."""

_memory: weakref.WeakKeyDictionary[Codes | Factors, tuple[Hashable, dict[Hashable, Any]]]
_memory = weakref.WeakKeyDictionary()

_PIECE = 1 << 20
"""Bytes to hash at a time."""


def remember(owner: Codes | Factors, key: Hashable, compute: Callable[[], Result]) -> Result:
    """``compute()``, or its cached result for the same object with the same contents and the same key.

    Several metrics read the same densities, which take most of their time. The contents are identified by
    their digest, so arrays changed in place are recomputed and their old results dropped.
    """
    contents: Hashable = None
    if isinstance(owner, Factors):
        contents = digest(owner.values, owner.indices)
    elif owner not in UNSHARED:
        contents = digest(owner.means, owner.logvars, *owner.categories.values())
    known, kept = _memory.get(owner, (None, {}))
    if known != contents or not kept:
        kept = {}
        _memory[owner] = contents, kept
    if key not in kept:
        kept[key] = compute()
    result: Result = kept[key]
    return result


def digest(*arrays: NDArray[Any] | None) -> Hashable:
    """The types, shapes and memory orders of the arrays, and Python's 64-bit hash of each megabyte of them.

    It takes half the time of SHA-256, which would dominate the time of metrics that only count. It need not
    resist deliberate collisions, since the arrays come from the same process.
    """
    return tuple(None if array is None else _contents(array) for array in arrays)


def _contents(array: NDArray[Any]) -> Hashable:
    turned = array.flags.f_contiguous and not array.flags.c_contiguous
    flat = np.ascontiguousarray(array.T if turned else array).reshape(-1).view(np.uint8)
    pieces = tuple(hash(flat[at : at + _PIECE].tobytes()) for at in range(0, len(flat), _PIECE))
    return str(array.dtype), array.shape, turned, pieces


def blocks(count: int, cost: int) -> list[NDArray[np.int64]]:
    """``range(count)`` cut into pieces of at most ``BUDGET`` numbers, if one item takes ``cost`` numbers."""
    return np.array_split(np.arange(count), max(1, -(-count * cost // BUDGET)))


def slices(count: int, cost: int) -> list[slice]:
    """Like ``blocks``, as slices, which select columns or rows of an array without a copy."""
    return [slice(int(b[0]), int(b[-1]) + 1) for b in blocks(count, cost) if len(b)]
