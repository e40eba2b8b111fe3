"""Data sets: one file per data set, each with a ``load() -> Dataset``.

- ``open_dataset`` opens any data set by name, file or folder; ``names`` lists the named ones, and
  ``distaff.data.NAME.load()`` opens one of them (its ``ABOUT`` describes it).
- ``from_array``, ``from_torch``, ``from_hugging_face`` turn your own data into a ``Dataset``.
- ``BitImages``, ``ByteImages``, ``FloatImages`` are the ``Images`` that a ``Dataset`` can hold.
- ``split``, ``some``, ``some_rows``, ``without`` select parts of a data set; ``measure_strokes`` measures
  drawn characters.

To add a data set, write one file here with ``load()`` and an ``ABOUT = About(...)``: it is found
automatically, and the arguments of ``load`` are its options.
>>> import distaff
>>> distaff.data.pinwheel.load(count=80)
pinwheel: 80 × (2,), arm 4
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from difflib import get_close_matches
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
from distaff.data.frameworks import from_hugging_face, from_object, from_torch
from distaff.data.images import BitImages, ByteImages, FloatImages, Images
from distaff.data.options import Beside, checked, refuse_lack
from distaff.data.splits import some, some_rows, split, without
from distaff.data.strokes import measure_strokes
from distaff.foundation.binding import find_function, names_code
from distaff.foundation.errors import DistaffError, spoken_to_its_caller, told_if_it_fails, unknown
from distaff.foundation.files import named_path

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
    """The module of a data set, as in ``distaff.data.dsprites.load()``, imported on first use."""
    if not name.startswith("_") and any(module.name == name for module in iter_modules(__path__)):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'distaff.data' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *names()]


def names() -> tuple[str, ...]:
    """The names of all named data sets: the modules of this room that define an ``ABOUT``."""
    modules = (module.name for module in iter_modules(__path__))
    return tuple(name for name in modules if hasattr(import_module(f"{__name__}.{name}"), "ABOUT"))


def absent(spec: str) -> DistaffError:
    """The error for data that neither exist here nor are known by name, with suggestions."""
    path = Path(spec)
    there = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
    near = [str(path.with_name(name)) for name in get_close_matches(path.name, there, n=2, cutoff=0.7)]
    if near:
        return DistaffError(f"there is no file or folder {spec}: did you mean {' or '.join(near)}?")
    if len(path.parts) > 1 or path.suffix or spec.endswith("/"):
        return DistaffError(f"there is no file or folder {spec}.")
    problem = unknown("data set", spec, names())
    return DistaffError(f"there is no file or folder {spec} here, nor a data set of that name: {problem}")


@spoken_to_its_caller
def open_dataset(spec: str | Path, file: str | Path | None = None, **options: Any) -> Dataset:
    """Open a data set by name, or from a table, a file of arrays, or a folder or archive of images.

    Args:
        spec: ``"dsprites"``, ``"my.npz"``, ``"my.h5"``, ``"my.csv"``, ``"photos/"`` or ``"photos.zip"``; or
            ``"mine:discs"``, your own function that returns a ``Dataset``, an array or a data frame.
        file: for a named data set, the official file, if it is not in the default location or to be used
            instead of the built-in images.
        options: further arguments of the data set's ``load``, such as ``part="test"``. For any data set,
            ``resize=64`` scales the images, ``leave_out="composition"`` leaves out combinations of factors
            (see ``left_out``; ``left_out=True`` returns those left out instead), and
            ``correlate="scale,posX:0.4"`` correlates two factors.

    Returns:
        The data set.

    >>> open_dataset("pinwheel", count=80)
    pinwheel: 80 × (2,), arm 4
    """
    return open_told(spec, file, options)


def open_told(spec: str | Path, file: str | Path | None, options: Mapping[str, Any]) -> Dataset:
    """Like ``open_dataset``, with options passed as a mapping, so that they may have any name."""
    load, arguments, beside = find_reader(spec, file, options)
    with told_if_it_fails("data set", load):
        made = load(**arguments)
    data = made if isinstance(made, Dataset) else replace(from_object(made), name=load.__name__)
    return beside.done_to(data)


def find_reader(
    spec: str | Path, file: str | Path | None, options: Mapping[str, Any]
) -> tuple[Callable[..., Any], dict[str, Any], Beside]:
    """The function that reads a data set, its arguments, and the general options; all are checked."""
    load, own = _reader(spec, file)
    what = named_path(spec).name if named_path(spec).exists() else str(spec)
    general = {field.name for field in fields(Beside)}.difference(signature(load).parameters)
    beside = {name: value for name, value in options.items() if name in general}
    told = {name: value for name, value in options.items() if name not in general}
    arguments = {**own, **checked(load, told, what, tuple(own))}
    refuse_lack(load, arguments, what)
    return load, arguments, Beside(**checked(Beside, beside, what))


def _reader(spec: str | Path, file: str | Path | None) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The function that reads ``spec``, and those of its arguments that are not options."""
    path = named_path(spec)
    if str(spec) in names():
        return import_module(f"{__name__}.{spec}").load, {} if file is None else {"file": file}
    if file is not None:
        raise DistaffError(f"--file is for a data set known by name ({', '.join(names())}), not for {spec}.")
    if names_code(str(spec)) and not path.exists():
        return find_function("data set", str(spec), {}), {}
    if path.suffix in tables.SUFFIXES:
        return tables.load, {"file": path, "like": None}
    if path.is_dir() or path.suffix in (".zip", ".tar", ".tgz", ".gz"):
        return folders.load, {"folder": path, "like": None}
    if path.suffix in (".npz", ".npy", ".h5", ".hdf5"):
        return arrays.load, {"file": path}
    if path.exists():
        raise DistaffError(
            f"{path} is not a supported kind of file: give an .npz, .npy, .h5,"
            " .csv, .parquet, .h5ad or a folder of images."
        )
    raise absent(str(spec))
