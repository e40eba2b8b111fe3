"""Arrays that are built once and then memory-mapped: whole, checked, and built by one process at a time."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock
from numpy.typing import DTypeLike, NDArray

from distaff.errors import DistaffError
from distaff.files import atomic_file, cache_folder, sha256

DIGEST = 32
"""Bytes of SHA-256 that end every cached file, over all that stands before them."""


def cached(
    name: str, shape: tuple[int, ...], build: Callable[[NDArray[Any]], None], dtype: DTypeLike = np.uint8
) -> NDArray[Any]:
    """The array ``name`` from the cache folder, memory-mapped; ``build`` fills it where it is absent.

    The file is a ``.npy`` with a digest at its end. A file that is cut short, damaged or of another shape is
    built anew. Of two processes that need it at once one builds and the other waits.
    """
    path = cache_folder() / f"{name}.npy"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock")):
            if not _is_whole(path, shape, np.dtype(dtype)):
                _write(path, shape, build, np.dtype(dtype))
    except OSError as problem:
        raise DistaffError(
            f"the cache {path} cannot be written ({problem.strerror or problem}):"
            " set DISTAFF_CACHE to a folder with room."
        ) from problem
    mapped: NDArray[Any] = np.load(path, mmap_mode="r")
    return mapped


def hash_of(file: Path) -> str:
    """The SHA-256 of a source file, which names the cache made from it."""
    try:
        return sha256(file)
    except OSError as problem:
        raise DistaffError(f"{file} cannot be read ({problem.strerror}).") from problem


def _is_whole(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    try:
        array = np.load(path, mmap_mode="r")
    except (OSError, ValueError, EOFError):
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
            # Claim the disk space now: a full disk met through a mapping would kill the process.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size + DIGEST)
        build(array)
        array.flush()
        del array
        with temporary.open("r+b") as file:
            digest = _digest_of(file, size)
            file.seek(size)
            file.write(digest)
            file.truncate()


def _digest_of(file: Any, size: int, block: int = 1 << 22) -> bytes:
    digest = hashlib.sha256()
    while size > 0 and (data := file.read(min(block, size))):
        digest.update(data)
        size -= len(data)
    return digest.digest()
