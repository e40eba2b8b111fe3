"""Parts of models by name: everything that a module defines, and your own parts as ``module:name``.

Arguments of networks follow their names: ``kim_mnih``, ``mlp:hidden=512,layers=3``, ``mine:pair:depth=2``,
``timm:resnet18:pretrained=true``.
"""

import inspect
import re
import typing
from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType
from typing import Any, TypeVar

from torch import nn

from distaff.data.dataset import Dataset
from distaff.foundation.binding import find_function, imported, types_of
from distaff.foundation.errors import DistaffError, unknown
from distaff.foundation.text import named_values
from distaff.models import networks
from distaff.models.encoders import TIMM, completed, timm_encoder

Thing = TypeVar("Thing")
GIVEN = ("shape", "parameters", "width", "outputs", "norm")
"""Arguments that the model gives to its networks; they cannot be written after a name."""
MOST = 1 << 16
"""Largest integer argument of a network, such as its number of units or layers."""
KINDS = {int: "a whole number above 0", bool: "true or false"}


def classes_of(names: Mapping[str, Any], *methods: str) -> dict[str, Any]:
    """The public classes among a module's ``globals()`` that are its own and have all of ``methods``.

    Returns:
        Classes by their names in snake case, ``unit_gaussian`` for ``UnitGaussian``.
    """
    return {
        re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower(): value
        for name, value in names.items()
        if isinstance(value, type)
        and value.__module__ == names["__name__"]
        and not name.startswith("_")
        and not getattr(value, "_is_protocol", False)
        and all(hasattr(value, method) for method in methods)
    }


def values_of(names: Mapping[str, Any], sort: type[Thing]) -> dict[str, Thing]:
    """The public instances of a class among a module's ``globals()``, by their names."""
    return {n: value for n, value in names.items() if isinstance(value, sort) and not n.startswith("_")}


def find(kind: str, name: str, known: Mapping[str, Thing], others: tuple[str, ...] = ()) -> Thing:
    """One of ``known`` by its name, or any other object by ``package.module:name``.

    An error suggests ``others`` too.
    """
    if ":" not in name:
        if name not in known:
            raise unknown(kind, name, [*known, *others])
        return known[name]
    found = imported(kind, name)
    some = next(iter(known.values()))
    fits = isinstance(found, type) if isinstance(some, type) else isinstance(found, type(some))
    if not fits:
        wanted = "class" if isinstance(some, type) else type(some).__name__
        raise DistaffError(f"the {kind} {name!r} is no {wanted}: see how the library defines its own.")
    result: Thing = found
    return result


def split_call(text: str) -> tuple[str, dict[str, Any]]:
    """Split a text into a name and the arguments after it.

    >>> split_call("mine:pair:depth=2,grey=true")
    ('mine:pair', {'depth': 2, 'grey': True})
    """
    name, colon, rest = text.rpartition(":")
    return (name, named_values(rest)) if colon and "=" in rest else (text, {})


def find_network(text: str, module: ModuleType = networks, download: bool = True) -> Callable[..., Any]:
    """The network that a text names, with the arguments after its name filled in.

    Args:
        text: a name in ``module``, ``package.module:function`` or ``timm:name``, optionally followed by
            ``:argument=value,…``.
        module: module in which names are looked up.
        download: whether weights of timm's networks that the text asks for are downloaded.
    """
    name, arguments = split_call(text)
    function = _named(name, module, download)
    if arguments:
        function = _with_arguments(function, name, arguments)
    return completed(function, name) if module is networks and ":" in name else function


def _named(name: str, module: ModuleType, download: bool = True) -> Callable[..., Any]:
    if module is networks and name.startswith(TIMM):
        return timm_encoder(name.removeprefix(TIMM), download)
    return find_function("network", name, module)


def _with_arguments(
    function: Callable[..., Any], name: str, arguments: Mapping[str, Any]
) -> Callable[..., Any]:
    """The function with these arguments filled in, after a check of their names and types."""
    if isinstance(function, nn.Module):
        raise DistaffError(
            f"the network {name} is made already, and takes no arguments: write only its name."
        )
    called = vars(function).get("__init__", function) if isinstance(function, type) else function
    hints = types_of(called, extras=False)
    own = [parameter for parameter in inspect.signature(function).parameters if parameter not in GIVEN]
    for argument, value in arguments.items():
        if argument not in own:
            raise unknown(f"argument of {name}", argument, own)
        kinds = typing.get_args(hints.get(argument)) or (hints.get(argument, type(value)),)
        if type(value) not in kinds or (type(value) is int and not 1 <= value <= MOST):
            wanted = " or ".join(KINDS.get(kind, kind.__name__) for kind in kinds if kind is not type(None))
            most = f" (at most {MOST:,})" if type(value) is int and value > MOST else ""
            raise DistaffError(f"{argument} of the network {name} must be {wanted}{most}, not {value!r}.")
    return partial(function, **arguments)


def apart_from_data(text: str) -> str:
    """The text with ``grey`` at its default if it is not given, so that other data do not change it.

    >>> apart_from_data("kim_mnih:channels=16"), apart_from_data("mlp")
    ('kim_mnih:grey=false,channels=16', 'mlp')
    """
    usual = _open_grey(text)
    return text if usual is None else _with_grey(text, usual)


def _open_grey(text: str) -> bool | None:
    """The default of a network's argument ``grey``, if it has that argument and the text leaves it open."""
    name, given = split_call(text)
    asked = inspect.signature(_named(name, networks)).parameters
    return None if "grey" not in asked or "grey" in given else asked["grey"].default


def _with_grey(text: str, grey: bool) -> str:
    name = split_call(text)[0]
    return f"{name}:grey={str(grey).lower()}" + text.removeprefix(name).replace(":", ",", 1)


def told_of(text: str, data: Dataset) -> str:
    """The text with ``grey=true`` or ``grey=false`` added, if its network has that argument.

    The data set says whether its images are grey. A value equal to the argument's default is not added.
    """
    known = _open_grey(text) in (None, data.is_grey)
    return text if known else _with_grey(text, data.is_grey)
