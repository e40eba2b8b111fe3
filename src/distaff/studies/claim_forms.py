"""``Claim``: a paper's statement, in one of the forms that runs can decide."""

import math
from dataclasses import dataclass
from typing import Any

Where = dict[str, Any]
"""Settings of runs, each a value or a list of accepted values."""
ABOVE, BELOW = (math.nextafter(0, 1), math.inf), (-math.inf, math.nextafter(0, -1))
"""Ranges of positive and of negative effects."""


@dataclass(frozen=True)
class Quantity:
    """A number for each of some runs.

    Args:
        metric: column of the study's table: a score; ``METRIC.FACTOR``, a factor's part of a score; or
            ``log.TERM``, the last logged value of a term (just TERM if no score has that name).
        where: settings of the runs.
    """

    metric: str
    where: Where


@dataclass(frozen=True)
class Comparison:
    """The difference of two means lies in a range; with ``at_equal``, at equal values of a third column."""

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
    """A statement of a paper, in a form that runs can decide.

    Args:
        says: the statement, with its figure or table.
        form: what the runs would show if it held.
        published: the paper's numbers: two for a comparison, else one.
        needs: data sets that it needs and that are not available here.
    """

    says: str
    form: Form
    published: tuple[float, ...] = ()
    needs: tuple[str, ...] = ()
