"""Stores for the observations of a data set: packed bits, bytes or floats, gathered by index.

Every store accepts a memory-mapped array as well as one in memory. A batch is one gather and one conversion
in the calling process; there are no worker processes. Both use numpy on one core: for a batch, this is faster
than waking torch's threads.
"""

import math
import mmap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from distaff.codes import as_array
from distaff.data.pictures import Fit
from distaff.foundation.errors import DistaffError, foreign

Shape = tuple[int, ...]
IntArray = NDArray[np.int64]
BYTE = 255
SCATTERED = 16
"""Rows are scattered if their average distance is larger than this."""
UNREADABLE = "data.arrangement cannot be read ({})"
"""The error for a ``run.yaml`` that does not say how observations were derived from the user's data."""
Indices = int | slice | Sequence[int] | NDArray[Any] | Tensor
LARGE = 1 << 30
"""Size in bytes above which a mapped file stays on disk; smaller ones are loaded into the fastest format."""


class Images(Protocol):
    """N observations of one shape: images (C, H, W) with values in [0, 1], or vectors (D,)."""

    @property
    def shape(self) -> Shape:
        """The shape of one observation."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, indices: Indices) -> Tensor:
        """float32 observations: (B, *shape) for many indices, (*shape) for a single integer."""
        ...


def as_rows(indices: Indices, count: int) -> IntArray:
    """The row numbers (B,) that ``indices`` select among ``count`` rows; a single integer gives B = 1."""
    if isinstance(indices, slice):
        return np.arange(*indices.indices(count))
    rows = np.atleast_1d(as_array(indices))
    if rows.dtype == bool and len(rows) == count:
        rows = np.flatnonzero(rows)
    if rows.ndim != 1 or (rows.size and not np.issubdtype(rows.dtype, np.integer)):
        raise DistaffError(
            f"indices must be integers in one dimension, not {rows.dtype} of shape {rows.shape}."
        )
    rows = rows.astype(np.int64, copy=False)
    if rows.size == 0:
        return rows
    lowest = rows.min()
    if lowest < -count or rows.max() >= count:
        raise IndexError(f"an index lies outside the {count} observations.")
    return rows % count if lowest < 0 else rows


def is_single(indices: Indices) -> bool:
    """Whether ``indices`` is a single integer, which selects one observation rather than a batch."""
    return not isinstance(indices, slice) and np.ndim(as_array(indices)) == 0


class _Stored:
    """Base class of the stores: N rows of one array, and the conversion of indices to a batch.

    Args:
        rows: (N, ...) the stored rows.
        shape: shape of one observation; by default that of a row.
        channels_last: whether rows are (H, W, C), which batches convert to (C, H, W).
    """

    def __init__(self, rows: NDArray[Any], shape: Shape | None = None, channels_last: bool = False) -> None:
        self.rows = np.asarray(rows)
        own = self.rows.shape[1:]
        self.shape = shape or ((own[2], *own[:2]) if channels_last else own)
        self.channels_last = channels_last
        self._scattered = False

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, indices: Indices) -> Tensor:
        rows = as_rows(indices, len(self))
        self._expect(rows)
        batch = self._floats(self.rows.take(rows, axis=0))
        if self.channels_last:
            batch = batch.permute(0, 3, 1, 2)
        return batch[0] if is_single(indices) else batch

    def _floats(self, rows: NDArray[Any]) -> Tensor:
        raise NotImplementedError

    def _expect(self, rows: IntArray) -> None:
        """Tell the system whether the rows of a mapped file are scattered, so that it does not read ahead."""
        file = mapped_file(self.rows)
        if file is None or not rows.size:
            return
        scattered = int(rows.max()) - int(rows.min()) > SCATTERED * len(rows)
        if scattered != self._scattered:
            file.madvise(mmap.MADV_RANDOM if scattered else mmap.MADV_NORMAL)
            self._scattered = scattered

    def read_ahead(self, rows: IntArray) -> None:
        """Let the system read rows of a mapped file in the background."""
        file = mapped_file(self.rows)
        if file is None or not self.rows.flags.c_contiguous:
            return
        first = self.rows.ctypes.data - np.frombuffer(file, np.uint8).ctypes.data
        length, step = self.rows[0].nbytes, self.rows.strides[0]
        for begin in (first + rows * step).tolist():
            page = begin - begin % mmap.PAGESIZE
            file.madvise(mmap.MADV_WILLNEED, page, begin + length - page)


def read_ahead(images: Images, rows: IntArray) -> None:
    """Let the system read rows that will be needed soon, if they are in a mapped file."""
    if isinstance(images, Chosen):
        read_ahead(images.images, images.chosen[rows])
    elif isinstance(images, _Stored):
        images.read_ahead(rows)


def mapped_file(array: Any) -> mmap.mmap | None:
    """The file that an array, or its base, is mapped to, if the system supports advice on it."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array if isinstance(array, mmap.mmap) and hasattr(array, "madvise") else None


