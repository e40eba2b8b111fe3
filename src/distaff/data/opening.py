"""Open a data set: find the reader of a name, a file or a folder, and check the options that it is given."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from inspect import signature
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Literal, get_args, get_origin

from distaff.data import arrays, correlated_factors, folders, tables
from distaff.data import left_out as combinations
from distaff.data.dataset import Dataset
from distaff.data.frameworks import from_object
from distaff.data.pictures import Fit
from distaff.data.sizes import check_side, resized
from distaff.foundation.binding import find_function, names_code, read_value, types_of
from distaff.foundation.errors import DistaffError, spoken_to_its_caller, told_if_it_fails, unknown
from distaff.foundation.files import ending, named_path

ROOM = __name__.rpartition(".")[0]


def names() -> tuple[str, ...]:
    """The names of all named data sets: the modules of this room that define an ``ABOUT``."""
    return _names_in(tuple(import_module(ROOM).__path__))


@cache
def _names_in(places: tuple[str, ...]) -> tuple[str, ...]:
    modules = (module.name for module in iter_modules(places))
    return tuple(name for name in modules if hasattr(import_module(f"{ROOM}.{name}"), "ABOUT"))


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


@dataclass(frozen=True)
class Beside:
    """Options that apply to any data set, unless its reader handles them itself.

    Args:
        resize: the side that images are scaled to.
        fit: how to fit images that are not square.
        correlate: two factors to correlate, such as ``scale,posX:0.4``.
        leave_out: combinations of factors to leave out, see ``distaff.data.left_out``.
        left_out: return what was left out instead.
    """

    resize: int | None = None
    fit: Fit | None = None
    correlate: str | None = None
    leave_out: str | None = None
    left_out: bool = False

    def done_to(self, data: Dataset) -> Dataset:
        """Apply all of these to a data set."""
        if self.correlate is not None:
            data = correlated_factors.tied(data, self.correlate)
        if self.leave_out is not None:
            data = combinations.leave_out(data, self.leave_out)[int(self.left_out)]
        if self.resize is not None:
            return resized(data, self.resize, self.fit or "squash")
        if self.fit is not None:
            raise DistaffError("--fit is for scaling images: give --resize 64 too, or leave it out.")
        return data


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
        return import_module(f"{ROOM}.{spec}").load, {} if file is None else {"file": file}
    if file is not None:
        raise DistaffError(f"--file is for a data set known by name ({', '.join(names())}), not for {spec}.")
    if names_code(str(spec)) and not path.exists():
        return find_function("data set", str(spec), {}), {}
    kind = ending(path)
    if kind in tables.SUFFIXES:
        return tables.load, {"file": path, "like": None}
    if path.is_dir() or kind in (".zip", ".tar", ".tgz", ".gz"):
        return folders.load, {"folder": path, "like": None}
    if kind in (".npz", ".npy", ".h5", ".hdf5"):
        return arrays.load, {"file": path}
    if path.exists():
        raise DistaffError(
            f"{path} is not a supported kind of file: give an .npz, .npy, .h5,"
            " .csv, .parquet, .h5ad or a folder of images."
        )
    raise absent(str(spec))


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


def checked(
    load: Callable[..., Any], options: Mapping[str, Any], what: str, hidden: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Convert options to arguments of ``load``."""
    known = [name for name in signature(load).parameters if name not in hidden]
    for name in options:
        if name not in known:
            raise unknown(f"option of {what}", name, known)
    hints = types_of(load)
    told = {name: _value(name, value, hints.get(name, Any), what) for name, value in options.items()}
    if told.get("resize") is not None:
        check_side(told["resize"])
    return told


def refuse_lack(load: Callable[..., Any], arguments: Mapping[str, Any], what: str) -> None:
    """Raise if a reader needs an argument that it is not given."""
    for name, parameter in signature(load).parameters.items():
        several = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if parameter.default is parameter.empty and not several and name not in arguments:
            raise DistaffError(f"{what} needs {name}: say it, as in --data-options {name}=3.")


def _value(name: str, value: Any, hint: Any, what: str) -> Any:
    if isinstance(value, str) and get_origin(hint) is Literal and value not in get_args(hint):
        raise unknown(f"{name} of {what}", value, map(str, get_args(hint)))
    return read_value(value, hint, name)
