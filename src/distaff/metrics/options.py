"""Types for the fields of protocols, and the check of option values against them.

@dataclass(frozen=True)
class Voting:
    votes: Count
    size: Annotated[int, Ge(2)]
    prune: Literal["auto", "none"] = "auto"
"""

import math
import operator
from collections.abc import Mapping
from dataclasses import astuple
from numbers import Integral, Real
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
from annotated_types import Ge, Gt, Le

from distaff.foundation.binding import UNIONS
from distaff.foundation.errors import DistaffError, unknown

Count = Annotated[int, Ge(1)]
BinCount = Annotated[int, Ge(2), Le(10_000)]
SampleCount = Annotated[int, Ge(2)]
Positive = Annotated[float, Gt(0)]
NotNegative = Annotated[float, Ge(0)]
Seed = Annotated[int, Ge(0), Le(2**32 - 1)]
"""The range of seeds that scikit-learn accepts."""

DRAWING: Mapping[str, Any] = {
    "bootstrap": Annotated[int, Ge(0)],
    "seed": Seed,
}
"""The options that every metric has in addition to its protocol's settings."""

_LIMITS = {Ge: ("of at least", operator.ge), Gt: ("above", operator.gt), Le: ("of at most", operator.le)}
_KINDS = {int: "a whole number", float: "a finite number", bool: "True or False"}


def declared(protocols: Mapping[str, Any]) -> dict[str, Any]:
    """Option name → allowed values, for a metric with these protocols."""
    fields = get_type_hints(type(next(iter(protocols.values()))), include_extras=True)
    return {**DRAWING, **fields, "protocol": Literal[tuple(protocols)]}


def check(name: str, value: Any, allowed: Any) -> None:
    """Raise a ``DistaffError`` that names the option if ``allowed``, its annotation, rules out the value."""
    if get_origin(allowed) in UNIONS:
        (allowed,) = (option for option in get_args(allowed) if option is not type(None))
        if value is None:
            return
    if get_origin(allowed) is Literal:
        if not isinstance(value, str) or value not in get_args(allowed):
            raise unknown(name, str(value), get_args(allowed))
        return
    kind, *limits = get_args(allowed) or (allowed,)
    bounds = [(*_LIMITS[type(limit)], *astuple(limit)) for limit in limits]
    if not _is(value, kind) or not all(keeps(value, bound) for _, keeps, bound in bounds):
        words = " and ".join(f"{word} {bound:,g}" for word, _, bound in bounds)
        raise DistaffError(f"{name}={value!r}: it must be {_KINDS[kind]}{words and f' {words}'}.")


def _is(value: Any, kind: type) -> bool:
    if isinstance(value, bool | np.bool_):
        return kind is bool
    if kind is int:
        return isinstance(value, Integral)
    return kind is float and isinstance(value, Real) and math.isfinite(value)
