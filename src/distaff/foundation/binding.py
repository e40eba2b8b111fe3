"""Functions and their plain calls: found by name, arguments checked against the signature, written as YAML.

A call in a file or on a command line is a name and plain values. ``bind`` converts the values to the
function's arguments by its type hints, with a one-sentence error for anything that does not fit.
"""

import dataclasses
import importlib
import inspect
import pkgutil
import re
import sys
import types
import typing
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union

from pydantic import ConfigDict, TypeAdapter, ValidationError

from distaff.foundation.errors import DistaffError, shown, unknown
from distaff.foundation.trust import NotTrusted, refuse_unless_trusted

ADDED_LATER = {"added_later": True}
"""Metadata of a field that earlier versions did not have: its default value is not stored, so that an earlier
run is still the same run, with the same name."""
CODE = re.compile(r"[^\W\d][\w.]*:[^\W\d]\w*")
"""``package.module:function``, the form of every imported name."""
UNIONS = (types.UnionType, Union)
"""``A | B`` is of the second kind if A or B is a generic alias, such as ``Dataset[Any]``."""
WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    str: "text",
    bool: "true or false",
    type(None): "nothing",
}

Made = TypeVar("Made")
_folder: ContextVar[Path | None] = ContextVar("folder", default=None)


def public_functions(module: types.ModuleType) -> dict[str, Callable[..., Any]]:
    """The functions that a module defines, or that a package exports from its own modules, by name."""
    return {
        name: member
        for name, member in inspect.getmembers(module, inspect.isfunction)
        if _is_public(module, name, member)
    }


def functions_of_files(package: str, places: Iterable[str]) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public functions that the files of a package define, with their names."""
    for file in pkgutil.iter_modules(places):
        yield from public_functions(importlib.import_module(f"{package}.{file.name}")).items()


def _is_public(module: types.ModuleType, name: str, member: Any) -> bool:
    home = f"{getattr(member, '__module__', '')}."
    return inspect.isfunction(member) and home.startswith(f"{module.__name__}.") and name[:1] != "_"


def find_function(
    kind: str, name: str, home: types.ModuleType | Mapping[str, Callable[..., Any]]
) -> Callable[..., Any]:
    """Find a function by its name in a module or mapping, or any other by ``package.module:function``."""
    if ":" not in name:
        if isinstance(home, types.ModuleType) and _is_public(home, name, found := vars(home).get(name)):
            return typing.cast(Callable[..., Any], found)
        known = public_functions(home) if isinstance(home, types.ModuleType) else home
        if name not in known:
            raise unknown(kind, name, known)
        return known[name]
    found = imported(kind, name)
    if not callable(found):
        raise DistaffError(f"the {kind} {name!r} is a {type(found).__name__}, not a function.")
    return typing.cast(Callable[..., Any], found)


def imported(kind: str, name: str) -> Any:
    """What ``package.module:name`` stands for, be it a function or any other thing.

    All imports by name happen here; see ``trust`` for what a folder may name.
    """
    place, _, attribute = name.partition(":")
    if not CODE.fullmatch(name):
        raise DistaffError(f"the {kind} {name!r} is not a name: write package.module:function.")
    allow({name: kind})
    try:
        return getattr(importlib.import_module(place), attribute)
    except Exception as error:  # importing a module can fail in any way
        lost = isinstance(error, ModuleNotFoundError) and f"{place}.".startswith(f"{error.name}.")
        folder = (
            f"run from the folder that holds {place.partition('.')[0]!r}, or put that folder on PYTHONPATH"
        )
        hint = f"; {folder}" if lost else ""
        if isinstance(error, AttributeError) and error.obj is sys.modules.get(place):
            there = get_close_matches(attribute, dir(error.obj), n=1)
            hint = f": did you mean {place}:{there[0]}?" if there else ""
            raise DistaffError(f"the {kind} {name!r} cannot be imported: {error}{hint or '.'}") from error
        raise DistaffError(f"the {kind} {name!r} cannot be imported: {error}{hint}.") from error


@contextmanager
def words_of(folder: Path) -> Iterator[None]:
    """Treat names that are looked up within this context as those of a folder, not of the caller."""
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


@contextmanager
def words_of_file(file: Path, advice: str) -> Iterator[None]:
    """Like ``words_of`` the folder of a file; errors name the file, and end with the advice."""
    try:
        with words_of(file.parent):
            yield
    except NotTrusted:
        raise
    except DistaffError as problem:
        words = str(problem).removesuffix(".")
        raise DistaffError(f"{file}: {words}: {advice}.") from problem


def allow(code: Mapping[str, str]) -> None:
    """Raise unless names such as ``mine:net``, each with its kind, come from the caller or are trusted."""
    if (folder := _folder.get()) is not None:
        for name, kind in code.items():
            refuse_unless_trusted(folder, kind, name)


def names_code(text: str) -> bool:
    """Whether a text is ``package.module:function``.

    >>> names_code("mine:discs"), names_code("photos/new"), names_code("dsprites")
    (True, False, False)
    """
    return CODE.fullmatch(text) is not None


def bind(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """All arguments of a call, including defaults, checked and converted from plain values if needed.

    >>> def recipe(beta: float, steps: int = 10): ...
    >>> bind(recipe, {"beta": 4})
    {'beta': 4.0, 'steps': 10}
    """
    parameters, hints = _signature(function)
    for name in arguments:
        if name not in parameters:
            raise unknown(f"argument of {function.__name__}", name, parameters)
    bound = {}
    for name, parameter in parameters.items():
        value = arguments.get(name, parameter.default)
        if value is inspect.Parameter.empty:
            raise DistaffError(f"{function.__name__} needs the argument {name!r}.")
        bound[name] = read_value(value, hints.get(name, Any), name)
    return bound


def chosen(kind: Callable[..., Made], given: Mapping[str, Any]) -> Made:
    """What ``kind`` makes of those of the given values that are its arguments, checked."""
    parameters, _ = _signature(kind)
    return kind(**bind(kind, {name: given[name] for name in parameters if name in given}))


def _signature(function: Callable[..., Any]) -> tuple[Mapping[str, inspect.Parameter], dict[str, Any]]:
    """A function's parameters and their types; cached, since a study needs them once per run."""
    known = _known_signature if isinstance(function, Hashable) else _known_signature.__wrapped__
    return known(function)


