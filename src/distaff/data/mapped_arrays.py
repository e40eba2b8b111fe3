"""Arrays that stay on disk: a ``.npy``, and HDF5, which is unpacked into the cache if it is compressed."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distaff.data.cache import cached
from distaff.data.reading import copy_blocks, rows_of, short_hash
from distaff.foundation.errors import whole
from distaff.foundation.hdf5 import Hdf5File, mapped, member, open_hdf5, texts


def from_hdf5(
    path: Path, key: str, seconds: float, memory: int
) -> tuple[NDArray[Any], NDArray[Any] | None, list[str] | None]:
    """The observations in an HDF5 file, with their factors and factor names, if any."""
    with open_hdf5(path, seconds, memory) as file:
        return _members(file, key)


def _members(file: Hdf5File, key: str) -> tuple[NDArray[Any], NDArray[Any] | None, list[str] | None]:
    source, path = member(file, key), file.path
    factors = None if file.facts("factors")["kind"] == "nothing" else member(file, "factors")[:]
    named = texts(file, "factor_names")
    images = mapped(file, source)
    if images is None:
        stat = path.stat()
        state = short_hash(f"{path.resolve()} {key} {stat.st_size} {stat.st_mtime_ns}")
        images = cached(
            f"hdf5-{state}",
            source.shape,
            lambda array: copy_blocks(rows_of(source), array, f"reading {path.name}"),
            source.dtype,
        )
    return images, factors, named


def from_npy(path: Path) -> NDArray[Any]:
    """The array of a ``.npy`` file, memory-mapped."""
    with whole(path, ".npy file of plain numbers"):
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return array
