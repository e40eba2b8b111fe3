"""Option values: a protocol's fields say what they may hold, and one function holds every caller to it.

@dataclass(frozen=True)
class Voting:
    votes: Count
    size: Annotated[int, at_least(2)]
    prune: Literal["auto", "none"] = "auto"
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from distaff.foundation.binding import UNIONS
from distaff.foundation.errors import DistaffError, unknown


@dataclass(frozen=True)
class Limit:
    """What a number must keep to, and the words for it."""

    words: str
    keeps: Callable[[float], bool]


def at_least(bound: float) -> Limit:
    """Not below ``bound``."""
    return Limit(f"of at least {bound:,g}", lambda value: value >= bound)


def at_most(bound: float) -> Limit:
    """Not above ``bound``."""
    return Limit(f"of at most {bound:,g}", lambda value: value <= bound)


def above(bound: float) -> Limit:
    """Above ``bound``."""
    return Limit(f"above {bound:,g}", lambda value: value > bound)


Count = Annotated[int, at_least(1)]
BinCount = Annotated[int, at_least(2), at_most(10_000)]
SampleCount = Annotated[int, at_least(2)]
Positive = Annotated[float, above(0)]
NotNegative = Annotated[float, at_least(0)]

DRAWING: Mapping[str, Any] = {
    "bootstrap": Annotated[int, at_least(0)],
    "seed": Annotated[int, at_least(0), at_most(2**32 - 1)],
}
"""What every metric takes beside its protocol's settings; the seeds are those that scikit-learn takes."""

_KINDS = {int: "a whole number", float: "a finite number", bool: "True or False"}


def declared(protocols: Mapping[str, Any]) -> dict[str, Any]:
    """Option name → what it may hold, for a metric with these protocols."""
    settings = type(next(iter(protocols.values())))
    fields = get_type_hints(settings, include_extras=True)
    return {**DRAWING, **fields, "protocol": Literal[tuple(protocols)]}


def check(name: str, value: Any, allowed: Any) -> None:
    """A ``DistaffError`` that names the option if its value is not what the annotation ``allowed`` allows."""
    if get_origin(allowed) in UNIONS:
        (allowed,) = (option for option in get_args(allowed) if option is not type(None))
        if value is None:
            return
    if get_origin(allowed) is Literal:
        if not isinstance(value, str) or value not in get_args(allowed):
            raise unknown(name, str(value), get_args(allowed))
        return
    kind, *limits = get_args(allowed) or (allowed,)
    if not _is(value, kind) or not all(limit.keeps(value) for limit in limits):
        bounds = " and ".join(limit.words for limit in limits)
        raise DistaffError(f"{name}={value!r}: it must be {_KINDS[kind]}{bounds and f' {bounds}'}.")


def _is(value: Any, kind: type) -> bool:
    if isinstance(value, bool | np.bool_):
        return kind is bool
    if kind is int:
        return isinstance(value, Integral)
    return kind is float and isinstance(value, Real) and math.isfinite(value)
