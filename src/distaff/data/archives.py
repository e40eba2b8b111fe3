"""Reading ``.npz`` files from anywhere: nothing is unpickled, and sizes are checked before memory is used."""

import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from distaff.data.reading import ROWS, whole
from distaff.foundation.errors import DistaffError

LARGEST = 16 << 30
"""Bytes that one array read whole into memory may take."""


class _Header(NamedTuple):
    """What stands before the numbers of a ``.npy``."""

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

    def __init__(self, path: Path, file: zipfile.ZipFile) -> None:
        self.path = path
        self._file = file
        self.names = tuple(name.removesuffix(".npy") for name in file.namelist() if name.endswith(".npy"))

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def blocks(self, name: str, rows: int = ROWS) -> Iterator[NDArray[Any]]:
        """The array ``name`` in blocks of ``rows`` rows, decompressed as they are asked for."""
        with self._member(name) as (file, header):
            if header.fortran and len(header.shape) > 1:
                raise DistaffError(f"{name!r} in {self.path} is in Fortran order: save it in C order.")
            count, *row = header.shape
            for start in range(0, count, rows):
                block = (min(rows, count - start), *row)
                yield self._read(name, file, block, header.dtype)

    def array(self, name: str) -> NDArray[Any]:
        """The array ``name`` whole."""
        with self._member(name) as (file, header):
            if header.size > LARGEST:
                raise DistaffError(
                    f"{name!r} in {self.path} unpacks to {header.size:,} bytes, more than is read at once:"
                    " save it as a .npy file, which is memory-mapped."
                )
            if header.fortran:
                return self._read(name, file, header.shape[::-1], header.dtype).T
            return self._read(name, file, header.shape, header.dtype)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of the array ``name``, from its header alone."""
        with self._member(name) as (_, header):
            return header.shape

    def dtype(self, name: str) -> np.dtype[Any]:
        """The type of the array ``name``, from its header alone."""
        with self._member(name) as (_, header):
            return header.dtype

    @contextmanager
    def _member(self, name: str) -> Iterator[tuple[IO[bytes], "_Header"]]:
        if name not in self.names:
            raise DistaffError(
                f"{self.path} has no array {name!r}: it holds {', '.join(self.names) or 'nothing'}."
            )
        info = self._file.getinfo(f"{name}.npy")
        with self._file.open(info) as file:
            header = _Header.read(file)
            if header.dtype.hasobject:
                raise DistaffError(f"{name!r} in {self.path} holds pickled objects, which are never loaded.")
            if file.tell() + header.size != info.file_size:
                raise DistaffError(f"{name!r} in {self.path} is not as long as its header says.")
            yield file, header

    def _read(self, name: str, file: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        size = math.prod(shape) * dtype.itemsize
        data = bytearray(size)
        view = memoryview(data)
        done = 0
        while done < size:
            chunk = file.read(min(1 << 24, size - done))
            if not chunk:
                raise DistaffError(
                    f"{name!r} in {self.path} ends early: the file is damaged, fetch it again."
                )
            view[done : done + len(chunk)] = chunk
            done += len(chunk)
        return np.frombuffer(data, dtype).reshape(shape)


@contextmanager
def open_npz(path: Path) -> Iterator[Archive]:
    """Open an ``.npz``; whatever is wrong with its bytes comes out as one sentence."""
    with whole(path, ".npz file"), zipfile.ZipFile(path) as file:
        yield Archive(path, file)
