"""Weights: numbers, or schedules over the steps with a text form.

Weights, temperatures and learning rates share one grammar. ``linear:0:35:10000`` goes from 0 at step 0 to 35
at step 10,000 and stays there; likewise ``cosine:…`` and ``exponential:…``; ``cyclic:0:4:1000`` starts again
every 1,000 steps. Schedules separated by commas follow each other:
``linear:0:1e-3:500,cosine:1e-3:1e-5:9500`` is a warm-up and a decay. To add a shape, write one subclass of
``Ramp`` here.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

from distaff.foundation.errors import DistaffError, shown
from distaff.foundation.text import Item, read_items


class Schedule:
    """A weight that is a function of the step; ``parse`` reads its text form."""

    def __call__(self, index: int) -> float:
        """The weight at step ``index``."""
        raise TypeError(f"{type(self).__name__} does not say what it is at a step")

    def shortened(self, scale: float) -> "Schedule":
        """The same schedule with its steps multiplied by ``scale``."""
        raise TypeError(f"{type(self).__name__} does not say how it is shortened")

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest weight it takes."""
        raise TypeError(f"{type(self).__name__} does not say between what it lies")

    @classmethod
    def parse(cls, text: str) -> "Schedule | float":
        """Read a schedule from its text form; a plain number is returned as a float.

        >>> Schedule.parse("cosine:1:0:100")(50)
        0.5
        """
        first, *others = read_items(text)
        if others:
            return Pieces(tuple(_ramp(item, text) for item in (first, *others)))
        if first.arguments:
            return _ramp(first, text)
        try:
            return float(text)
        except ValueError:
            raise _unreadable(text) from None


@dataclass(frozen=True)
class Ramp(Schedule):
    """From ``start`` at step 0 to ``end`` at step ``steps``, then constant; subclasses define the curve."""

    start: float
    end: float
    steps: int

    def __post_init__(self) -> None:
        if not (self.steps > 0 and math.isfinite(self.start) and math.isfinite(self.end)):
            raise DistaffError(f"the schedule {self} needs a positive number of steps and finite ends.")

    def share(self, time: float) -> float:
        """The fraction of the way covered at ``time``, which runs from 0 to 1."""
        raise TypeError(f"{type(self).__name__} does not say along which curve it goes")

    def __call__(self, index: int) -> float:
        """The weight at step ``index``."""
        return self.start + (self.end - self.start) * self.share(min(1.0, index / self.steps))

    def shortened(self, scale: float) -> "Ramp":
        """The same ramp over ``scale`` times as many steps."""
        return replace(self, steps=in_proportion(self.steps, scale))

    @property
    def range(self) -> tuple[float, float]:
        """The lower and the upper end."""
        return min(self.start, self.end), max(self.start, self.end)

    def __str__(self) -> str:
        return f"{type(self).__name__.lower()}:{_number(self.start)}:{_number(self.end)}:{self.steps}"


class Linear(Ramp):
    """A ramp along a straight line; written ``linear:0:35:10000``."""

    def share(self, time: float) -> float:
        """t."""
        return time


class Cosine(Ramp):
    """A ramp along half a cosine (Loshchilov & Hutter 2017); written ``cosine:1e-3:0:10000``."""

    def share(self, time: float) -> float:
        """(1 − cos πt) / 2."""
        return (1 - math.cos(math.pi * time)) / 2


class Exponential(Ramp):
    """A ramp between positive numbers by a constant factor per step; written ``exponential:10:1:2000``."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.start > 0 and self.end > 0):
            raise DistaffError(f"{self} must go between positive numbers: by factors, 0 is never reached.")

    def __call__(self, index: int) -> float:
        """start · (end / start)^t."""
        return float(self.start * (self.end / self.start) ** min(1.0, index / self.steps))


class Cyclic(Ramp):
    """Cycles of ``steps`` steps: a linear ramp in the first half, constant in the second (Fu et al. 2019).

    Written ``cyclic:0:4:1000``.
    """

    def __call__(self, index: int) -> float:
        """The weight at step ``index``."""
        return self.start + (self.end - self.start) * min(1.0, 2 * (index % self.steps) / self.steps)


@dataclass(frozen=True)
class Pieces(Schedule):
    """Ramps one after another, each for its own number of steps; the last value is held."""

    ramps: tuple[Ramp, ...]

    def __call__(self, index: int) -> float:
        """The weight at step ``index``."""
        for ramp in self.ramps[:-1]:
            if index < ramp.steps:
                return ramp(index)
            index -= ramp.steps
        return self.ramps[-1](index)

    def shortened(self, scale: float) -> "Pieces":
        """The same pieces, each over ``scale`` times as many steps."""
        return Pieces(tuple(ramp.shortened(scale) for ramp in self.ramps))

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest weight of all pieces."""
        ends = [end for ramp in self.ramps for end in ramp.range]
        return min(ends), max(ends)

    def __str__(self) -> str:
        return ",".join(map(str, self.ramps))


Weight = float | Schedule


def weight_at(weight: Weight, index: int) -> float:
    """The value of a weight at a step."""
    return weight(index) if isinstance(weight, Schedule) else weight


def weight_text(value: str | float, step: int) -> str:
    """A recipe's argument, as ``run.yaml`` holds it, for people: of a schedule, its value after ``step``.

    >>> weight_text("linear:0:10:1500", 4000), weight_text(6.0, 4000), weight_text("remembered", 4000)
    ('→ 10', '6', 'remembered')
    """
    if not isinstance(value, str):
        return f"{value:g}"
    try:
        return f"→ {weight_at(Schedule.parse(value), step):g}"
    except DistaffError:
        return value


def in_proportion(steps: int, scale: float) -> int:
    """``scale`` times as many steps, at least one."""
    try:
        return max(1, round(steps * scale))
    except OverflowError:
        raise DistaffError(f"{scale:g} times {shown(steps)} steps are more than can be counted.") from None


def shortened(value: Any, scale: float) -> Any:
    """A schedule with its steps multiplied by ``scale``; any other value unchanged."""
    return value.shortened(scale) if isinstance(value, Schedule) else value


def _ramp(item: Item, text: str) -> Ramp:
    kinds = {kind.__name__.lower(): kind for kind in Ramp.__subclasses__()}
    try:
        start, end, steps = item.arguments
        if not item.name and item.head in kinds and int(steps) > 0:
            return kinds[item.head](float(start), float(end), int(steps))
    except DistaffError:
        raise
    except ValueError:
        pass
    raise _unreadable(text)


def _unreadable(text: str) -> DistaffError:
    first, *others = (kind.__name__.lower() for kind in Ramp.__subclasses__())
    return DistaffError(
        f"the weight {text!r} is neither a number nor {first}:START:END:STEPS (or {', '.join(others)} "
        "likewise), nor several of these separated by commas."
    )


def _number(value: float) -> str:
    """The shortest text that reads back as the same number."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)
