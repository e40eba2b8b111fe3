"""Errors in users' own code: one sentence with place and reason."""

import traceback
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from distaff.foundation.errors import DistaffError

LIBRARY = f"{__name__.partition('.')[0]}."


def is_ours(function: Callable[..., Any]) -> bool:
    """Whether a function belongs to this library, whose exceptions are not changed."""
    return f"{getattr(function, '__module__', '')}.".startswith(LIBRARY)


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


@contextmanager
def told_if_it_fails(kind: str, function: Callable[..., Any]) -> Iterator[None]:
    """One sentence for what a user's own function raises; mistakes of the library are left as they are."""
    try:
        yield
    except DistaffError:
        raise
    except Exception as problem:
        if is_ours(function):
            raise
        raise failure(kind, function, problem) from problem


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
