"""Progress display: a live bar on a terminal and in a notebook, occasional lines elsewhere."""

import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import Any, Self, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn, track
from rich.progress import Progress as TerminalBar

from distaff.foundation.snippets import Bar, snippet

SECONDS_BETWEEN_LINES = 20.0
SECONDS_BETWEEN_DRAWINGS = 0.5
"""For notebooks, where every update is a message to the browser."""
HIDDEN = ("step", "seconds")
Item = TypeVar("Item")


class Progress:
    """Shows steps, steps per second, each term and the time left."""

    def __init__(self, what: str, total: int, start: int = 0, visible: bool = True) -> None:
        self.what, self.total, self.start, self.visible = what, total, start, visible
        self.console = Console(stderr=True)
        self._began = time.monotonic()
        self._last_line = 0.0
        self._bar: TerminalBar | None = None
        self._task = TaskID(0)
        self._drawing: Any = None

    def __enter__(self) -> Self:
        if self.visible and (notebook := _notebook()) is not None:
            self._drawing = notebook.display({"text/plain": self.what}, raw=True, display_id=True)
        elif self.visible and self.console.is_terminal:
            self._bar = TerminalBar(
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
        """Show a log line: ``step``, and values by name."""
        if not self.visible:
            return
        done, now = int(line["step"]), time.monotonic()
        rate = f"{(done - self.start) / max(now - self._began, 1e-9):.1f}/s"
        values = "  ".join(f"{name} {value:.4g}" for name, value in line.items() if name not in HIDDEN)
        if self._drawing is not None:
            self._draw(done, now, f"{rate}  {values}")
        elif self._bar is not None:
            self._bar.update(self._task, completed=done, rate=rate, values=values)
        elif now - self._last_line > SECONDS_BETWEEN_LINES or done == self.total:
            self._last_line = now
            print(f"{self.what} {done}/{self.total}  {rate}  {values}", file=sys.stderr, flush=True)

    def tell(self, sentence: str) -> None:
        """Show a sentence next to the bar."""
        if self._bar is not None:
            self._bar.console.print(sentence, highlight=False, soft_wrap=True)
        elif self.visible:
            print(sentence, file=sys.stderr, flush=True)

    def _draw(self, done: int, now: float, words: str) -> None:
        """Redraw the notebook's bar: at the end, and at intervals before."""
        if now - self._last_line < SECONDS_BETWEEN_DRAWINGS and done < self.total:
            return
        self._last_line = now
        left = (self.total - done) * (now - self._began) / max(done - self.start, 1)
        time_left = f"{left / 60:.0f} min left" if left > 90 else f"{left:.0f} s left"
        about = f"{done:,} of {self.total:,}" + (f", {time_left}" if done < self.total else "")
        html = snippet(self.what, about, rows=[(Bar(100 * done / max(self.total, 1), 100), words)])
        plain = f"{self.what} {about}  {words}"
        self._drawing.update({"text/html": html, "text/plain": plain}, raw=True)


def _notebook() -> Any:
    """The display function of a notebook; None elsewhere."""
    ipython = sys.modules.get("IPython")  # always loaded in a notebook
    shell = None if ipython is None else ipython.get_ipython()
    return None if getattr(shell, "kernel", None) is None else sys.modules.get("IPython.display")


def watched(what: str, items: Iterable[Item], total: int, visible: bool = True) -> Iterator[Item]:
    """Yield the items one by one and show the progress."""
    with Progress(what, total, visible=visible) as bar:
        for done, item in enumerate(items, 1):
            yield item
            bar.update({"step": min(done, total)})


def progress(items: Iterable[Item], title: str, total: int | None = None) -> Iterator[Item]:
    """Yield ``items`` with a progress bar titled ``title``; silent outside of terminals and notebooks."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    if total is not None and _notebook() is not None:
        yield from watched(title, items, total)
        return
    quiet = not sys.stderr.isatty()
    yield from track(items, title, total, console=Console(stderr=True), transient=True, disable=quiet)
