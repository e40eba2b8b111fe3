"""Where observations come from: one file per data set, each with a ``load() -> Dataset``.

- ``open_dataset`` opens any by name, file or folder; ``names`` lists those with names, and
  ``distaff.data.NAME.load()`` opens one of them (its ``ABOUT`` says what it is).
- ``from_array``, ``from_torch``, ``from_hugging_face`` make a ``Dataset`` of what you have.
- ``BitImages``, ``ByteImages``, ``FloatImages`` are the ``Images`` that a ``Dataset`` can hold.
- ``split``, ``some``, ``some_rows``, ``without`` take parts of one; ``measure_strokes`` measures drawn
  characters.

To add a data set, write one file here with ``load()`` and an ``ABOUT = About(...)``: it is found by being
there, and the arguments of ``load`` are its options.

>>> import distaff
>>> distaff.data.pinwheel.load(count=80)
pinwheel: 80 × (2,), arm 4
"""

from importlib import import_module
from inspect import signature
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from distaff.data import arrays, folders, tables
from distaff.data.about import About
from distaff.data.arrays import from_array
from distaff.data.dataset import Dataset
from distaff.data.frameworks import from_hugging_face, from_torch
from distaff.data.images import BitImages, ByteImages, FloatImages, Images
from distaff.data.pictures import Fit
from distaff.data.sizes import resized
from distaff.data.splits import some, some_rows, split, without
from distaff.data.strokes import measure_strokes
from distaff.foundation.errors import DistaffError, unknown

__all__ = [
    "About",
    "BitImages",
    "ByteImages",
    "Dataset",
    "FloatImages",
    "Images",
    "from_array",
    "from_hugging_face",
    "from_torch",
    "measure_strokes",
    "names",
    "open_dataset",
    "some",
    "some_rows",
    "split",
    "without",
]


def __getattr__(name: str) -> ModuleType:
    """The file of a data set, as in ``distaff.data.dsprites.load()``, imported when it is asked for."""
    if not name.startswith("_") and any(module.name == name for module in iter_modules(__path__)):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'distaff.data' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *names()]


def names() -> tuple[str, ...]:
    """The data sets known by name: the files of this folder that describe themselves in an ``ABOUT``."""
    modules = (module.name for module in iter_modules(__path__))
    return tuple(name for name in modules if hasattr(import_module(f"{__name__}.{name}"), "ABOUT"))


def open_dataset(spec: str | Path, file: str | Path | None = None, **options: Any) -> Dataset:
    """The data set of a known name, of a table, a file of arrays, or a folder or archive of images.

    Args:
        spec: ``"dsprites"``, ``"my.npz"``, ``"my.h5"``, ``"my.csv"``, ``"photos/"`` or ``"photos.zip"``.
        file: for a known name, where the official file is, instead of the built-in images or the usual place.
        options: what that data set's ``load`` takes beside, such as ``part="test"``; ``resize=64`` scales the
            images of any.

    Returns:
        The data set.

    >>> open_dataset("pinwheel", count=80)
    pinwheel: 80 × (2,), arm 4
    """
    path = Path(spec)
    if str(spec) in names():
        load = import_module(f"{__name__}.{spec}").load
        options = options if file is None else {"file": file, **options}
    elif file is not None:
        raise DistaffError(
            f"a file goes with a data set known by name ({', '.join(names())}), not with {spec}."
        )
    elif path.suffix in tables.SUFFIXES:
        load, options = tables.load, {"file": path, **options}
    elif path.is_dir() or path.suffix in (".zip", ".tar", ".tgz", ".gz"):
        load, options = folders.load, {"folder": path, **options}
    elif path.suffix in (".npz", ".npy", ".h5", ".hdf5"):
        load, options = arrays.load, {"file": path, **options}
    elif path.exists():
        raise DistaffError(
            f"{path} is not a kind of file that can be read: give an .npz, .npy, .h5,"
            " .csv, .parquet or a folder of images."
        )
    elif len(path.parts) > 1 or path.suffix:
        raise DistaffError(f"there is no file or folder {path}.")
    else:
        raise unknown("data set", str(spec), names())
    known = signature(load).parameters
    side: int | None = None
    fit: Fit = "squash"
    if "resize" not in known:
        side, fit = options.pop("resize", None), options.pop("fit", "squash")
    for option in options:
        if option not in known:
            raise unknown(f"option of {spec}", option, [name for name in known if name != "like"])
    data: Dataset = load(**options)
    return data if side is None else resized(data, side, fit)
