"""Encoders and decoders: one function per network, selected by ``--network NAME``.

Each function takes
    shape: shape of an observation, (C, H, W) or (D,);
    parameters: number of encoder outputs for all groups of latents;
    width: number of decoder inputs;
    outputs: shape of the decoder's output, if the likelihood needs more than ``shape``;
and returns ``Networks``. Further arguments, which have defaults, are written after the name, as in
``mlp:hidden=512,layers=3``; ``grey`` comes from the data set (``distaff.models.by_name``).

To add a network, write one such function in a file of this folder: it is found by being there.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from distaff.models.networks.halving import Networks

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Networks]:
        """Every network by its name."""


def _networks() -> Iterator[tuple[str, Callable[..., Networks]]]:
    for place in pkgutil.iter_modules(__path__):
        file = importlib.import_module(f"{__name__}.{place.name}")
        for name, function in inspect.getmembers(file, inspect.isfunction):
            if function.__module__ == file.__name__ and name[0] != "_" and _is_network(function):
                yield name, function


def _is_network(function: Callable[..., object]) -> bool:
    """Whether a function makes networks of a shape, a number of parameters and a width alone."""
    if function.__annotations__.get("return") is not Networks:
        return False
    parameters = inspect.signature(function).parameters.values()
    needed = [p.name for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    return needed == ["shape", "parameters", "width"]


__all__ = sorted(_found := dict(_networks()))
globals().update(_found)
