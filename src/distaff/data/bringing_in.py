"""Convert new data (files, frames, arrays, a photograph) in the same way as a model's training data."""

import io
from collections.abc import Callable, Mapping
from dataclasses import fields
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image

from distaff.codes import as_array
from distaff.data import arrays, folders, tables
from distaff.data.arrangements import Arrangement, Table
from distaff.data.arrays import from_array, labelled
from distaff.data.columns import Names
from distaff.data.dataset import Dataset
from distaff.data.frameworks import from_object, is_frame, to_frame
from distaff.data.images import BYTE, ByteImages, FloatImages, Scaled, ScaledImages
from distaff.data.opening import Beside, absent, checked, find_reader, names, open_told
from distaff.data.pictures import SUFFIXES, decode, upright
from distaff.data.ranges import OutOfRange
from distaff.data.signals import Signals
from distaff.data.sizes import resized
from distaff.foundation.binding import names_code
from distaff.foundation.errors import DistaffError
from distaff.foundation.files import ending

Shape = tuple[int, ...]
FILE = str | Path | Image.Image
RGB = 3


def bring_in(
    data: Any,
    shape: Shape,
    like: Arrangement | None = None,
    told: Mapping[str, Any] | None = None,
    /,
    **options: Any,
) -> Dataset:
    """Convert data of any kind that training accepts into observations for a trained model.

    Args:
        data: a path (a folder, an archive, a photograph, a table, a file of arrays), the name of a data set,
            a PIL image, a list of paths or of PIL images, a data frame or one of its rows, an array of one
            or many observations, or a data set.
        shape: the shape of the model's observations.
        like: how the model's training observations were derived from the user's data.
        told: the options given to the reader of the training data, which also apply here if possible.
        **options: further arguments of the reader of a file, such as ``labels="folders"``.
    """
    told = told or {}
    if isinstance(data, str | Path):
        found = _opened(Path(data), str(data), shape, like, told, options)
    elif isinstance(data, Dataset):
        found = data
    elif isinstance(data, Image.Image):
        found = _photograph(data, shape, like)
    elif is_frame(data) or isinstance(data, pd.Series | Mapping):
        found = _frame(data, shape, like, {**told, **options}.get("factors"))
    elif isinstance(data, list | tuple) and data and all(isinstance(one, FILE) for one in data):
        found = _together([bring_in(one, shape, like, told, **options) for one in data])
    elif isinstance(data, list | tuple) or is_given(data):
        found = _array(as_array(data), shape, like)
    else:
        found = from_object(data)
    return found


def is_given(data: Any) -> bool:
    """Whether ``data`` is user data that must be converted, not a store of the model's observations."""
    ours = np.ndarray | Dataset | Image.Image | pd.Series
    return isinstance(data, ours) or hasattr(data, "detach") or hasattr(data, "tocsr") or is_frame(data)


def _together(parts: list[Dataset]) -> Dataset:
    """Combine observations that were given one by one into one data set."""
    images = np.concatenate([part.images[:].numpy() for part in parts])
    named = [part.row_names for part in parts if part.row_names is not None]
    names = np.concatenate(named) if len(named) == len(parts) else None
    return Dataset(FloatImages(images), name="list", arrangement=parts[0].arrangement, row_names=names)


