"""Drawings of studies: functions from ``Results`` and arguments to figures or tables, one or several.

Any public function in a file of this folder whose type hints take ``Results`` first and return one of these
can be named under ``figures`` in a study file; it needs no registration.
"""

import typing
from collections.abc import Callable
from typing import Any

from distaff.foundation.binding import functions_of_files
from distaff.studies.results import Results
from distaff.studies.study import Drawn


def all_drawings() -> dict[str, Callable[..., Drawn]]:
    """All drawings of this folder, by name."""
    functions = functions_of_files(__name__, __path__)
    return {name: function for name, function in functions if _is_drawing(function)}


def _is_drawing(function: Callable[..., Any]) -> bool:
    hints = typing.get_type_hints(function)
    return next(iter(hints.values())) is Results and hints["return"] in typing.get_args(Drawn)


def __getattr__(name: str) -> Any:
    found = {} if name.startswith("_") else all_drawings()
    if name not in found:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found[name]
