"""Networks as texts name them: ``kim_mnih``, ``mlp:hidden=512,layers=3``, ``mine:pair:depth=2``."""

import inspect
import typing
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

from distaff.data.dataset import Dataset
from distaff.foundation.binding import find_function
from distaff.foundation.errors import DistaffError, unknown
from distaff.foundation.text import split_call
from distaff.models import networks

GIVEN = ("shape", "parameters", "width", "outputs", "norm")
"""What networks are given by the model they are for: not to be written behind a name."""
MOST = 1 << 16
"""Units, layers or whatever else a network may be told to have of one kind."""
KINDS = {int: "a whole number above 0", bool: "true or false"}


def find_network(text: str, module: ModuleType = networks) -> Callable[..., Any]:
    """The network that a text names, with the arguments behind its name filled in.

    Args:
        text: a name in ``module`` or ``package.module:function``, and ``:argument=value,…`` if wanted.
        module: where names are looked up.
    """
    name, arguments = split_call(text)
    function = find_function("network", name, module)
    if not arguments:
        return function
    hints = typing.get_type_hints(function)
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


def told_of(text: str, data: Dataset, module: ModuleType = networks) -> str:
    """The text with what its network asks of the data beyond their shape: whether images are ``grey``.

    An answer that is the argument's default stays unwritten.
    """
    name, given = split_call(text)
    asked = inspect.signature(find_function("network", name, module)).parameters
    if "grey" not in asked or "grey" in given or data.is_grey == asked["grey"].default:
        return text
    answer = f"grey={str(data.is_grey).lower()}"
    return f"{name}:{answer}" + text.removeprefix(name).replace(":", ",", 1)
