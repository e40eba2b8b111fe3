"""Reading HDF5 files from anywhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from distaff.data.progress import progress
from distaff.errors import DistaffError


@contextmanager
def open_hdf5(path: Path) -> Iterator[h5py.File]:
    """Open an HDF5 file; whatever is wrong with its bytes comes out as one sentence."""
    try:
        with h5py.File(path, "r") as file:
            yield file
    except FileNotFoundError as problem:
        raise DistaffError(f"there is no file {path}.") from problem
    except DistaffError:
        raise
    except Exception as problem:  # the library fed damaged bytes raises whatever it happens to meet
        raise DistaffError(
            f"{path} is not a whole HDF5 file ({problem}): fetch or save it again."
        ) from problem


def member(file: h5py.File, key: str) -> h5py.Dataset:
    """The array ``key`` of an open file, which must hold plain numbers in the file itself."""
    found: list[str] = []
    file.visit(found.append)
    array = file.get(key)
    if not isinstance(array, h5py.Dataset):
        raise DistaffError(
            f"{file.filename} has no array {key!r}: it holds {', '.join(found[:20]) or 'nothing'}."
        )
    if array.external or array.is_virtual or array.dtype.kind not in "buif":
        raise DistaffError(f"{key!r} in {file.filename} must hold plain numbers in the file itself.")
    return array


def copy_rows(source: h5py.Dataset, target: NDArray[Any], title: str, rows: int = 4096) -> None:
    """Fill ``target`` with the rows of ``source``, a block at a time."""
    for start in progress(range(0, len(target), rows), title):
        target[start : start + rows] = source[start : start + rows]


def mapped(path: Path, array: h5py.Dataset) -> NDArray[Any] | None:
    """The array memory-mapped in place, where it lies in the file in one uncompressed piece."""
    offset = array.id.get_offset()
    if offset is None or array.chunks is not None or array.size == 0:
        return None
    return np.memmap(path, array.dtype, "r", offset, array.shape)
