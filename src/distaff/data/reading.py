"""Helpers of file readers: files that may be gzipped, and rows copied block by block."""

import gzip
import hashlib
from collections.abc import Callable, Iterable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distaff.foundation.errors import DistaffError
from distaff.foundation.progress import progress

ByteFile = gzip.GzipFile | BufferedReader
ROWS = 4096
"""Number of rows copied at a time."""
PIECE = 1 << 24
"""Number of bytes read at a time."""


def not_official(file: Path, title: str, why: str) -> DistaffError:
    """The error for a readable file that is not the one its authors published."""
    return DistaffError(
        f"{file} is not an official {title} file: {why}; fetch it again, or put data of your own into an .npz"
        " as 'images'."
    )


def open_unzipped(path: Path) -> ByteFile:
    """Open a file that may be gzipped."""
    with path.open("rb") as raw:
        zipped = raw.read(2) == b"\x1f\x8b"
    return gzip.open(path) if zipped else path.open("rb")


def read_pieces(file: ByteFile, size: int) -> bytes:
    """Read up to ``size`` bytes, a piece at a time, since a header may claim any size."""
    pieces: list[bytes] = []
    while size and (piece := file.read(min(PIECE, size))):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def short_hash(*texts: str, lines: Iterable[str] = ()) -> str:
    """Sixteen characters that identify a cache by its sources; ``lines`` may be millions of texts."""
    digest = hashlib.sha256("\n".join(texts).encode(errors="surrogateescape"))
    for line in lines:
        digest.update(f"\n{line}".encode(errors="surrogateescape"))
    return digest.hexdigest()[:16]


def rows_of(source: Any) -> Iterator[NDArray[Any]]:
    """The rows of an array in a file, block by block."""
    for start in range(0, len(source), ROWS):
        yield source[start : start + ROWS]


def copy_blocks(
    blocks: Iterable[NDArray[Any]],
    target: NDArray[Any],
    title: str,
    convert: Callable[[NDArray[Any]], NDArray[Any]] = np.asarray,
) -> None:
    """Fill ``target`` with blocks of rows, each converted, under a progress bar titled ``title``."""
    start = 0
    for block in progress(blocks, title, -(-len(target) // ROWS)):
        target[start : start + len(block)] = convert(block)
        start += len(block)
