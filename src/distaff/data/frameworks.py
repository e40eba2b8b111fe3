"""Data sets of other libraries: any ``torch.utils.data.Dataset``, and Hugging Face ``datasets``."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import Dataset as TorchDataset

from distaff.codes import as_array
from distaff.data.arrays import Channels, from_array, with_factors
from distaff.data.dataset import Dataset
from distaff.foundation.errors import DistaffError
from distaff.foundation.progress import progress


def from_object(data: Any) -> Dataset:
    """The data set that an object of another library is: Hugging Face's, torch's, or an array."""
    if hasattr(data, "column_names"):
        return from_hugging_face(data)
    return from_torch(data) if isinstance(data, TorchDataset) else from_array(data)


def from_torch(dataset: Any, names: Sequence[str] | None = None, channels: Channels = "auto") -> Dataset:
    """Copy a ``torch.utils.data.Dataset`` with a length into memory.

    Args:
        dataset: its items are images (tensors, arrays or PIL), or pairs of an image and a label or labels.
        names: one name per label.
        channels: which axis holds the channels, where the shape leaves it open.
    """
    name = type(dataset).__name__
    if not hasattr(dataset, "__len__") or not len(dataset):
        raise DistaffError(f"{name} has no length or no items: only finite data sets can be used.")
    items = [dataset[number] for number in progress(range(len(dataset)), f"reading {name}")]
    if not isinstance(items[0], tuple | list):
        return from_array(_stacked(items, name), None, names, channels, name)
    images = _stacked([item[0] for item in items], name)
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
