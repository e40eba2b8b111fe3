"""Data of your own: an array in memory, or in an ``.npz``, ``.npy`` or HDF5 file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from distaff.codes import as_array
from distaff.data.archives import open_npz
from distaff.data.cache import cached
from distaff.data.dataset import Dataset, checked_pairs
from distaff.data.hdf5 import mapped, member, open_hdf5
from distaff.data.images import BitImages, ByteImages, FloatImages, Images
from distaff.data.reading import copy_blocks, rows_of, short_hash, whole
from distaff.data.sizes import resized
from distaff.foundation.errors import DistaffError

Channels = Literal["auto", "first", "last"]
Column = NDArray[Any] | None
MISSING = -1
"""What may stand for a class that is not known, beside NaN."""
BLOCK = 1 << 24
"""Values per block in which a large array is checked."""


def from_array(
    images: Any,
    factors: Any = None,
    names: Sequence[str] | None = None,
    channels: Channels = "auto",
    name: str = "array",
    pairs: Any = None,
) -> Dataset:
    """A data set of arrays (numpy, torch, pandas, lists).

    Args:
        images: (N, H, W), (N, H, W, C) or (N, C, H, W) with values 0–255, 0–1 or booleans; or vectors (N, D).
        factors: (N, K) or (N,). Whole numbers and strings are classes, numbered in order; other numbers are
            real-valued factors (size 0). A label that is missing is NaN, or −1 beside classes 0, 1, ….
        names: one name per factor.
        channels: which axis holds the channels, where the shape leaves it open.
        name: what messages call it.
        pairs: (P, 2) rows that belong together, for recipes that learn from pairs.

    Returns:
        N observations with K factors.

    >>> from_array(np.zeros((4, 8, 8)), [7, 9, 7, 9], ["digit"], name="mine")
    mine: 4 × (1, 8, 8), digit 2
    """
    observations = _observations(as_array(images), channels, name)
    rows = (
        None if pairs is None else checked_pairs(as_array(pairs), len(observations), f"the pairs of {name}")
    )
    data = Dataset(observations, name=name, pairs=rows)
    if factors is None:
        if names is not None and len(names):
            raise DistaffError(f"{name} names factors but has no factor array.")
        return data
    table = as_array(factors)
    if table.ndim not in (1, 2):
        raise DistaffError(f"factors of {name} must be of shape (N, K), not {table.shape}.")
    columns = [table] if table.ndim == 1 else list(table.T)
    return with_factors(data, columns, names)


def with_factors(data: Dataset, columns: Sequence[Any], names: Sequence[str] | None = None) -> Dataset:
    """``data`` with factors from K columns (N,): classes are numbered in order, real numbers stay."""
    numbered = [_classes(as_array(column), data.name, k) for k, column in enumerate(columns)]
    if not numbered or any(len(classes) != len(data) for classes, _ in numbered):
        raise DistaffError(
            f"{len(numbered)} factors of {sorted({len(classes) for classes, _ in numbered})} rows"
            f" do not fit {len(data)} observations: they must be (N, K)."
        )
    tables = tuple(table for _, table in numbered)
    labels = tuple(map(str, names)) if names is not None else tuple(f"factor{k}" for k in range(len(tables)))
    classes = np.stack([classes for classes, _ in numbered], axis=1)
    return Dataset(data.images, classes, labels, tuple(map(len, tables)), tables, data.name, data.pairs)


def load(
    file: str | Path, key: str = "images", channels: Channels = "auto", resize: int | None = None
) -> Dataset:
    """The data set in a file of arrays.

    Args:
        file: an ``.npz`` or HDF5 file with an array ``images`` and perhaps ``factors``, ``factor_names`` and
            (in an ``.npz``) ``pairs`` (P, 2), or a ``.npy`` of images, which is memory-mapped.
        key: what the array of images is called.
        channels: which axis holds the channels, where the shape leaves it open.
        resize: scale the images to this many pixels per side.
    """
    path = Path(file)
    names: NDArray[Any] | None = None
    factors: NDArray[Any] | None = None
    pairs: NDArray[Any] | None = None
    if path.suffix == ".npy":
        images = _mapped(path)
    elif path.suffix in (".h5", ".hdf5"):
        images, factors, names = _from_hdf5(path, key)
    else:
        images, factors, names, pairs = _from_npz(path, key)
    data = from_array(images, factors, _texts(names), channels, path.stem, pairs)
    return data if resize is None else resized(data, resize)


def _from_npz(path: Path, key: str) -> tuple[NDArray[Any], Column, Column, Column]:
    with open_npz(path) as archive:
        if key not in archive and "latents_classes" in archive:
            raise DistaffError(
                f"{path} has no array {key!r} and looks like dSprites: use --data dsprites --file {path}."
            )
        return (
            archive.array(key),
            archive.array("factors") if "factors" in archive else None,
            archive.array("factor_names").ravel() if "factor_names" in archive else None,
            archive.array("pairs") if "pairs" in archive else None,
        )


def _from_hdf5(path: Path, key: str) -> tuple[NDArray[Any], NDArray[Any] | None, NDArray[Any] | None]:
    with open_hdf5(path) as file:
        source = member(file, key)
        factors = member(file, "factors")[:] if "factors" in file else None
        names = np.array(file["factor_names"].asstr()[:]) if "factor_names" in file else None
        images = mapped(path, source)
        if images is None:
            stat = path.stat()
            state = short_hash(f"{path.resolve()} {key} {stat.st_size} {stat.st_mtime_ns}")
            images = cached(
                f"hdf5-{state}",
                source.shape,
                lambda array: copy_blocks(rows_of(source), array, f"reading {path.name}"),
                source.dtype,
            )
    return images, factors, names


def _mapped(path: Path) -> NDArray[Any]:
    with whole(path, ".npy file of plain numbers"):
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return array


def _texts(names: NDArray[Any] | None) -> list[str] | None:
    if names is None:
        return None
    return [name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name) for name in names]


def _observations(array: NDArray[Any], channels: Channels, name: str) -> Images:
    if array.dtype.kind not in "buif":
        raise DistaffError(f"images of {name} must be numbers or booleans, not {array.dtype}.")
    if array.ndim not in (2, 3, 4) or 0 in array.shape:
        raise DistaffError(
            f"images of {name} must be (N, H, W), (N, H, W, C), (N, C, H, W) or vectors (N, D),"
            f" not {array.shape}."
        )
    if array.ndim == 2:
        _extent(array, name)
        return FloatImages(array.astype(np.float32, copy=False))
    channels_last = array.ndim == 4 and _channels_last(array.shape, channels)
    if array.ndim == 3:
        array = array[:, None]
    low, high, whole = _extent(array, name)
    if whole and 0 <= low <= high <= 255:
        if high <= 1:
            return BitImages.pack(np.moveaxis(array, 3, 1) if channels_last else array)
        return ByteImages(array.astype(np.uint8, copy=False), channels_last)
    if low < 0 or high > 1:
        raise DistaffError(
            f"images of {name} run from {low:g} to {high:g}: bring them to 0–1, or to whole numbers 0–255."
        )
    return FloatImages(array.astype(np.float32, copy=False), channels_last)


def _channels_last(shape: tuple[int, ...], channels: Channels) -> bool:
    if channels != "auto":
        return channels == "last"
    first, last = shape[1] <= 4, shape[3] <= 4
    if first == last:
        raise DistaffError(
            f"images of shape {shape} leave open which axis holds the channels:"
            " say channels='first' or channels='last'."
        )
    return last


def _extent(array: NDArray[Any], name: str) -> tuple[float, float, bool]:
    """The smallest and largest value, and whether all are whole numbers; not a number is an error."""
    low, high, whole = np.inf, -np.inf, True
    rows = max(1, BLOCK * len(array) // array.size)
    for start in range(0, len(array), rows):
        block = array[start : start + rows]
        if array.dtype.kind == "f":
            if not np.isfinite(block).all():
                row = start + int(np.argwhere(~np.isfinite(block))[0][0])
                raise DistaffError(
                    f"observation {row} of {name} holds a value that is not finite: remove it first."
                )
            whole = whole and bool((block == np.floor(block)).all())
        low, high = min(low, float(block.min())), max(high, float(block.max()))
    return low, high, whole


def _classes(column: NDArray[Any], name: str, k: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Number the classes of a factor in order, with each one's value; a real-valued one has no table."""
    if column.ndim != 1 or column.dtype.kind not in "buifUS":
        raise DistaffError(
            f"factors of {name} must be numbers or strings in K columns, not {column.dtype} {column.shape}."
        )
    numeric = column.dtype.kind not in "US"
    if numeric and np.isinf(column).any():
        raise DistaffError(f"factor {k} of {name} holds a value that is not finite: remove such rows first.")
    known = _known(column) if numeric else np.ones(len(column), bool)
    if not known.any():
        raise DistaffError(
            f"factor {k} of {name} holds a value that is not finite in every row: leave the factor out."
        )
    if numeric and (column[known] != np.floor(column[known])).any():
        return np.where(known, column, np.nan).astype(np.float64), np.empty(0)
    values, found = np.unique(column[known], return_inverse=True)
    classes = found
    if not known.all():
        classes = np.full(len(column), np.nan)
        classes[known] = found
    return classes, values.astype(np.float64) if numeric else np.arange(len(values), dtype=np.float64)


def _known(column: NDArray[Any]) -> NDArray[np.bool_]:
    """(N,) where a label is: NaN is missing, and so is −1 beside classes of 0 and more, two at least."""
    known = ~np.isnan(column)
    others = np.unique(column[known & (column != MISSING)])
    classes = len(others) > 1 and others[0] >= 0 and bool((others == np.floor(others)).all())
    return np.asarray(known & (column != MISSING) if classes else known)
