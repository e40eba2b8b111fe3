"""What options may hold: types for the fields of protocols, which ``distaff.metrics.inputs.check`` reads.

@dataclass(frozen=True)
class Voting:
    votes: Count
    size: Annotated[int, Ge(2)]
    prune: Literal["auto", "none"] = "auto"
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_type_hints

from annotated_types import Ge, Gt, Le

Count = Annotated[int, Ge(1)]
BinCount = Annotated[int, Ge(2), Le(10_000)]
SampleCount = Annotated[int, Ge(2)]
Positive = Annotated[float, Gt(0)]
NotNegative = Annotated[float, Ge(0)]
Seed = Annotated[int, Ge(0), Le(2**32 - 1)]
"""The seeds that scikit-learn takes."""

DRAWING: Mapping[str, Any] = {
    "bootstrap": Annotated[int, Ge(0)],
    "seed": Seed,
}
"""What every metric takes beside its protocol's settings."""


def declared(protocols: Mapping[str, Any]) -> dict[str, Any]:
    """Option name → what it may hold, for a metric with these protocols."""
    fields = get_type_hints(type(next(iter(protocols.values()))), include_extras=True)
    return {**DRAWING, **fields, "protocol": Literal[tuple(protocols)]}
