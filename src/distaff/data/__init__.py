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

from dataclasses import replace
from difflib import get_close_matches
from importlib import import_module
from inspect import signature
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, Literal, get_origin, get_type_hints

from distaff.data import arrays, correlated_factors, folders, left_out, tables
from distaff.data.about import About
from distaff.data.arrays import from_array
from distaff.data.dataset import Dataset
from distaff.data.frameworks import from_hugging_face, from_object, from_torch
from distaff.data.images import BitImages, ByteImages, FloatImages, Images
from distaff.data.pictures import Fit
from distaff.data.sizes import check_side, resized
from distaff.data.splits import some, some_rows, split, without
from distaff.data.strokes import measure_strokes
from distaff.foundation.binding import find_function, names_code, read_value
from distaff.foundation.errors import DistaffError, spoken_to_its_caller, unknown
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


def _absent(spec: str) -> DistaffError:
    """The error for data that are not here and not known by name, with what may have been meant."""
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
    """The data set of a known name, of a table, a file of arrays, or a folder or archive of images.

    Args:
        spec: ``"dsprites"``, ``"my.npz"``, ``"my.h5"``, ``"my.csv"``, ``"photos/"`` or ``"photos.zip"``; or
            ``"mine:discs"``, a function of your own that returns a ``Dataset``, an array or a data frame.
        file: for a known name, where the official file is, instead of the built-in images or the usual place.
        options: what that data set's ``load`` takes beside, such as ``part="test"``. For any, ``resize=64``
            scales the images, ``leave_out="composition"`` leaves combinations of factors out (see
            ``left_out``; ``left_out=True`` gives what was left out instead), and
            ``correlate="scale,posX:0.4"`` ties two factors to each other.

    Returns:
        The data set.

    >>> open_dataset("pinwheel", count=80)
    pinwheel: 80 × (2,), arm 4
    """
    path = named_path(spec)
    if str(spec) in names():
        load = import_module(f"{__name__}.{spec}").load
        options = options if file is None else {"file": file, **options}
    elif file is not None:
        raise DistaffError(
            f"a file goes with a data set known by name ({', '.join(names())}), not with {spec}."
        )
    elif names_code(str(spec)) and not path.exists():
        load = find_function("data set", str(spec), {})
    elif path.suffix in tables.SUFFIXES:
        load, options = tables.load, {"file": path, **options}
    elif path.is_dir() or path.suffix in (".zip", ".tar", ".tgz", ".gz"):
        load, options = folders.load, {"folder": path, **options}
    elif path.suffix in (".npz", ".npy", ".h5", ".hdf5"):
        load, options = arrays.load, {"file": path, **options}
    elif path.exists():
        raise DistaffError(
            f"{path} is not a kind of file that can be read: give an .npz, .npy, .h5,"
            " .csv, .parquet, .h5ad or a folder of images."
        )
    else:
        raise _absent(str(spec))
    known = signature(load).parameters
    side: int | None = None
    fit: Fit = "squash"
    if "resize" not in known:
        side, fit = options.pop("resize", None), options.pop("fit", "squash")
    combinations, wanted = options.pop("leave_out", None), bool(options.pop("left_out", False))
    tie = options.pop("correlate", None)
    for option in options:
        if option not in known:
            what = path.name if path.exists() else spec
            raise unknown(f"option of {what}", option, [name for name in known if name != "like"])
    hints = get_type_hints(load, include_extras=True)
    options = {
        name: value
        if isinstance(value, str) and get_origin(hints.get(name)) is Literal  # whose near misses load knows
        else read_value(value, hints.get(name, Any), name)
        for name, value in options.items()
    }
    if options.get("resize") is not None:
        check_side(options["resize"])
    made = load(**options)
    data = made if isinstance(made, Dataset) else replace(from_object(made), name=load.__name__)
    if tie is not None:
        data = correlated_factors.tied(data, str(tie))
    if combinations is not None:
        data = left_out.leave_out(data, str(combinations))[int(wanted)]
    return data if side is None else resized(data, read_value(side, int, "resize"), fit)