class BitImages(_Stored):
    """Black-and-white images, eight pixels per byte: ``packed`` is ``np.packbits`` of each flat (C, H, W)."""

    def __init__(self, packed: NDArray[np.uint8], shape: Shape) -> None:
        if packed.ndim != 2 or packed.shape[1] != (math.prod(shape) + 7) // 8:
            raise DistaffError(f"packed rows of shape {packed.shape} do not hold images of shape {shape}.")
        super().__init__(packed, shape)

    @classmethod
    def pack(cls, images: NDArray[Any]) -> "BitImages":
        """Pack (N, C, H, W) images of zeros and ones block by block, since they may be memory-mapped."""
        shape, block = images.shape[1:], 4096
        packed = np.empty((len(images), (math.prod(shape) + 7) // 8), np.uint8)
        for start in range(0, len(images), block):
            part = images[start : start + block]
            packed[start : start + block] = np.packbits(part.reshape(len(part), -1) != 0, axis=1)
        return cls(packed, shape)

    def _floats(self, rows: NDArray[Any]) -> Tensor:
        bits = np.unpackbits(rows, axis=1, count=math.prod(self.shape))
        return torch.from_numpy(bits.astype(np.float32)).view(-1, *self.shape)


class ByteImages(_Stored):
    """uint8 images whose value ``white`` is 1.0: (N, C, H, W), or (N, H, W, C) with ``channels_last``."""

    def __init__(self, images: NDArray[np.uint8], channels_last: bool = False, white: int = 255) -> None:
        if images.ndim != 4 or images.dtype != np.uint8:
            raise DistaffError(f"byte images must be uint8 (N, C, H, W), not {images.dtype} {images.shape}.")
        super().__init__(images, channels_last=channels_last)
        self.white = white

    def _floats(self, rows: NDArray[Any]) -> Tensor:
        values = rows.astype(np.float32)
        values /= self.white
        return torch.from_numpy(values)


class FloatImages(_Stored):
    """Float observations, unchanged: images (N, C, H, W) in [0, 1], or vectors (N, D)."""

    def __init__(self, values: NDArray[np.floating[Any]], channels_last: bool = False) -> None:
        super().__init__(values, channels_last=channels_last)

    def _floats(self, rows: NDArray[Any]) -> Tensor:
        return torch.from_numpy(rows.astype(np.float32, copy=False))


class ScaledImages(_Stored):
    """Images with any range of values: ``low`` becomes 0 and ``high`` 1; values outside are clipped.

    Args:
        values: (N, C, H, W), or (N, H, W, C) with ``channels_last``; 16-bit, float, or anything else.
        low: the value of black.
        high: the value of white.
        channels_last: whether the last axis holds the channels.
    """

    def __init__(self, values: NDArray[Any], low: float, high: float, channels_last: bool = False) -> None:
        super().__init__(values, channels_last=channels_last)
        self.low, self.high = low, high

    def _floats(self, rows: NDArray[Any]) -> Tensor:
        values = rows.astype(np.float32)
        values -= self.low
        values /= self.high - self.low
        return torch.from_numpy(values.clip(0, 1, out=values))


@dataclass(frozen=True)
class Scaled:
    """Images with the user's range of values and sizes, converted to (C, H, W) in 0–1.

    Args:
        shape: (C, H, W) that the model sees.
        low: the user's value that becomes 0.
        high: the user's value that becomes 1.
        fit: how images of other proportions were fitted; None if images were not scaled.
        mode: the kind of pixels that image files are decoded to.
        told: whether the user gave the range; otherwise arrays that already lie in 0–1 are not changed.
    """

    shape: tuple[int, ...]
    low: float = 0.0
    high: float = float(BYTE)
    fit: Fit | None = None
    mode: str = "RGB"
    told: bool = False

    @classmethod
    def of(cls, images: Images, low: float, high: float, told: bool = False) -> "Scaled":
        """The conversion that gave these images; image files are decoded to as many channels."""
        mode = {1: "L", 4: "RGBA"}.get(images.shape[0], "RGB")
        return cls(images.shape, low, high, mode=mode, told=told)

    def plain(self) -> dict[str, Any]:
        """The form stored in ``run.yaml``."""
        return {"images": list(self.shape), "range": [self.low, self.high], "fit": self.fit} | {
            "mode": self.mode,
            "told": self.told,
        }

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> "Scaled":
        """Parse the form stored in ``run.yaml``."""
        with foreign(UNREADABLE.format):
            low, high = map(float, plain["range"])
            shape = tuple(map(int, plain["images"]))
            return cls(shape, low, high, plain["fit"], str(plain["mode"]), bool(plain["told"]))


class Chosen:
    """Some observations of another store, in a given order, without copying them."""

    def __init__(self, images: Images, rows: IntArray) -> None:
        self.images = images
        self.chosen = rows
        self.shape = images.shape

    def __len__(self) -> int:
        return len(self.chosen)

    def __getitem__(self, indices: Indices) -> Tensor:
        batch = self.images[self.chosen[as_rows(indices, len(self))]]
        return batch[0] if is_single(indices) else batch


def images_of_integers(array: NDArray[Any], white: int, channels_last: bool) -> Images:
    """Images of integers from 0 to ``white``, which is 1 or 255."""
    if stays_on_disk(array):
        if array.dtype == np.uint8:
            return ByteImages(array, channels_last, white)
        return ScaledImages(array, 0, white, channels_last)
    if white == 1:
        return BitImages.pack(np.moveaxis(array, 3, 1) if channels_last else array)
    return ByteImages(array.astype(np.uint8, copy=False), channels_last)


def stays_on_disk(array: NDArray[Any]) -> bool:
    """Whether an array is a mapped file that is too large to copy into memory."""
    return array.nbytes > LARGE and mapped_file(array) is not None
