"""``Openings``: the steps at which closed latents are opened, and how many of them at a time."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from distaff.foundation.errors import DistaffError
from distaff.foundation.text import read_items
from distaff.objectives.schedules import in_proportion


@dataclass(frozen=True)
class Opening:
    """One moment at which closed latents are opened.

    Args:
        step: the step before which they open.
        latents: how many open, or None for all that are closed; the others are shut until the next opening.
    """

    step: int
    latents: int | None = None

    def __post_init__(self) -> None:
        if self.step < 1 or (self.latents is not None and self.latents < 1):
            raise DistaffError(f"{self} opens nothing: steps and numbers of latents begin at 1.")

    def __str__(self) -> str:
        return str(self.step) if self.latents is None else f"{self.step}:{self.latents}"


@dataclass(frozen=True)
class Openings:
    """Openings in the order of their steps; written ``1550:1,2150:1,2650``.

    Here one latent opens at step 1,550, another at step 2,150, and all that are left at step 2,650.
    """

    each: tuple[Opening, ...]

    def __post_init__(self) -> None:
        steps = [opening.step for opening in self.each]
        if steps != sorted(set(steps)):
            raise DistaffError(f"{self} does not go forward: give the steps in order, each of them once.")

    @classmethod
    def parse(cls, text: str) -> "Openings | int":
        """Read openings from their text form; a plain number of a step is returned as such.

        >>> Openings.parse("1550:1,2650").at(2650)
        Opening(step=2650, latents=None)
        """
        if text.strip().isdecimal() and int(text):
            return int(text)
        return cls(tuple(_read(text)))

    def at(self, step: int) -> Opening | None:
        """The opening before a step, if there is one."""
        return next((opening for opening in self.each if opening.step == step), None)

    def shortened(self, scale: float) -> "Openings":
        """The same openings with their steps multiplied by ``scale``, at least one step apart.

        >>> str(Openings.parse("1550:1,2350:1,3350").shortened(0.0001))
        '1:1,2:1,3'
        """
        moved: list[Opening] = []
        for opening in self.each:
            earliest = moved[-1].step + 1 if moved else 1
            moved.append(replace(opening, step=max(earliest, in_proportion(opening.step, scale))))
        return Openings(tuple(moved))

    def __str__(self) -> str:
        return ",".join(map(str, self.each))


Revive = int | Openings
"""When closed latents are reinitialised: all at one step, or by turns."""


def sooner(revive: Revive, scale: float) -> Revive:
    """The same with its steps multiplied by ``scale``.

    >>> str(sooner(Openings.parse("1550:1,2650"), 0.1))
    '155:1,265'
    """
    return in_proportion(revive, scale) if isinstance(revive, int) else revive.shortened(scale)


def _read(text: str) -> Iterator[Opening]:
    for item in read_items(text):
        numbers = (item.head, *item.arguments)
        if item.name or len(numbers) > 2 or not all(map(str.isdecimal, numbers)):
            raise DistaffError(
                f"revive reads STEP, or STEP:LATENTS,STEP:LATENTS,… such as 1550:1,2150:1,2650, not {text!r}."
            )
        yield Opening(*map(int, numbers))
