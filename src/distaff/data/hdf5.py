"""Reading HDF5 files from anywhere."""

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from distaff.data.reading import whole
from distaff.foundation.errors import DistaffError

TIGHTEST = 1100
"""Times that compressed numbers may grow when they are unpacked: deflate reaches 1,032."""


@contextmanager
def open_hdf5(path: Path) -> Iterator[h5py.File]:
    """Open an HDF5 file; whatever is wrong with its bytes comes out as one sentence."""
    with whole(path, "HDF5 file"), h5py.File(path, "r") as file:
        yield file


def member(file: h5py.File, key: str) -> h5py.Dataset:
    """The array ``key`` of an open file, which must hold plain numbers in the file itself."""
    with _little_memory():
        array = file.get(key)
    if not isinstance(array, h5py.Dataset):
        # The names that are there are not listed: in a damaged file that list may have no end.
        raise DistaffError(f"{file.filename} has no array {key!r}: say with --key which array to read.")
    if array.external or array.is_virtual or array.dtype.kind not in "buif":
        raise DistaffError(f"{key!r} in {file.filename} must hold plain numbers in the file itself.")
    if (
        array.shape is None
        or math.prod(array.shape) * array.dtype.itemsize > TIGHTEST * array.id.get_storage_size()
    ):
        raise DistaffError(
            f"{key!r} in {file.filename} claims the shape {array.shape}, more than its bytes can hold."
        )
    return array


@contextmanager
def _little_memory(room: int = 1 << 29) -> Iterator[None]:
    """Let this process grow by ``room`` bytes at most, on Linux.

    The tables of a damaged file can send the library round in circles, and it would take all memory there is
    before it gives up.
    """
    if sys.platform != "linux":
        yield
        return
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limits = [pages * resource.getpagesize() + room, *(limit for limit in (soft, hard) if limit >= 0)]
    resource.setrlimit(resource.RLIMIT_AS, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def mapped(path: Path, array: h5py.Dataset) -> NDArray[Any] | None:
    """The array memory-mapped in place, where it lies in the file in one uncompressed piece."""
    offset = array.id.get_offset()
    if offset is None or array.chunks is not None or array.size == 0:
        return None
    return np.memmap(path, array.dtype, "r", offset, array.shape)