@lru_cache(maxsize=256)
def _known_signature(function: Callable[..., Any]) -> tuple[Mapping[str, inspect.Parameter], dict[str, Any]]:
    return inspect.signature(function).parameters, types_of(function)


def types_of(function: Callable[..., Any], *, extras: bool = True) -> dict[str, Any]:
    """The types of a function's arguments by name; those that name nothing are one sentence.

    Args:
        function: anybody's.
        extras: keep what ``Annotated`` says beside a type.
    """
    try:
        return typing.get_type_hints(function, include_extras=extras)
    except Exception as problem:  # a hint may be any text
        name = getattr(function, "__name__", type(function).__name__)
        raise DistaffError(f"the type hints of {name} cannot be read: {problem}.") from problem


def read_value(value: Any, hint: Any, name: str) -> Any:
    """Convert a plain value to the type ``hint``; errors call it ``name``."""
    options = options_of(hint)
    for option in options:
        if isinstance(value, str) and hasattr(option, "parse"):
            return option.parse(value)
        if _is_dataclass(option) and isinstance(value, Mapping) and not hasattr(option, "parse"):
            return option(**bind(option, value))
    if isinstance(value, bool) and bool not in options and Any not in options:
        raise DistaffError(f"{name} must be {wanted(hint)}, not {shown(value)}.")
    try:
        return _adapter(hint).validate_python(value)
    except ValidationError as problem:
        raise DistaffError(f"{name} must {_sentence(problem, hint)}, not {shown(value)}.") from None


SCALARS = (str, int, float, bool, type(None))


def to_plain(value: Any) -> Any:
    """Convert arguments to YAML values: dataclasses become mappings unless they have a text form."""
    if type(value) in SCALARS:  # most values are, and studies convert thousands
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        if type(value).__str__ is not object.__str__:
            return str(value)
        return {
            f.name: to_plain(item)
            for f in dataclasses.fields(value)
            if _told(f, item := getattr(value, f.name))
        }
    if isinstance(value, Mapping):
        return {key: to_plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [to_plain(item) for item in value]
    return value


def _told(field: dataclasses.Field[Any], value: Any) -> bool:
    return not field.metadata.get("added_later") or value != field.default


def options_of(hint: Any) -> tuple[Any, ...]:
    """The types that a hint allows: the members of a union, or the type itself; without annotations."""
    if typing.get_origin(hint) is Annotated:
        return options_of(typing.get_args(hint)[0])
    if typing.get_origin(hint) in UNIONS:
        return tuple(option for part in typing.get_args(hint) for option in options_of(part))
    return (hint,)


def takes_list(hint: Any) -> bool:
    """Whether a hint is a list."""
    return any(typing.get_origin(option) in (tuple, list, Sequence) for option in options_of(hint))


def _is_dataclass(option: Any) -> bool:
    return isinstance(option, type) and dataclasses.is_dataclass(option)


@lru_cache(maxsize=1024)
def _adapter(hint: Any) -> TypeAdapter[Any]:
    # A dataclass has its own configuration; other types may contain classes that pydantic does not know.
    config = None if _is_dataclass(hint) else ConfigDict(arbitrary_types_allowed=True)
    return TypeAdapter(hint, config=config)


def _sentence(problem: ValidationError, hint: Any) -> str:
    """What is required of a refused value, as the words after "must"."""
    found = [error for error in problem.errors(include_url=False) if error["type"] != "none_required"]
    crossed = [error.get("ctx", {}) for error in found]
    crossed = [ctx for ctx in crossed if ctx.keys() & {"ge", "gt", "lt", "le"}] or crossed
    if not crossed or any(bounds != crossed[0] for bounds in crossed):
        return f"be {wanted(hint)}"
    each = "each " if takes_list(hint) else ""
    match crossed[0]:
        case {"ge": low}:
            return f"{each}not be negative" if low == 0 else f"{each}be at least {low}"
        case {"gt": low}:
            return f"{each}be positive" if low == 0 else f"{each}be more than {low}"
        case {"lt": high}:
            return f"{each}be less than {high}"
        case {"le": high}:
            return f"{each}be at most {high}"
    return f"be {wanted(hint)}"


def wanted(hint: Any) -> str:
    """What a hint allows, in words."""
    words = []
    for option in options_of(hint):
        if typing.get_origin(option) is Literal:
            words += [str(choice) for choice in typing.get_args(option)]
        elif typing.get_origin(option) is tuple:
            words.append(f"a list of {len(typing.get_args(option))}")
        elif typing.get_origin(option) is not None:
            words.append("a list")
        else:
            words.append(WORDS.get(option, getattr(option, "__name__", str(option))))
    return " or ".join(words)
