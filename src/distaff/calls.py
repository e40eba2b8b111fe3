"""Calls written down: functions found by name, their arguments checked, both as plain YAML and back."""

import dataclasses
import importlib
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from distaff.errors import DistaffError, unknown

ADDED_LATER = {"added_later": True}
"""Metadata of a field that first runs did not have: at its default it is not written down, so that a run made
before it is still the same run, under the same name."""


def public_functions(module: types.ModuleType) -> dict[str, Callable[..., Any]]:
    """The functions that a module itself defines, by name: adding one there is all it takes to be found."""
    return {
        name: member
        for name, member in inspect.getmembers(module, inspect.isfunction)
        if member.__module__ == module.__name__ and not name.startswith("_")
    }


def find_function(kind: str, name: str, module: types.ModuleType) -> Callable[..., Any]:
    """A function of ``module`` by its name, or any other by ``package.module:function``."""
    place, colon, attribute = name.partition(":")
    if not colon:
        known = public_functions(module)
        if name not in known:
            raise unknown(kind, name, known)
        return known[name]
    try:
        found = getattr(importlib.import_module(place), attribute)
    except (ImportError, AttributeError) as error:
        lost = isinstance(error, ModuleNotFoundError) and f"{place}.".startswith(f"{error.name}.")
        folder = f"run from the folder that holds {place.partition('.')[0]!r}, or put it on PYTHONPATH"
        hint = f"; {folder}" if lost else ""
        raise DistaffError(f"the {kind} {name!r} cannot be imported: {error}{hint}.") from error
    return typing.cast(Callable[..., Any], found)


def split_call(text: str) -> tuple[str, dict[str, Any]]:
    """A name and the arguments written behind it.

    >>> split_call("mine:pair:depth=2,grey=true")
    ('mine:pair', {'depth': 2, 'grey': True})
    """
    name, colon, rest = text.rpartition(":")
    return (name, named_values(rest)) if colon and "=" in rest else (text, {})


def named_values(text: str) -> dict[str, Any]:
    """``part=test,count=400`` as a mapping, with values read as YAML reads them."""
    values = {}
    for item in filter(None, text.split(",")):
        name, equals, value = item.partition("=")
        try:
            values[name.strip()] = yaml.safe_load(value)
        except yaml.YAMLError:
            equals = ""
        if not equals or not name.strip():
            raise DistaffError(f"arguments read name=value,name=value, so {item!r} is not one.")
    return values


def bind(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The call's full arguments, defaults included, each made of plain values where need be."""
    parameters = inspect.signature(function).parameters
    for name in arguments:
        if name not in parameters:
            raise unknown(f"argument of {function.__name__}", name, parameters)
    hints = typing.get_type_hints(function)
    bound = {}
    for name, parameter in parameters.items():
        if name not in arguments and parameter.default is inspect.Parameter.empty:
            raise DistaffError(f"{function.__name__} needs the argument {name!r}.")
        bound[name] = from_plain(arguments.get(name, parameter.default), hints.get(name, Any), name)
    return bound


def to_plain(value: Any) -> Any:
    """Arguments as YAML holds them: dataclasses as mappings unless they have a text form of their own."""
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


def from_plain(value: Any, hint: Any, name: str) -> Any:
    """The value that plain YAML stands for, given the type that the function asks for."""
    if dataclasses.is_dataclass(hint) and isinstance(hint, type) and isinstance(value, Mapping):
        return hint(**bind(hint, value))
    for option in typing.get_args(hint) or (hint,):
        if isinstance(value, str) and hasattr(option, "parse"):
            return option.parse(value)
    if typing.get_origin(hint) is tuple and isinstance(value, list):
        return tuple(value)
    numeric = float in (hint, *typing.get_args(hint))
    if numeric and isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            raise DistaffError(f"{name} must be a number, not {value!r}.") from None
    return float(value) if numeric and type(value) is int else value