def _opened(
    path: Path,
    text: str,
    shape: Shape,
    like: Arrangement | None,
    told: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Dataset:
    suffix = ending(path)
    if text in names():
        return open_told(text, None, {**_known_to(text, told), **options})
    if not path.exists() and not names_code(text):
        raise absent(text)
    images = like if isinstance(like, Scaled) else _usual(shape)
    if path.is_dir() or suffix in (".zip", ".tar", ".tgz", ".gz", *SUFFIXES):
        if images is None:
            raise DistaffError(
                f"{path} holds images, but the model was trained on rows of {shape[0]} numbers."
            )
        known = _taken(folders.load, ("labels", "skip_bad", "fit"), told, options, path)
        if "labels" in options or known.get("labels") is None:
            return folders.load(path, **known, like=images)
        labels = known.pop("labels")
        found = folders.load(path, **known, like=images)
        try:
            return folders.labelled(found, labels)
        except DistaffError:  # the labels of the training images need not cover others
            return found
    if suffix in tables.SUFFIXES and isinstance(like, Table):
        known = _taken(tables.load, ("factors", "matrix"), told, options, path)
        return tables.load(path, **known, like=like)
    if suffix in tables.SUFFIXES:
        _refuse_rows(str(path), shape, like)
    if suffix in (".npz", ".npy", ".h5", ".hdf5"):
        known = {"key": "images", "channels": "auto"}
        known |= _taken(arrays.load, tuple(known), told, options, path)
        values, factors, titles, _ = arrays.read_arrays(path, known["key"])
        found = _array(values, shape, like, known["channels"], path.stem)
        return found if factors is None else labelled(found, factors, titles)
    return open_told(path, None, {**told, **options})


def _known_to(name: str, told: Mapping[str, Any]) -> dict[str, Any]:
    """The options that the reader of a named data set also accepts; the reader of a folder has more."""
    load, *_ = find_reader(name, None, {})
    known = {*signature(load).parameters, *(field.name for field in fields(Beside))}
    return {option: value for option, value in told.items() if option in known}


def _taken(
    load: Callable[..., Any],
    known: tuple[str, ...],
    told: Mapping[str, Any],
    options: Mapping[str, Any],
    path: Path,
) -> dict[str, Any]:
    """The arguments of the reader for new data: only options that may differ from training are allowed."""
    for name, value in options.items():
        if name not in known and told.get(name) != value:
            raise DistaffError(
                f"new data are read like those of training, so {path.name} cannot have the option "
                f"{name}={value}, only {' or '.join(known)}."
            )
    chosen = {name: value for name, value in {**told, **options}.items() if name in known}
    return checked(load, chosen, path.name)


def _refuse_rows(table: str, shape: Shape, like: Arrangement | None) -> None:
    """Raise an error if the model takes images or signals, which a table cannot hold."""
    if len(shape) > 1:
        kind = "signals" if isinstance(like, Signals) else "images"
        raise DistaffError(f"{table} is a table, but the model was trained on {kind} of shape {shape}.")


def _usual(shape: Shape) -> Scaled | None:
    return Scaled(shape) if len(shape) == 3 else None


def _photograph(picture: Image.Image, shape: Shape, like: Arrangement | None) -> Dataset:
    how = like if isinstance(like, Scaled) else _usual(shape)
    if how is None:
        raise DistaffError("a photograph was given, but the model was trained on rows of numbers.")
    picture = upright(picture)
    with io.BytesIO() as file:
        picture.save(file, "TIFF")
        if how.fit is None and picture.size != shape[:0:-1]:
            raise DistaffError(
                f"the photograph is {picture.width}×{picture.height}, but the model was trained on images of "
                f"{shape[2]}×{shape[1]} that were not scaled: scale it first."
            )
        mode = {1: "L", 4: "RGBA"}.get(shape[0], "RGB")
        mode = "F" if picture.mode[0] in "IF" and mode == "L" else mode
        size = (shape[1], shape[2])
        pixels = decode(file.getvalue(), "the photograph", mode, size, fit=how.fit or "squash")
    if how.told:
        low, high = how.low, how.high
    else:  # Pillow gives some files of 16 bits as whole numbers of 32
        low, high = folders.own_range(pixels[None], mode, picture.mode.startswith("I"), "the photograph")
    return Dataset(ScaledImages(pixels[None], low, high, channels_last=True), name="photograph")


def _frame(data: Any, shape: Shape, like: Arrangement | None, factors: Names = None) -> Dataset:
    where = f"the {type(data).__name__}"
    if isinstance(data, Mapping):
        alone = not any(isinstance(column, list | tuple | np.ndarray | pd.Series) for column in data.values())
        data = pd.DataFrame([data] if alone else data)
    elif isinstance(data, pd.Series):
        data = data.to_frame().T.infer_objects()
    if isinstance(like, Table):
        matrix = like.matrix if hasattr(data, "var_names") else None
        return tables.from_frame(to_frame(data, matrix=matrix), factors=factors, like=like, where=where)
    if not isinstance(like, Signals):
        _refuse_rows(where, shape, like)
    return _array(to_frame(data).to_numpy(), shape, like)


def _array(
    values: NDArray[Any],
    shape: Shape,
    like: Arrangement | None,
    channels: arrays.Channels = "auto",
    name: str = "array",
) -> Dataset:
    if not values.size:
        raise DistaffError(f"{'the array' if name == 'array' else name} holds no observations.")
    if isinstance(like, Table):
        rows = values[None] if values.ndim == 1 else values
        if rows.ndim != 2 or rows.shape[1] != len(like.columns):
            raise DistaffError(
                f"rows of shape {rows.shape[1:]} do not fit a model of {len(like.columns)} columns."
            )
        headings = [c.name for c in like.columns] if like.named else range(rows.shape[1])
        return like.dataset(pd.DataFrame(rows, columns=list(headings)), name, "the array")
    if isinstance(like, Signals):
        return like.dataset(values, name)
    if len(shape) == 3:
        values = _many(values, shape)
        channels = channels if channels != "auto" else _channels(values.shape, shape)
    elif values.ndim == len(shape):
        values = values[None]
    if not isinstance(like, Scaled) or len(shape) != 3:
        return from_array(values, channels=channels, name=name)
    found = _in_range(values, like, channels, name)
    return resized(found, (shape[1], shape[2]), like.fit, not like.told) if like.fit else found


def _many(values: NDArray[Any], shape: Shape) -> NDArray[Any]:
    """Add a batch axis to one image: (H, W) for grey, (H, W, C) or (C, H, W) for colour.

    For a model of colour images, the grey level is repeated in all three channels, as for files.
    """
    if shape[0] == 1:
        alone = values.ndim == 2 or (values.ndim == 3 and values.shape[2] == 1)
        return values.reshape(1, *values.shape[:2]) if alone else values
    if values.ndim == 3 and shape[0] in (values.shape[0], values.shape[2]):
        return values[None]
    if values.ndim in (2, 3) and shape[0] == RGB:
        return np.repeat(values.reshape(-1, 1, *values.shape[-2:]), RGB, axis=1)
    return values


def _channels(given: Shape, shape: Shape) -> arrays.Channels:
    """The axis that holds the channels, from the number that the model takes."""
    if len(given) != 4:
        return "auto"
    first, last = given[1] == shape[0], given[3] == shape[0]
    return "first" if first else "last" if last else "auto"


def _in_range(values: NDArray[Any], like: Scaled, channels: arrays.Channels, name: str) -> Dataset:
    if like.told:
        return from_array(values, channels=channels, name=name, range=f"{like.low!r}:{like.high!r}")
    if values.dtype.kind in "ui" and like.high == BYTE and 0 <= values.min() <= values.max() <= BYTE:
        grey = values[:, None] if values.ndim == 3 else values
        return Dataset(ByteImages(grey.astype(np.uint8, copy=False), channels == "last"), name=name)
    try:
        return from_array(values, channels=channels, name=name)
    except OutOfRange:
        raise DistaffError(
            f"images of {name} run from {values.min():g} to {values.max():g}, but the model was trained on "
            "values of 0–1 or on whole numbers of 0–255: bring them there first."
        ) from None
