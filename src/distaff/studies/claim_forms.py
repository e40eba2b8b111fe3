"""``Claim``: what a paper says, in one of the forms that runs decide."""

import math
from dataclasses import dataclass
from typing import Any

Where = dict[str, Any]
"""Settings that runs have, each a value or a list of which any will do."""
ABOVE, BELOW = (math.nextafter(0, 1), math.inf), (-math.inf, math.nextafter(0, -1))
"""The effects that are higher, and lower, than none."""


@dataclass(frozen=True)
class Quantity:
    """A number of each of some runs.

    Args:
        metric: a column of the study's table: a score; ``METRIC.FACTOR``, a factor's part of one; or
            ``log.TERM``, the last logged value of a term (TERM alone if no score is called so).
        where: settings that the runs have.
    """

    metric: str
    where: Where


@dataclass(frozen=True)
class Comparison:
    """The difference of two means lies in a range; ``at_equal`` takes both at equal values of a third."""

    of: Quantity
    than: Quantity
    range: tuple[float, float]
    at_equal: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the study's table that decide it."""
        third = () if self.at_equal is None else (self.at_equal,)
        return self.of.metric, self.than.metric, *third


@dataclass(frozen=True)
class Trend:
    """The mean change of a quantity from one value of a setting to the next lies in a range."""

    quantity: Quantity
    over: str
    range: tuple[float, float]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the study's table that decide it."""
        return (self.quantity.metric,)


@dataclass(frozen=True)
class Range:
    """A mean lies between two numbers."""

    quantity: Quantity
    range: tuple[float, float]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the study's table that decide it."""
        return (self.quantity.metric,)


@dataclass(frozen=True)
class Correlation:
    """The rank correlation of two quantities over runs lies between two numbers."""

    first: Quantity
    second: Quantity
    range: tuple[float, float]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the study's table that decide it."""
        return self.first.metric, self.second.metric


Form = Comparison | Trend | Range | Correlation


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper in a form that runs decide.

    Args:
        says: the sentence, with its figure or table.
        form: what the runs would show if it held.
        published: the paper's numbers: of both sides, or of the one.
        needs: data sets that it needs and that cannot be had here.
    """

    says: str
    form: Form
    published: tuple[float, ...] = ()
    needs: tuple[str, ...] = ()
