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

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING

from distaff.foundation.binding import functions_of_files
from distaff.models.networks.halving import Networks

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Networks]:
        """Every network by its name."""


def _is_network(function: Callable[..., object]) -> bool:
    """Whether a function makes networks of a shape, a number of parameters and a width alone."""
    if function.__annotations__.get("return") is not Networks:
        return False
    parameters = inspect.signature(function).parameters.values()
    needed = [p.name for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    return needed == ["shape", "parameters", "width"]


_found = {name: make for name, make in functions_of_files(__name__, __path__) if _is_network(make)}
__all__ = sorted(_found)
globals().update(_found)
