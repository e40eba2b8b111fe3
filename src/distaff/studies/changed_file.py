"""What it means that a study's file is not what it was when the study's folder was begun."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from distaff.foundation.errors import DistaffError, warn
from distaff.foundation.files import read_text, write_text
from distaff.studies.results import Results

FILE = "study.yaml"
NAMED = 3
"""Runs that a sentence names."""


@dataclass(frozen=True)
class Change:
    """What a file asks for that a former one did not, and the other way round.

    Args:
        new: runs that the former file had not.
        back: runs that the former file had not, and that one before it had begun.
        left: runs of the former file that were begun and that this one has no longer.
        finished: how many of these were finished.
        metrics: what runs are scored by now, and were not before.
    """

    new: tuple[str, ...] = ()
    back: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    finished: int = 0
    metrics: tuple[str, ...] = ()

    @classmethod
    def between(cls, before: Results, now: Results) -> "Change":
        """From the study that a folder held to the one that is to be run in it."""
        had, has = ({run.key for run in results.all_runs} for results in (before, now))
        left = [run for run in before.all_runs if run.key not in has and run.folder.config.exists()]
        added = [run for run in now.all_runs if run.key not in had]
        return cls(
            tuple(run.key for run in added if not run.folder.config.exists()),
            tuple(run.key for run in added if run.folder.config.exists()),
            tuple(run.key for run in left),
            sum(run.state == "finished" for run in left),
            tuple(metric for metric in now.study.metrics if metric not in before.study.metrics),
        )

    def __str__(self) -> str:
        ended = f", {self.finished:,} of them finished," if len(self.left) > 1 else ""
        parts = [
            self.new and f"{_counted(self.new)} new ({listed(self.new)})",
            self.back and f"{_counted(self.back)} part of it again ({listed(self.back)})",
            self.left and f"{_counted(self.left, ended)} no longer part of it ({listed(self.left)})",
            self.metrics and f"its runs are scored by {listed(self.metrics)} too",
        ]
        return "; ".join(part for part in parts if part)


def tell_change(now: Results) -> None:
    """Say in one line how the study in its folder changes, if it does; call it before its file is written.

    Where runs stay behind, the former file is kept beside as ``study-1.yaml``: they can be looked at by it.
    """
    file = now.folder / FILE
    try:
        text = read_text(file)
        if text == now.study.to_yaml():
            return
        change = Change.between(Results.read(now.folder), now)
    except (FileNotFoundError, DistaffError):  # a new folder, or a damaged file, which the new one replaces
        return
    if not str(change):
        return
    kept = ""
    if change.left:
        former = _keep(text, now.folder)
        kept = f"; nothing is removed, and distaff study table {former} --out {now.folder} shows what it was"
    warn(f"the study has changed since {now.folder} was begun: {change}{kept}.")


def _keep(text: str, folder: Path) -> Path:
    """Write a former file under the first number that is free, unless it is there already."""
    places = (folder / f"study-{number}.yaml" for number in itertools.count(1))
    path = next(place for place in places if not place.exists() or place.read_bytes() == text.encode())
    write_text(path, text)
    return path


def _counted(runs: Sequence[str], aside: str = "") -> str:
    return f"1 run{aside} is" if len(runs) == 1 else f"{len(runs):,} runs{aside} are"


def listed(names: Sequence[str]) -> str:
    """The first of some runs, and how many more there are."""
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
