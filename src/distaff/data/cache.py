"""Arrays that are built once and then memory-mapped: complete, verified, built by one process at a time."""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from filelock import FileLock
from numpy.typing import DTypeLike, NDArray

from distaff.foundation.errors import DistaffError
from distaff.foundation.files import atomic_file, sha256
from distaff.foundation.places import cache_folder

DIGEST = 32
"""Length in bytes of the SHA-256 at the end of every cached file, computed over the rest of it."""
BLOCK, LARGE, SPREAD = 1 << 20, 1 << 30, 16


def cached(
    name: str, shape: tuple[int, ...], build: Callable[[NDArray[Any]], None], dtype: DTypeLike = np.uint8
) -> NDArray[Any]:
    """The array ``name`` from the cache folder, memory-mapped; ``build`` fills it if it does not exist.

    The file is a ``.npy`` followed by a digest: of the whole file up to a gigabyte, and of one block in
    sixteen for larger files, so that start-up does not have to read all of it. A file that is truncated,
    damaged or of another shape is rebuilt. If two processes need it at once, one builds and the other waits.
    """
    path = cache_folder() / f"{name}.npy"
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock")):
            if not _is_whole(path, shape, np.dtype(dtype)):
                # Left by a killed process: nobody else can be writing while we hold the lock.
                for left_over in path.parent.glob(f".{path.name}.*"):
                    left_over.unlink()
                _write(path, shape, build, np.dtype(dtype))
    mapped: NDArray[Any] = np.load(path, mmap_mode="r")
    return mapped


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Whatever keeps a file of the cache from being written comes out as one sentence."""
    try:
        yield
    except OSError as problem:
        raise DistaffError(
            f"the cache {path} cannot be written ({problem.strerror or problem}):"
            " set DISTAFF_CACHE to a folder with room."
        ) from problem


def hash_of(file: Path) -> str:
    """The SHA-256 of a source file, used in the name of its cache."""
    try:
        return sha256(file)
    except OSError as problem:
        raise DistaffError(f"{file} cannot be read ({problem.strerror}).") from problem


def _is_whole(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    try:
        array = np.load(path, mmap_mode="r")
    except Exception:  # on damaged bytes, the reader can raise anything
        return False
    if array.shape != shape or array.dtype != dtype or not array.flags.c_contiguous:
        return False
    body = path.stat().st_size - DIGEST
    with path.open("rb") as file:
        digest = _digest_of(file, body)
        return file.read() == digest


def _write(
    path: Path, shape: tuple[int, ...], build: Callable[[NDArray[Any]], None], dtype: np.dtype[Any]
) -> None:
    with atomic_file(path) as temporary:
        array = np.lib.format.open_memmap(temporary, mode="w+", dtype=dtype, shape=shape)
        size = temporary.stat().st_size
        with temporary.open("r+b") as file:
            # Reserve the disk space now: running out of it while writing to a mapping would kill the process.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size + DIGEST)
        build(array)
        array.flush()
        del array
        with temporary.open("r+b") as file:
            digest = _digest_of(file, size)
            file.write(digest)


def _digest_of(file: IO[bytes], size: int) -> bytes:
    digest = hashlib.sha256(str(size).encode())
    for start in range(0, size, BLOCK if size <= LARGE else SPREAD * BLOCK):
        file.seek(start)
        digest.update(file.read(min(BLOCK, size - start)))
    file.seek(size)
    return digest.digest()
