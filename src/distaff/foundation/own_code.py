"""Errors in users' own code: one sentence with place and reason."""

import traceback
from collections.abc import Callable
from typing import Any

from distaff.foundation.errors import DistaffError

LIBRARY = f"{__name__.partition('.')[0]}."


def is_ours(function: Callable[..., Any]) -> bool:
    """Whether a function belongs to this library, whose exceptions are not changed."""
    return f"{getattr(function, '__module__', '')}.".startswith(LIBRARY)


def failure(kind: str, function: Callable[..., Any], error: Exception) -> DistaffError:
    """The error for an exception in a user's function; raise it from ``error``, which has the traceback.

    Args:
        kind: what the function is.
        function: the user's function.
        error: the exception.
    """
    name = f"{getattr(function, '__module__', '')}:{getattr(function, '__name__', type(function).__name__)}"
    steps = traceback.extract_tb(error.__traceback__)
    source = getattr(getattr(function, "__code__", None), "co_filename", None)
    step = next((step for step in reversed(steps) if step.filename == source), steps[-1])
    said = str(error).strip().partition("\n")[0].rstrip(".")
    return DistaffError(
        f"the {kind} {name} failed at {step.filename}:{step.lineno}: "
        f"{type(error).__name__}{said and f': {said}'}."
    )
