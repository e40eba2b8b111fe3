"""The idx format of MNIST and its relatives, and the data sets that come as four idx files."""

import math
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from distaff.data.about import About, RemoteFile, find
from distaff.data.dataset import Dataset
from distaff.data.images import ByteImages
from distaff.data.reading import open_unzipped, read_pieces
from distaff.foundation.errors import DistaffError, unknown, whole

Part = Literal["train", "test", "all"]
BYTES = 0x08
LARGEST = 1 << 30
"""Maximum unpacked size of an idx file, in bytes."""


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read the array of bytes in an idx file, gzipped or not.

    The format: two zero bytes, one byte for the type (8: bytes), one for the number of dimensions, each
    dimension as a big-endian 32-bit number, then the values.
    """
    with whole(path, "idx file"), open_unzipped(path) as file:
        magic = file.read(4)
        if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] != BYTES or not 1 <= magic[3] <= 4:
            raise DistaffError(f"{path} is not an idx file of bytes: it begins with {magic.hex(' ')}.")
        header = file.read(4 * magic[3])
        if len(header) < 4 * magic[3]:
            raise DistaffError(f"{path} ends in its header: fetch it again.")
        shape = tuple(int(size) for size in np.frombuffer(header, ">u4"))
        size = math.prod(shape)
        if size > LARGEST:
            raise DistaffError(f"{path} claims {size:,} bytes, more than is accepted of an idx file.")
        data = read_pieces(file, size + 1)
    if len(data) != size:
        raise DistaffError(f"{path} holds {len(data):,} values or more where its header says {size:,}.")
    return np.frombuffer(data, np.uint8).reshape(shape)


def idx_files(folder: str, *digests: str) -> tuple[RemoteFile, ...]:
    """The four files at a URL, with the SHA-256 of training images and labels, and test images and labels."""
    names = (
        f"{part}-{kind}-ubyte.gz" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")
    )
    pairs = zip(names, digests, strict=True)
    return tuple(RemoteFile(name, folder, f"sha256:{digest}") for name, digest in pairs)


def load_idx(name: str, about: About, factor: str, folder: str | Path | None, part: Part) -> Dataset:
    """A data set of the four files ``{train,t10k}-{images-idx3,labels-idx1}-ubyte(.gz)``."""
    prefixes = {"train": ("train",), "test": ("t10k",), "all": ("train", "t10k")}
    if part not in prefixes:
        raise unknown(f"part of {name}", part, prefixes)
    images, labels = zip(*(_pair(name, about, folder, prefix) for prefix in prefixes[part]), strict=True)
    pixels = images[0] if len(images) == 1 else np.concatenate(images)
    classes = np.concatenate(labels).astype(np.int64)
    return Dataset(ByteImages(pixels[:, None]), classes[:, None], (factor,), (10,), name=name)


def _pair(
    name: str, about: About, folder: str | Path | None, prefix: str
) -> tuple[NDArray[Any], NDArray[Any]]:
    def read(kind: str) -> tuple[Path, NDArray[np.uint8]]:
        file = f"{prefix}-{kind}-ubyte"
        path = find(name, about, folder, f"{file}.gz", file)
        return path, read_idx(path)

    image_file, images = read("images-idx3")
    label_file, labels = read("labels-idx1")
    if images.ndim != 3 or labels.ndim != 1 or len(images) != len(labels):
        raise DistaffError(
            f"{image_file} holds {images.shape} but {label_file} {labels.shape}: they do not belong together."
        )
    if labels.max(initial=0) > 9:
        raise DistaffError(f"{label_file} holds the label {labels.max()}, which is above 9.")
    return images, labels
