"""smallNORB: 50 toys of five kinds, photographed from 162 sides in six lights."""

import hashlib
import math
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from distaff.data.about import About, RemoteFile, find
from distaff.data.cache import cached, hash_of
from distaff.data.dataset import Dataset
from distaff.data.images import ByteImages, IntArray
from distaff.data.reading import ByteFile, open_unzipped, read_pieces
from distaff.foundation.errors import DistaffError, whole
from distaff.foundation.progress import progress

TRAIN, TEST = "smallnorb-5x46789x9x18x6x2x96x96-training", "smallnorb-5x01235x9x18x6x2x96x96-testing"
NAMES, SIZES = ("category", "instance", "elevation", "azimuth", "lighting"), (5, 10, 9, 18, 6)
ABOUT = About(
    summary="48,600 grey photographs of 50 toys, scaled to 64×64: kind, toy, elevation, azimuth, lighting.",
    source="https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/",
    licence="research only; see the source",
    citation="LeCun, Huang & Bottou (2004), Learning methods for generic object recognition",
    count=48_600,
    shape=(1, 64, 64),
    factors=dict(zip(NAMES, SIZES, strict=True)),
    files=tuple(
        RemoteFile(f"{part}-{kind}.mat.gz", "https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/")
        for part in (TRAIN, TEST)
        for kind in ("dat", "cat", "info")
    ),
)
DTYPES: dict[int, np.dtype[Any]] = {0x1E3D4C55: np.dtype("u1"), 0x1E3D4C54: np.dtype("<i4")}
"""Type codes of the file format."""
LARGEST = 1 << 30


def load(file: str | Path | None = None, side: int = 64) -> Dataset:
    """smallNORB, both parts together, sorted by factors; the left photograph of each stereo pair.

    Args:
        file: the folder with the six ``smallnorb-*.mat`` files, gzipped or not.
        side: pixels per side to which the 96×96 photographs are scaled.
    """
    paths = {
        (part, kind): find("smallnorb", ABOUT, file, f"{part}-{kind}.mat.gz", f"{part}-{kind}.mat")
        for part in (TRAIN, TEST)
        for kind in ("dat", "cat", "info")
    }
    classes = np.concatenate([_classes(paths[part, "cat"], paths[part, "info"]) for part in (TRAIN, TEST)])
    order = np.lexsort(classes.T[::-1])
    place = np.argsort(order)
    photographs = [paths[part, "dat"] for part in (TRAIN, TEST)]

    def build(images: NDArray[Any]) -> None:
        count = 0
        for path in photographs:
            for pair in progress(_pairs(path), "reading smallNORB", len(classes) // 2):
                if count == len(images):
                    raise DistaffError(f"{path} holds more images than there are labels.")
                small = Image.fromarray(pair[0]).resize((side, side), Image.Resampling.LANCZOS)
                images[place[count], 0] = np.asarray(small)
                count += 1
        if count != len(images):
            raise DistaffError(f"{photographs[-1]} ends after {count} of {len(images)} images in all.")

    labels = hashlib.sha256(classes.tobytes()).hexdigest()
    key = "-".join(digest[:8] for digest in (labels, *map(hash_of, photographs)))
    images = cached(f"smallnorb-{key}-{side}", (len(classes), 1, side, side), build)
    return Dataset(ByteImages(images), classes[order], NAMES, SIZES, name="smallnorb")


def _classes(categories: Path, details: Path) -> IntArray:
    """(N, 5) category, instance, elevation, azimuth, lighting; the files store azimuths as even numbers."""
    category, detail = _matrix(categories), _matrix(details)
    if category.ndim != 1 or detail.shape != (len(category), 4):
        raise DistaffError(
            f"{categories} holds {category.shape} but {details} {detail.shape}: they do not belong together."
        )
    classes = np.column_stack([category, detail]).astype(np.int64)
    classes[:, 3] //= 2
    if (classes < 0).any() or (classes >= SIZES).any():
        raise DistaffError(f"{categories} or {details} holds a class out of range: fetch them again.")
    return classes


def _matrix(path: Path) -> NDArray[Any]:
    with _opened(path) as (file, shape, dtype):
        return _read(path, file, shape, dtype)


def _pairs(path: Path) -> Iterator[NDArray[np.uint8]]:
    """Each pair of photographs (2, 96, 96) in turn."""
    with _opened(path) as (file, shape, dtype):
        if len(shape) != 4 or shape[1:] != (2, 96, 96) or dtype != np.uint8:
            raise DistaffError(f"{path} holds {shape}, not pairs of 96×96 photographs.")
        for _ in range(shape[0]):
            yield _read(path, file, shape[1:], dtype)


def _read(path: Path, file: ByteFile, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    data = read_pieces(file, math.prod(shape) * dtype.itemsize)
    if len(data) != math.prod(shape) * dtype.itemsize:
        raise DistaffError(f"{path} is shorter than its header says: fetch it again.")
    return np.frombuffer(data, dtype).reshape(shape)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[ByteFile, tuple[int, ...], np.dtype[Any]]]:
    """The file after its header: the type code, the number of dimensions, and at least three of them."""
    with whole(path, "smallNORB file"), open_unzipped(path) as file:
        header = file.read(8)
        kind, dimensions = struct.unpack("<ii", header) if len(header) == 8 else (0, 0)
        if kind not in DTYPES or not 1 <= dimensions <= 4:
            raise DistaffError(f"{path} is not a smallNORB matrix: its header is unknown.")
        sizes = file.read(4 * max(3, dimensions))
        shape = struct.unpack(f"<{dimensions}i", sizes[: 4 * dimensions].ljust(4 * dimensions, b"\0"))
        if min(shape) < 1 or math.prod(shape) > LARGEST:
            raise DistaffError(f"{path} claims the shape {shape}, which is impossible.")
        yield file, shape, DTYPES[kind]
