"""Reading untrusted ``.npz`` and ``.npy`` files: nothing is unpickled, and sizes are checked first."""

import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from distaff.foundation.errors import DistaffError, whole

LARGEST = 16 << 30
"""Default limit on the size of an array that is read into memory as a whole, in bytes."""
ROWS = 4096
"""Number of rows that are read at a time."""
PACKED = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: 1032}
"""The allowed compression methods of archives, and the largest factor by which each can compress."""


def check_packing(place: Path, info: zipfile.ZipInfo) -> None:
    """Raise an error for a zip member with another compression, or an impossible unpacked size."""
    if info.compress_type not in PACKED:
        raise DistaffError(
            f"{info.filename!r} in {place} is neither stored nor deflated: pack the archive again with "
            "deflate."
        )
    if info.file_size > PACKED[info.compress_type] * info.compress_size + 1024:
        raise DistaffError(
            f"{info.filename!r} in {place} claims {info.file_size:,} bytes, more than it holds."
        )


class _Header(NamedTuple):
    """The header of a ``.npy``."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]

    @classmethod
    def read(cls, file: IO[bytes]) -> "_Header":
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            return cls(*np.lib.format.read_array_header_1_0(file))
        return cls(*np.lib.format.read_array_header_2_0(file))

    @property
    def size(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


class Archive:
    """The arrays of an ``.npz`` by name; use ``open_npz``."""

    def __init__(self, path: Path, file: zipfile.ZipFile, largest: int) -> None:
        self.path, self.largest = path, largest
        self._file = file
        self.names = tuple(name.removesuffix(".npy") for name in file.namelist() if name.endswith(".npy"))

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def blocks(self, name: str, rows: int = ROWS) -> Iterator[NDArray[Any]]:
        """The array ``name`` in blocks of ``rows`` rows, decompressed as they are read."""
        with self._member(name) as (file, header):
            if header.fortran and len(header.shape) > 1:
                raise DistaffError(f"{name!r} in {self.path} is in Fortran order: save it in C order.")
            count, *row = header.shape
            for start in range(0, count, rows):
                block = (min(rows, count - start), *row)
                yield _read(file, block, header.dtype, f"{name!r} in {self.path}")

    def array(self, name: str) -> NDArray[Any]:
        """The whole array ``name``."""
        with self._member(name) as (file, header):
            if header.size > self.largest:
                raise DistaffError(
                    f"{name!r} in {self.path} unpacks to {header.size:,} bytes, more than is read at once"
                    f" ({self.largest:,}): save it as a .npy file, which is memory-mapped."
                )
            return _whole_array(file, header, f"{name!r} in {self.path}")

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of the array ``name``, from its header."""
        with self._member(name) as (_, header):
            return header.shape

    def dtype(self, name: str) -> np.dtype[Any]:
        """The type of the array ``name``, from its header."""
        with self._member(name) as (_, header):
            return header.dtype

    @contextmanager
    def _member(self, name: str) -> Iterator[tuple[IO[bytes], "_Header"]]:
        if name not in self.names:
            raise DistaffError(
                f"{self.path} has no array {name!r}: it holds {', '.join(self.names) or 'nothing'}."
            )
        info = self._file.getinfo(f"{name}.npy")
        check_packing(self.path, info)
        with self._file.open(info) as file:
            header = _Header.read(file)
            if header.dtype.hasobject:
                raise DistaffError(f"{name!r} in {self.path} holds pickled objects, which are never loaded.")
            if file.tell() + header.size != info.file_size:
                raise DistaffError(f"{name!r} in {self.path} is not as long as its header says.")
            yield file, header


@contextmanager
def open_npz(path: Path, largest: int = LARGEST) -> Iterator[Archive]:
    """Open an ``.npz``; anything wrong with its bytes raises a one-sentence error.

    Args:
        path: the file.
        largest: maximum size in bytes of an array that is read as a whole.
    """
    with whole(path, ".npz file"), zipfile.ZipFile(path) as file:
        yield Archive(path, file, largest)


def read_npy(path: Path, largest: int = LARGEST) -> NDArray[Any]:
    """Read the whole array of a ``.npy`` file.

    Args:
        path: the file.
        largest: its maximum size in bytes.
    """
    with whole(path, ".npy file of plain numbers"), path.open("rb") as file:
        header = _Header.read(file)
        if header.dtype.hasobject:
            raise DistaffError(f"{path} holds pickled objects, which are never loaded.")
        if file.tell() + header.size != path.stat().st_size:
            raise DistaffError(f"{path} is not as long as its header says.")
        if header.size > largest:
            raise DistaffError(f"{path} holds {header.size:,} bytes, more than the {largest:,} allowed.")
        return _whole_array(file, header, str(path))


def _whole_array(file: IO[bytes], header: _Header, label: str) -> NDArray[Any]:
    if header.fortran:
        return _read(file, header.shape[::-1], header.dtype, label).T
    return _read(file, header.shape, header.dtype, label)


def _read(file: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any], label: str) -> NDArray[Any]:
    size = math.prod(shape) * dtype.itemsize
    if size == 0:
        return np.empty(shape, dtype)
    data = bytearray(size)
    view = memoryview(data)
    done = 0
    while done < size:
        chunk = file.read(min(1 << 24, size - done))
        if not chunk:
            raise DistaffError(f"{label} ends early: the file is damaged, fetch it again.")
        view[done : done + len(chunk)] = chunk
        done += len(chunk)
    return np.frombuffer(data, dtype).reshape(shape)
