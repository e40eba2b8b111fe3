"""Your own data: an array in memory, or in an ``.npz``, ``.npy`` or HDF5 file, with labels."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from distaff.codes import as_array, known_labels
from distaff.data.columns import Names
from distaff.data.dataset import Dataset, called, checked_pairs
from distaff.data.images import FloatImages, Images, Scaled, ScaledImages, images_of_integers, stays_on_disk
from distaff.data.mapped_arrays import from_hdf5, from_npy
from distaff.data.pictures import Fit
from distaff.data.ranges import OutOfRange, find_range, ways
from distaff.data.signals import from_signals
from distaff.data.sizes import resized
from distaff.foundation.errors import DistaffError, spoken_to_its_caller, unknown
from distaff.foundation.hdf5 import MEMORY, SECONDS
from distaff.foundation.progress import progress
from distaff.foundation.untrusted_files import LARGEST, open_npz

Channels = Literal["auto", "first", "last"]
Column = NDArray[Any] | None
BLOCK = 1 << 24
"""Number of values per block when a large array is checked."""
MANY = 60
"""Number of blocks above which a progress bar is shown."""


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
        from distaff.data.tables import from_vectors  # which needs with_factors

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


def labelled(data: Dataset, factors: Any, names: Sequence[str] | None = None) -> Dataset:
    """``data`` with factors from an array (N, K) or (N,)."""
    table = as_array(factors)
    if table.ndim not in (1, 2):
        raise DistaffError(f"factors of {called(data.name)} must be of shape (N, K), not {table.shape}.")
    return with_factors(data, [table] if table.ndim == 1 else list(table.T), names)


def with_factors(data: Dataset, columns: Sequence[Any], names: Sequence[str] | None = None) -> Dataset:
    """``data`` with factors from K columns (N,): classes are numbered in order, real numbers are kept."""
    numbered = [_classes(as_array(column), called(data.name), k) for k, column in enumerate(columns)]
    lengths = sorted({len(classes) for classes, _, _ in numbered})
    if lengths != [len(data)]:
        rows = " and ".join(map(str, lengths)) or "no"
        raise DistaffError(
            f"{rows} rows of factors do not fit {len(data)} observations: they must be (N, K)."
        )
    tables = tuple(table for _, table, _ in numbered)
    labels = tuple(map(str, names)) if names is not None else tuple(f"factor{k}" for k in range(len(tables)))
    classes = np.stack([classes for classes, _, _ in numbered], axis=1)
    sizes = tuple(map(len, tables))
    texts = {label: texts for label, (_, _, texts) in zip(labels, numbered, strict=False) if texts}
    return replace(data, factors=classes, names=labels, sizes=sizes, factor_values=tables, class_names=texts)


def _classes(
    column: NDArray[Any], name: str, k: int
) -> tuple[NDArray[Any], NDArray[np.float64], tuple[str, ...]]:
    """Number the classes of a factor in order, and return the value and the text (if any) of each class.

    A real-valued factor has no class values. Missing texts are None in an object array.
    """
    if column.dtype == object and any(isinstance(label, str) for label in column.ravel()):
        column = np.ma.masked_array(
            np.array(["" if label is None else label for label in column]),
            [label is None for label in column],
        )
    if column.ndim != 1 or column.dtype.kind not in "buifUS":
        raise DistaffError(
            f"factors of {name} must be numbers or strings in K columns, not {column.dtype} {column.shape}."
        )
    numeric = column.dtype.kind not in "US"
    if numeric and np.isinf(column).any():
        raise DistaffError(f"factor {k} of {name} holds a value that is not finite: remove such rows first.")
    known = known_labels(column) if numeric else ~np.ma.getmaskarray(column)
    if not known.any():
        raise DistaffError(
            f"factor {k} of {name} holds a value that is not finite in every row: leave the factor out."
        )
    if numeric and (column[known] != np.floor(column[known])).any():
        return np.where(known, column, np.nan).astype(np.float64), np.empty(0), ()
    values, found = np.unique(np.asarray(column)[known], return_inverse=True)
    classes = found
    if not known.all():
        classes = np.full(len(column), np.nan)
        classes[known] = found
    if numeric:
        return classes, values.astype(np.float64), ()
    return classes, np.arange(len(values), dtype=np.float64), tuple(map(str, values))


def read_arrays(
    file: str | Path, key: str, largest: int = LARGEST, seconds: float = SECONDS, memory: int = MEMORY
) -> tuple[NDArray[Any], Column, list[str] | None, Column]:
    """The observations in a file, unchanged, with their factors, factor names and pairs, if any."""
    path = Path(file)
    if path.suffix.lower() == ".npy":
        return from_npy(path), None, None, None
    if path.suffix.lower() in (".h5", ".hdf5"):
        return *from_hdf5(path, key, seconds, memory), None
    return _from_npz(path, key, largest)


def _from_npz(path: Path, key: str, largest: int) -> tuple[NDArray[Any], Column, list[str] | None, Column]:
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
            archive.texts("factor_names") if "factor_names" in archive else None,
            archive.array("pairs") if "pairs" in archive else None,
        )


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
    told_channels = array.ndim == 4
    channels_last = told_channels and _channels_last(array.shape, channels)
    array = array if told_channels else array[:, None]
    if text is not None:
        bounds = find_range(text, array, name)
        scaled = ScaledImages(array, *bounds, channels_last)
        return scaled, Scaled.of(scaled, *bounds, told=True)
    low, high, whole = _extent(array, name)
    if whole and 0 <= low <= high <= 255:
        white = 1 if high <= 1 else 255
        images = images_of_integers(array, white, channels_last)
        return images, Scaled.of(images, 0, white)
    if low < 0 or high > 1:
        also = "" if told_channels else "; of signals over time (N, C, T), say --data-options signals=true"
        raise OutOfRange(
            f"images of {name} run from {low:g} to {high:g}: bring them to 0–1, or to whole numbers 0–255, or"
            f" say what is black and white: {ways(low, high)}{also}."
        )
    floats = FloatImages(
        array if stays_on_disk(array) else array.astype(np.float32, copy=False), channels_last
    )
    return floats, Scaled.of(floats, 0, 1)


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
