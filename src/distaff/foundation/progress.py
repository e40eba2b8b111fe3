"""Progress for people: a live bar on a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any, Self, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn, track
from rich.progress import Progress as Bar

SECONDS_BETWEEN_LINES = 20.0
HIDDEN = ("step", "seconds")
Item = TypeVar("Item")


class Progress:
    """Shows steps, steps per second, each term and the time left.

    Args:
        what: a word for what is going on.
        total: steps in all.
        start: steps done before.
        visible: False shows nothing.
    """

    def __init__(self, what: str, total: int, start: int = 0, visible: bool = True) -> None:
        self.what, self.total, self.start, self.visible = what, total, start, visible
        self.console = Console(stderr=True)
        self._began = time.monotonic()
        self._last_line = 0.0
        self._bar: Bar | None = None
        self._task = TaskID(0)

    def __enter__(self) -> Self:
        if self.visible and self.console.is_terminal:
            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(bar_width=20),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]}"),
                TimeRemainingColumn(elapsed_when_finished=True),
                TextColumn("{task.fields[values]}", style="dim"),
                console=self.console,
                speed_estimate_period=120,
            )
            self._bar.start()
            self._task = self._bar.add_task(
                self.what, total=self.total, completed=self.start, rate="", values=""
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, line: Mapping[str, Any]) -> None:
        """Show a log line: ``step`` and the values by name."""
        if not self.visible:
            return
        done, now = int(line["step"]), time.monotonic()
        rate = f"{(done - self.start) / max(now - self._began, 1e-9):.1f}/s"
        values = "  ".join(f"{name} {value:.4g}" for name, value in line.items() if name not in HIDDEN)
        if self._bar is not None:
            self._bar.update(self._task, completed=done, rate=rate, values=values)
        elif now - self._last_line > SECONDS_BETWEEN_LINES or done == self.total:
            self._last_line = now
            print(f"{self.what} {done}/{self.total}  {rate}  {values}", file=sys.stderr, flush=True)


def watched(what: str, items: Sequence[Item], visible: bool) -> Iterator[Item]:
    """The items one by one, with progress shown as they are worked off."""
    with Progress(what, len(items), visible=visible) as bar:
        for done, item in enumerate(items, 1):
            yield item
            bar.update({"step": done})


def progress(items: Iterable[Item], title: str, total: int | None = None) -> Iterator[Item]:
    """Pass ``items`` through, drawing a bar titled ``title``; silent when stderr is not a terminal."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    quiet = not sys.stderr.isatty()
    yield from track(items, title, total, console=Console(stderr=True), transient=True, disable=quiet)
