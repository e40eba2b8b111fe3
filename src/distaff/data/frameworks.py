"""Data sets of other libraries: any ``torch.utils.data.Dataset``, and Hugging Face ``datasets``."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset

from distaff.codes import as_array
from distaff.data.arrays import Channels, from_array, with_factors
from distaff.data.dataset import Dataset
from distaff.data.signals import from_signals
from distaff.data.tables import from_frame, from_vectors, of_matrix, several
from distaff.foundation.errors import DistaffError, unknown
from distaff.foundation.progress import progress


def from_object(data: Any, **options: Any) -> Dataset:
    """Convert an object of another library: a Hugging Face or torch data set, a table or an array.

    Args:
        data: the object.
        **options: for tables, the options of ``distaff.data.tables.from_frame``; for images, ``range``.
    """
    matrix = options.pop("matrix", None)
    if is_frame(data):
        frame = to_frame(data, options, matrix)
        return of_matrix(from_frame(frame, where=f"the {type(data).__name__}", **options), matrix)
    if matrix is not None:
        raise DistaffError(f"matrix={matrix} is for an AnnData, not for a {type(data).__name__}.")
    if isinstance(data, DataLoader):
        data = data.dataset
    if isinstance(data, Iterator) or inspect.isgeneratorfunction(data):
        raise DistaffError(
            f"the {type(data).__name__} gives its items once and has no length: make a list of them."
        )
    if hasattr(data, "column_names"):
        return from_hugging_face(data)
    if isinstance(data, TorchDataset):
        return from_torch(data)
    if data is None or (isinstance(data, list | tuple) and any(isinstance(one, str | Path) for one in data)):
        what = "there are no data" if data is None else "a list of files cannot be trained on"
        raise DistaffError(
            f"{what}: give a folder or an archive of images, a table, a file of arrays, an array, a data "
            "frame or the name of a data set."
        )
    values = as_array(data)
    if options.pop("signals", False):
        return from_signals(values, standardise=options.get("standardise", True))
    if values.ndim == 2 and values.dtype.kind in "buif":
        return from_vectors(values, **options)
    return from_array(values, range=options.get("range"))


def is_frame(data: Any) -> bool:
    """Whether an object is a table with headings: from pandas or polars, a dict of columns, or an AnnData."""
    return (
        isinstance(data, pd.DataFrame)
        or type(data) is dict
        or hasattr(data, "var_names")
        or hasattr(data, "get_column")
    )


def to_frame(data: Any, named: Mapping[str, Any] | None = None, matrix: str | None = None) -> pd.DataFrame:
    """Convert a table of any library to pandas; for an AnnData, a matrix followed by columns of its ``obs``.

    Args:
        data: the table.
        named: options that name columns: only these columns of an AnnData's ``obs`` are used; all if None.
        matrix: the matrix of an AnnData: ``X`` by default, a layer such as ``counts``, or an array of
            ``obsm``.
    """
    if hasattr(data, "var_names"):
        frame = _matrix_of(data, matrix or "X")
        beside = [str(column) for column in data.obs.columns if column not in frame.columns]
        if named is not None:
            wanted = {
                c for option in ("columns", "factors", "categorical") for c in several(named.get(option))
            }
            beside = [column for column in beside if column in wanted]
        obs: pd.DataFrame = data.obs[beside]
        return pd.concat([frame, obs], axis=1)  # a join would multiply rows that share a name
    if matrix is not None:
        raise DistaffError(f"matrix={matrix} is for an AnnData, not for a {type(data).__name__}.")
    try:
        return data.to_pandas() if hasattr(data, "to_pandas") else pd.DataFrame(data)
    except ValueError as problem:
        raise DistaffError(
            f"the {type(data).__name__} is not a table: {str(problem).partition(chr(10))[0]}."
        ) from problem


def _matrix_of(data: Any, name: str) -> pd.DataFrame:
    """A matrix of an AnnData with the names of its rows and columns, like ``read_annotated`` for a file."""
    matrices = {"X": data.X, **dict(data.obsm), **dict(data.layers)}
    if name not in matrices:
        raise unknown("matrix of the AnnData", name, matrices)
    values = as_array(matrices[name])
    in_obsm = name in data.obsm and name not in data.layers
    columns = [f"{name}_{number}" for number in range(values.shape[1])] if in_obsm else data.var_names
    return pd.DataFrame(values, index=pd.Index(data.obs_names), columns=pd.Index(columns))


def from_torch(dataset: Any, names: Sequence[str] | None = None, channels: Channels = "auto") -> Dataset:
    """Copy a ``torch.utils.data.Dataset`` with a length into memory.

    Args:
        dataset: items are images (tensors, arrays or PIL), or tuples of an image and one or more labels, of
            which the first is read, or as many as there are names.
        names: one name per label.
        channels: the axis that holds the channels, if it is not clear from the shape.
    """
    name = type(dataset).__name__
    if not hasattr(dataset, "__len__") or not len(dataset):
        raise DistaffError(f"{name} has no length or no items: only finite data sets can be used.")
    items = [dataset[number] for number in progress(range(len(dataset)), f"reading {name}")]
    if isinstance(items[0], Mapping):
        keys = ", ".join(map(str, items[0]))
        raise DistaffError(
            f"items of {name} are dicts of {keys}: make them images, or tuples of an image and its labels."
        )
    if not isinstance(items[0], tuple | list):
        return from_array(_stacked(items, name), None, names, channels, name)
    images = _stacked([item[0] for item in items], name)
    if names is not None and 2 < len(names) + 1 == len(items[0]):
        columns = [_stacked([item[k] for item in items], name) for k in range(1, len(items[0]))]
        return with_factors(from_array(images, channels=channels, name=name), columns, names)
    labels = _stacked([item[1] for item in items], name) if len(items[0]) > 1 else None
    return from_array(images, labels, names, channels, name)


def from_hugging_face(dataset: Any, image: str = "image", factors: Sequence[str] = ()) -> Dataset:
    """Copy one split of a Hugging Face data set into memory.

    Args:
        dataset: a ``datasets.Dataset`` (not a dictionary of splits).
        image: the column of images.
        factors: the columns to use as factors.
    """
    columns = getattr(dataset, "column_names", None)
    if not isinstance(columns, list):
        raise DistaffError("give one split of a Hugging Face data set, such as dataset['train'].")
    for column in (image, *factors):
        if column not in columns:
            raise DistaffError(f"the data set has no column {column!r}: it has {', '.join(columns)}.")
    rows = progress(dataset, "reading the data set", len(dataset))
    name = str(getattr(getattr(dataset, "info", None), "dataset_name", None) or "hugging_face")
    data = from_array(_stacked([row[image] for row in rows], name), name=name)
    return with_factors(data, [np.array(dataset[column]) for column in factors], factors) if factors else data


def _stacked(items: Sequence[Any], name: str) -> NDArray[Any]:
    arrays = [as_array(item) for item in items]
    shapes = sorted({array.shape for array in arrays})
    if len(shapes) > 1:
        raise DistaffError(
            f"items of {name} have different shapes, {shapes[0]} and {shapes[1]}: bring them to one."
        )
    return np.stack(arrays)
