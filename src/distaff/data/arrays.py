"""Your own data: an array in memory, or in an ``.npz``, ``.npy`` or HDF5 file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from distaff.codes import as_array
from distaff.data.cache import cached
from distaff.data.dataset import Dataset, called, checked_pairs
from distaff.data.images import BitImages, ByteImages, FloatImages, Images, Scaled, ScaledImages, mapped_file
from distaff.data.labels import labelled
from distaff.data.pictures import Fit
from distaff.data.ranges import OutOfRange, find_range, ways
from distaff.data.reading import copy_blocks, rows_of, short_hash
from distaff.data.signals import from_signals
from distaff.data.sizes import resized
from distaff.data.tables import Names, from_vectors
from distaff.foundation.archives import LARGEST, open_npz
from distaff.foundation.errors import DistaffError, spoken_to_its_caller, unknown, whole
from distaff.foundation.hdf5 import MEMORY, SECONDS, Hdf5File, mapped, member, open_hdf5, texts
from distaff.foundation.progress import progress

Channels = Literal["auto", "first", "last"]
Column = NDArray[Any] | None
BLOCK = 1 << 24
"""Number of values per block when a large array is checked."""
MANY = 60
"""Number of blocks above which a progress bar is shown."""
LARGE = 1 << 30
"""Size in bytes above which a mapped file stays on disk; smaller ones are loaded into the fastest format."""


@spoken_to_its_caller
def from_array(
    images: Any,
    factors: Any = None,
    names: Sequence[str] | None = None,
    channels: Channels = "auto",
    name: str = "array",
    pairs: Any = None,
    range: str | None = None,
) -> Dataset:
    """A data set from arrays (numpy, torch, pandas, lists).

    Args:
        images: (N, H, W), (N, H, W, C) or (N, C, H, W) with values 0–255, 0–1 or booleans; or vectors (N, D).
        factors: (N, K) or (N,). Integers and strings are classes, numbered in order; other numbers are
            real-valued factors (size 0). A missing label is NaN, or −1 next to classes 0, 1, ….
        names: one name per factor.
        channels: the axis that holds the channels, if it is not clear from the shape.
        name: the name used in messages.
        pairs: (P, 2) rows that belong together, for recipes that learn from pairs.
        range: the values that are black and white in images, if not 0 and 1, or 0 and 255:
            ``min-max``, ``percentiles:1:99``, ``signed`` (−1 to 1) or ``0:4095``.

    Returns:
        N observations with K factors.

    >>> from_array(np.zeros((4, 8, 8)), [7, 9, 7, 9], ["digit"], name="mine")
    mine: 4 × (1, 8, 8), digit 2
    """
    if channels not in get_args(Channels):
        raise unknown("place of channels", str(channels), get_args(Channels))
    observations, arrangement = _observations(as_array(images), channels, called(name), range)
    which = f"the pairs of {called(name)}"
    rows = None if pairs is None else checked_pairs(as_array(pairs), len(observations), which)
    data = Dataset(observations, name=name, pairs=rows, arrangement=arrangement)
    if factors is None:
        if names is not None and len(names):
            raise DistaffError(f"{called(name)} names factors but has no factor array.")
        return data
    return labelled(data, factors, names)


def load(
    file: str | Path,
    key: str = "images",
    channels: Channels = "auto",
    resize: int | None = None,
    fit: Fit = "squash",
    range: str | None = None,
    standardise: bool = False,
    counts: Names = None,
    signals: bool = False,
    largest: int = LARGEST,
    seconds: float = SECONDS,
    memory: int = MEMORY,
) -> Dataset:
    """The data set in a file of arrays.

    Args:
        file: an ``.npz`` or HDF5 file with an array ``images`` and optionally ``factors``, ``factor_names``
            and (in an ``.npz``) ``pairs`` (P, 2), or a ``.npy`` of images, which is memory-mapped.
        key: the name of the array of images.
        channels: the axis that holds the channels, if it is not clear from the shape.
        resize: scale the images to this many pixels per side.
        fit: how to scale images that are not square: ``squash``, ``crop`` or ``pad``.
        range: the values that are black and white, as for ``from_array``.
        standardise: scale the columns of vectors to mean 0 and variance 1; NaN is then a missing value.
        counts: ``"all"`` if vectors are counts.
        signals: treat the array as signals over time, (N, T) or (N, C, T).
        largest: maximum size in bytes of one unpacked array of an ``.npz``.
        seconds: maximum processor time for reading a block of rows of an HDF5 file.
        memory: maximum memory in bytes for reading an HDF5 file, in addition to the result.
    """
    images, factors, names, pairs = read_arrays(file, key, largest, seconds, memory)
    name = Path(file).stem
    if signals:
        data = from_signals(images, name, standardise)
    elif images.ndim == 2 and (standardise or counts):
        data = from_vectors(images, name, counts, standardise)
    else:
        data = from_array(images, factors, names, channels, name, pairs, range)
        return data if resize is None else resized(data, resize, fit, levels=range is None)
    if range is not None:
        raise DistaffError(
            f"{name} holds no images, and only images have black and white: leave out --range."
        )
    data = data if factors is None else labelled(data, factors, names)
    return data if resize is None else resized(data, resize, fit)


def read_arrays(
    file: str | Path, key: str, largest: int = LARGEST, seconds: float = SECONDS, memory: int = MEMORY
) -> tuple[NDArray[Any], Column, list[str] | None, Column]:
    """The observations in a file, unchanged, with their factors, factor names and pairs, if any."""
    path = Path(file)
    names: NDArray[Any] | None = None
    factors: NDArray[Any] | None = None
    pairs: NDArray[Any] | None = None
    if path.suffix == ".npy":
        images = _mapped(path)
    elif path.suffix in (".h5", ".hdf5"):
        with open_hdf5(path, seconds, memory) as opened:
            images, factors, names = _from_hdf5(opened, key)
    else:
        images, factors, names, pairs = _from_npz(path, key, largest)
    return images, factors, _texts(names), pairs


def _from_npz(path: Path, key: str, largest: int) -> tuple[NDArray[Any], Column, Column, Column]:
    with open_npz(path, largest) as archive:
        if key not in archive and "latents_classes" in archive:
            raise DistaffError(
                f"{path} has no array {key!r} and looks like dSprites: use --data dsprites --file {path}."
            )
        if key not in archive:
            raise DistaffError(
                f"{path} has no array {key!r}: it holds {', '.join(archive.names) or 'nothing'}; say which "
                "to read with --data-options key=NAME."
            )
        return (
            archive.array(key),
            archive.array("factors") if "factors" in archive else None,
            archive.array("factor_names").ravel() if "factor_names" in archive else None,
            archive.array("pairs") if "pairs" in archive else None,
        )


def _from_hdf5(file: Hdf5File, key: str) -> tuple[NDArray[Any], NDArray[Any] | None, NDArray[Any] | None]:
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
    return images, factors, None if named is None else np.array(named)


def _mapped(path: Path) -> NDArray[Any]:
    with whole(path, ".npy file of plain numbers"):
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return array


def _texts(names: NDArray[Any] | None) -> list[str] | None:
    if names is None:
        return None
    return [name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name) for name in names]


def _observations(
    array: NDArray[Any], channels: Channels, name: str, text: str | None
) -> tuple[Images, Scaled | None]:
    if array.dtype.kind not in "buif":
        raise DistaffError(f"images of {name} must be numbers or booleans, not {array.dtype}.")
    if array.ndim not in (2, 3, 4) or 0 in array.shape:
        raise DistaffError(
            f"images of {name} must be (N, H, W), (N, H, W, C), (N, C, H, W) or vectors (N, D),"
            f" not {array.shape}."
        )
    if array.ndim == 2:
        if text is not None:
            raise DistaffError(
                f"--range is for images, and {name} holds vectors of {array.shape[1]} numbers."
            )
        _extent(array, name)
        return FloatImages(array.astype(np.float32, copy=False)), None
    channels_last = array.ndim == 4 and _channels_last(array.shape, channels)
    told_channels = array.ndim == 4
    if not told_channels:
        array = array[:, None]
    if text is not None:
        bounds = find_range(text, array, name)
        scaled = ScaledImages(array, *bounds, channels_last)
        return scaled, Scaled(scaled.shape, *bounds, mode=_mode(scaled), told=True)
    low, high, whole = _extent(array, name)
    if whole and 0 <= low <= high <= 255:
        white = 1 if high <= 1 else 255
        images = _whole_numbers(array, white, channels_last)
        return images, Scaled(images.shape, 0, white, mode=_mode(images))
    if low < 0 or high > 1:
        also = "" if told_channels else "; of signals over time (N, C, T), say --data-options signals=true"
        raise OutOfRange(
            f"images of {name} run from {low:g} to {high:g}: bring them to 0–1, or to whole numbers 0–255, or"
            f" say what is black and white: {ways(low, high)}{also}."
        )
    floats = FloatImages(array if _stays(array) else array.astype(np.float32, copy=False), channels_last)
    return floats, Scaled(floats.shape, 0, 1, mode=_mode(floats))


def _whole_numbers(array: NDArray[Any], white: int, channels_last: bool) -> Images:
    """Images of integers from 0 to ``white``, which is 1 or 255."""
    if _stays(array):
        if array.dtype == np.uint8:
            return ByteImages(array, channels_last, white)
        return ScaledImages(array, 0, white, channels_last)
    if white == 1:
        return BitImages.pack(np.moveaxis(array, 3, 1) if channels_last else array)
    return ByteImages(array.astype(np.uint8, copy=False), channels_last)


def _stays(array: NDArray[Any]) -> bool:
    """Whether an array is a mapped file that is too large to copy into memory."""
    return array.nbytes > LARGE and mapped_file(array) is not None


def _mode(images: Images) -> str:
    return {1: "L", 4: "RGBA"}.get(images.shape[0], "RGB")


def _channels_last(shape: tuple[int, ...], channels: Channels) -> bool:
    if channels != "auto":
        return channels == "last"
    first, last = shape[1] <= 4, shape[3] <= 4
    if first == last:
        raise DistaffError(
            f"images of shape {shape} do not show which axis holds the channels:"
            " give channels='first' or channels='last'."
        )
    return last


def _extent(array: NDArray[Any], name: str) -> tuple[float, float, bool]:
    """The smallest and largest value, and whether all are integers; an error for NaN or infinity.

    Bytes are read only until one is above 1, since it only matters whether all of them are 0 or 1.
    """
    low, high, whole = np.inf, -np.inf, True
    rows = max(1, BLOCK * len(array) // array.size)
    starts = range(0, len(array), rows)
    for start in starts if len(starts) < MANY else progress(starts, f"looking through {name}"):
        block = array[start : start + rows]
        if array.dtype.kind == "f":
            if not np.isfinite(block).all():
                row = start + int(np.argwhere(~np.isfinite(block))[0][0])
                raise DistaffError(
                    f"observation {row} of {name} holds a value that is not finite: remove it first."
                )
            whole = whole and bool((block == np.floor(block)).all())
        low, high = min(low, float(block.min())), max(high, float(block.max()))
        if array.dtype == np.uint8 and high > 1:
            break
    return low, high, whole
