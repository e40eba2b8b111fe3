"""How metrics work: once for what several share, and in pieces where codes are wide or rows are many."""

import hashlib
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

_memory: weakref.WeakKeyDictionary[Codes | Factors, tuple[bytes, dict[Hashable, Any]]]
_memory = weakref.WeakKeyDictionary()


def remember(owner: Codes | Factors, key: Hashable, compute: Callable[[], Result]) -> Result:
    """``compute()``, or what it gave before for the same object with the same contents, and the same key.

    Several metrics read the same densities, which take most of their time. The contents are known by their
    digest, so that arrays changed in place are computed anew; what belonged to the old ones is forgotten.
    """
    if isinstance(owner, Codes):
        contents = digest(owner.means, owner.logvars, *owner.categories.values())
    else:
        contents = digest(owner.values, owner.indices)
    known, kept = _memory.get(owner, (b"", {}))
    if known != contents:
        kept = {}
        _memory[owner] = contents, kept
    if key not in kept:
        kept[key] = compute()
    result: Result = kept[key]
    return result


def digest(*arrays: NDArray[Any] | None) -> bytes:
    """SHA-256 of the arrays' types, shapes and bytes."""
    whole = hashlib.sha256()
    for array in arrays:
        if array is not None:
            whole.update(f"{array.dtype}{array.shape}".encode())
            whole.update(np.ascontiguousarray(array).data)
        whole.update(b"|")
    return whole.digest()


def blocks(count: int, cost: int) -> list[NDArray[np.int64]]:
    """``range(count)`` cut into pieces of at most ``BUDGET`` numbers when one item takes ``cost``."""
    return np.array_split(np.arange(count), max(1, -(-count * cost // BUDGET)))


def slices(count: int, cost: int) -> list[slice]:
    """As ``blocks``, for what is cut without a copy: the columns or rows of an array."""
    return [slice(int(b[0]), int(b[-1]) + 1) for b in blocks(count, cost) if len(b)]
