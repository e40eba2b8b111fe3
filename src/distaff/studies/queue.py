"""The queue of a study: whichever engine does the work, each run once, a failed one once more."""

from collections import Counter, deque
from collections.abc import Sequence
from typing import Protocol

from distaff.studies.study_run import StudyRun
from distaff.studies.worker_task import Outcome, record_failure

TRIES = 2
SECONDS_BETWEEN_LOOKS = 1.0


class Engine(Protocol):
    """Where runs are worked on."""

    @property
    def room(self) -> int:
        """How many more runs can start now."""

    def start(self, run: StudyRun) -> None:
        """Begin with a run."""

    def finished(self, seconds: float) -> list[Outcome]:
        """What ended within some seconds; waits no longer than for the first."""

    def close(self) -> None:
        """Let go of all that is under way; it can be gone on with later."""


class Watcher(Protocol):
    """Who is told how it goes."""

    def started(self, run: StudyRun) -> None:
        """A run was given to the engine."""

    def ended(self, run: StudyRun, error: str | None, again: bool) -> None:
        """A run ended: well, or with an error that is its last or is tried again."""

    def look(self, under_way: Sequence[StudyRun], waiting: Sequence[StudyRun]) -> None:
        """About a second has passed."""


def work_through(runs: Sequence[StudyRun], engine: Engine, watcher: Watcher) -> None:
    """Do all runs; one that fails goes to the end of the queue once, then its error is kept."""
    waiting = deque(runs)
    under_way: dict[str, StudyRun] = {}
    tries: Counter[str] = Counter()
    while waiting or under_way:
        while waiting and engine.room > 0:
            run = waiting.popleft()
            under_way[run.key] = run
            engine.start(run)
            watcher.started(run)
        for outcome in engine.finished(SECONDS_BETWEEN_LOOKS):
            run = under_way.pop(outcome.key)
            tries[outcome.key] += outcome.error is not None
            again = 0 < tries[outcome.key] < TRIES and outcome.error is not None
            if again:
                waiting.append(run)
            elif outcome.error is not None:
                record_failure(run, outcome, tries[outcome.key])
            watcher.ended(run, outcome.error, again)
        watcher.look(list(under_way.values()), list(waiting))
