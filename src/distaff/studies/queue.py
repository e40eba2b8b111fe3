"""The queue of a study: does each run once, and a failed run once more, on any engine."""

from collections import Counter, deque
from collections.abc import Sequence
from typing import Protocol

from distaff.studies.display import Display
from distaff.studies.study_run import StudyRun
from distaff.studies.worker_task import Outcome, record_failure

TRIES = 2
SECONDS_BETWEEN_LOOKS = 1.0


class Engine(Protocol):
    """A place where runs are done."""

    @property
    def room(self) -> int:
        """Number of runs that can start now."""

    def check(self, runs: Sequence[StudyRun]) -> None:
        """Raise an error if runs cannot work where they will be trained, which is where the data are."""

    def start(self, run: StudyRun) -> None:
        """Start a run."""

    def finished(self, seconds: float) -> list[Outcome]:
        """The runs that ended within ``seconds``; returns as soon as one has."""

    def close(self) -> None:
        """Stop all current runs; they can be resumed later."""


def work_through(runs: Sequence[StudyRun], engine: Engine, display: Display) -> None:
    """Do all runs; a run that fails goes to the end of the queue once, then its error is kept.

    Runs are done seed by seed: a study stopped early has some seeds of every setting, not all seeds of a few.
    """
    waiting = deque(sorted(runs, key=lambda run: run.request.training.seed))
    under_way: dict[str, StudyRun] = {}
    tries: Counter[str] = Counter()
    while waiting or under_way:
        while waiting and engine.room > 0:
            run = waiting.popleft()
            under_way[run.key] = run
            engine.start(run)
            display.started(run)
        for outcome in engine.finished(SECONDS_BETWEEN_LOOKS):
            run = under_way.pop(outcome.key)
            tries[outcome.key] += outcome.error is not None
            again = 0 < tries[outcome.key] < TRIES and outcome.error is not None
            if again:
                waiting.append(run)
            elif outcome.error is not None:
                record_failure(run, outcome, tries[outcome.key])
            display.ended(run, outcome.error, again)
        display.look(list(under_way.values()), list(waiting))
