"""The progress of a running study: a live table on a terminal, one line per event elsewhere."""

import sys
import time
from collections.abc import Sequence
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from distaff.metrics import Score
from distaff.studies.results import Results
from distaff.studies.study_run import StudyRun

SECONDS_BETWEEN_LINES = 60.0
SHOWN = 12


class Display:
    """Shows the queue, progress, best run so far and time left; each error is shown once."""

    def __init__(self, results: Results, visible: bool = True) -> None:
        self.study, self.runs = results.study, results.all_runs
        self.finished = {run.key: run.scores for run in self.runs if run.state == "finished"}
        self.failed: dict[str, str] = {}
        self._said: set[str] = set()
        self._began = self._last_line = time.monotonic()
        self._steps = {run.key: run.step for run in self.runs}
        self._before = sum(self._steps.values())
        self.console = Console(stderr=True)
        self._live: Live | None = None
        self.visible = visible

    def __enter__(self) -> Self:
        if self.visible and self.console.is_terminal:
            self._live = Live(console=self.console, auto_refresh=False)
            self._live.start()
        self._say(f"{self.study.name}: {len(self.runs)} runs, {len(self.finished)} finished before")
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def started(self, run: StudyRun) -> None:
        """Show that a run starts, or at which step it resumes."""
        at = f" at step {run.saved_step:,}" if run.saved_step else ""
        self._say(f"{'resumes' if at else 'starts'}{at}: {run.key}")

    def ended(self, run: StudyRun, error: str | None, again: bool) -> None:
        """Show how a run ended."""
        key = run.key
        if error is None:
            self.finished[key] = run.scores
            self._steps[key] = run.steps
            self._say(f"finished: {key}{_leading(self._leader(run.scores))}  ({self._count()})")
            return
        if not again:
            self.failed[key] = error
        tried = "will be tried once more" if again else "failed"
        self._say(f"{tried}: {key}" + ("" if error in self._said else f": {error}"), always=True)
        self._said.add(error)

    def look(self, under_way: Sequence[StudyRun], waiting: Sequence[StudyRun]) -> None:
        """Redraw the table, or write a line now and then."""
        now = time.monotonic()
        self._steps |= {run.key: run.step for run in under_way}
        if self._live is not None:
            self._live.update(self._table(under_way, waiting), refresh=True)
        elif now - self._last_line > SECONDS_BETWEEN_LINES:
            self._last_line = now
            steps = ", ".join(f"{run.key} {self._steps[run.key]:,}/{run.steps:,}" for run in under_way)
            self._say(f"{self._count()}; {steps}")

    def _table(self, under_way: Sequence[StudyRun], waiting: Sequence[StudyRun]) -> Group:
        table = Table(box=None, pad_edge=False)
        for column in ("run", "", "step", "loss"):
            table.add_column(column, justify="right" if column in ("step", "loss") else "left")
        for run in under_way[:SHOWN]:
            step = self._steps[run.key]
            done = "scoring" if step >= run.steps else f"{step:,}"
            line = run.last_line
            loss = line.get("loss", line.get("generator_loss"))
            bar = ProgressBar(total=run.steps, completed=step, width=24)
            table.add_row(run.key, bar, done, "–" if loss is None else f"{loss:.4g}")
        queue = f"{len(waiting)} waiting"
        head = Text(f"{self.study.name}  {self._count()}, {len(under_way)} under way, {queue}", style="bold")
        best = self._best()
        return Group(head, table, Text(f"best so far: {best}" if best else ""))

    def _count(self) -> str:
        parts = [f"{len(self.finished)} of {len(self.runs)} finished"]
        if self.failed:
            parts.append(f"{len(self.failed)} failed")
        left = self._time_left()
        if left is not None and len(self.finished) + len(self.failed) < len(self.runs):
            parts.append(f"about {duration(left)} left")
        return ", ".join(parts)

    def _time_left(self) -> float | None:
        """Seconds left, if all steps take as long as those since the start of this session."""
        left = {run.key: run.steps - self._steps[run.key] for run in self.runs}
        done = sum(self._steps.values()) - self._before
        elapsed = time.monotonic() - self._began
        remaining = sum(steps for key, steps in left.items() if key not in self.failed)
        return remaining * elapsed / done if done > 0 else None

    def _leader(self, scores: dict[str, Score]) -> tuple[str, Score] | None:
        """A run's main score: that of the study's first metric, or the reconstruction error."""
        first = next(iter(self.study.metrics), "reconstruction").partition(":")[0]
        names = [name for name in scores if name.startswith(first)] or list(scores)[:1]
        return (names[0], scores[names[0]]) if names else None

    def _best(self) -> str:
        leaders = {key: leader for key, scores in self.finished.items() if (leader := self._leader(scores))}
        if not leaders:
            return ""
        sign = 1 if next(iter(leaders.values()))[1].direction == "higher" else -1
        best = max(leaders, key=lambda key: sign * leaders[key][1].value)
        return f"{best}{_leading(leaders[best])}"

    def _say(self, line: str, always: bool = False) -> None:
        if self._live is not None:
            if always:
                self._live.console.print(line, markup=False, highlight=False)
        elif self.visible:
            print(line, file=sys.stderr, flush=True)


def _leading(leader: tuple[str, Score] | None) -> str:
    return f"  {leader[0]} {leader[1].value:.4g}" if leader else ""


def duration(seconds: float) -> str:
    """A duration in seconds as text, in a suitable unit."""
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"
