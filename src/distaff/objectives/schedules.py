"""Weights: a number, or a function of the step number that can be written down."""

from dataclasses import dataclass, replace
from typing import Any

from distaff.errors import DistaffError


@dataclass(frozen=True)
class Linear:
    """From ``start`` at step 0 to ``end`` at step ``steps``, then constant; written ``linear:0:35:10000``."""

    start: float
    end: float
    steps: int

    def __call__(self, index: int) -> float:
        """The weight at step ``index``."""
        return self.start + (self.end - self.start) * min(1.0, index / self.steps)

    @classmethod
    def parse(cls, text: str) -> "Linear | float":
        """Read ``linear:START:END:STEPS``; a plain number is itself."""
        kind, *numbers = text.split(":")
        try:
            if not numbers:
                return float(kind)
            if kind == "linear" and len(numbers) == 3 and int(numbers[2]) > 0:
                return cls(float(numbers[0]), float(numbers[1]), int(numbers[2]))
        except ValueError:
            pass
        raise DistaffError(f"the weight {text!r} is neither a number nor linear:START:END:STEPS.")

    def __str__(self) -> str:
        return f"linear:{self.start:g}:{self.end:g}:{self.steps}"


Weight = float | Linear


def shortened(value: Any, scale: float) -> Any:
    """A schedule whose steps are multiplied by ``scale``; anything else as it is."""
    return replace(value, steps=max(1, round(value.steps * scale))) if isinstance(value, Linear) else value


def weight_at(weight: Weight, index: int) -> float:
    """The value of a weight at a step."""
    return weight(index) if callable(weight) else weight
