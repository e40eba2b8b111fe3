"""Work that several metrics share: done once for the same codes or factors."""

import hashlib
import weakref
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from distaff.codes import Codes
from distaff.metrics.inputs import Factors

Result = TypeVar("Result")

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
