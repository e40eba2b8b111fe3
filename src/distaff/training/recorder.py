"""The output of a run while it trains: log lines, TensorBoard, checkpoints, progress."""

import copy
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Tensor
from torch.utils.tensorboard import SummaryWriter

from distaff.foundation.errors import DistaffError, said
from distaff.foundation.files import json_text, write_json
from distaff.foundation.progress import Progress
from distaff.objectives.games import Game
from distaff.runs import checkpoints
from distaff.runs.calls import Goal
from distaff.runs.checkpoints import Reached
from distaff.runs.folder import RunFolder
from distaff.runs.log import read_log, truncate_log
from distaff.runs.sections import TrainingSettings
from distaff.runs.snapshots import keep
from distaff.training.collapse import CollapseWatch
from distaff.training.learner import Learner, trained_model
from distaff.training.preview import Preview
from distaff.training.tracking import Tracking
from distaff.training.validation import HeldOut

HANGUP = getattr(signal, "SIGHUP", signal.SIGTERM)  # Windows has no SIGHUP
STOPPING = (signal.SIGINT, signal.SIGTERM, HANGUP)
"""Signals that stop a run: from Ctrl-C, from a scheduler, and from a closed terminal."""
FIRST = 20.0
"""Seconds of training before the first look; the time doubles for each further look."""
LATE = 20.0
"""Seconds that a look may wait for the next line of the log, so that lines stay evenly spaced."""
LONG = 3600.0
"""Runs that take longer than this many seconds say so at the start, and suggest what takes less."""


class StopSignal:
    """Remembers the signal that asked the run to stop; a second signal has its usual effect."""

    def __init__(self) -> None:
        self.heard: signal.Signals | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Catch the first signal; does nothing outside the main thread, which alone can catch signals."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        former = {number: signal.getsignal(number) for number in STOPPING}
        if former.get(HANGUP) is signal.SIG_IGN:  # nohup: the run should survive its terminal
            del former[HANGUP]

        def restore() -> None:
            for number, handler in former.items():
                signal.signal(number, handler)

        def ask_to_stop(number: int, frame: FrameType | None) -> None:
            self.heard = signal.Signals(number)
            restore()

        for number in former:
            signal.signal(number, ask_to_stop)
        try:
            yield
        finally:
            restore()


class Looks:
    """When to look at a run: 20 seconds after it begins, then after 40, 80, 160 and so on."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._began, self._next = clock, clock(), FIRST

    def due(self, logged: bool) -> bool:
        """Whether a look is due, at a step with (``logged``) or without a log line; true once per look."""
        waited = self._clock() - self._began
        if waited < self._next + (0 if logged else LATE):
            return False
        while self._next <= waited:
            self._next *= 2
        return True


class Recorder:
    """Logs values every ``log_every`` steps, writes checkpoints, and detects divergence and collapse.

    Values stay on the device between log lines, so that steps need no synchronisation.

    Args:
        folder: the run folder, or None to write nothing.
        fabric: devices and processes; only the first process writes.
        training: steps between log lines (means over the steps since the previous line) and between
            checkpoints, and number of snapshots.
        progress: the user's progress bar, if one is shown.
        resumed: progress of the run before it was resumed.
        goal: objective or game of the run: values that are part of its loss stop the run if they are not
            finite, and a GAN is watched for collapse. Without a goal, every value counts as part of the loss.
        held_out: held-out data to evaluate now and then, if any.
        trackers: experiment trackers that also receive the log.
        preview: page to write at the first checkpoints; with a single process there are also checkpoints by
            the clock, so that there is soon something to see.
    """

    def __init__(
        self,
        folder: RunFolder | None,
        fabric: Fabric,
        training: TrainingSettings,
        progress: Progress | None = None,
        resumed: Reached = Reached(),
        goal: Goal | None = None,
        held_out: HeldOut | None = None,
        trackers: Tracking | None = None,
        preview: Preview | None = None,
    ) -> None:
        self.preview, self._looks, self._look = preview, Looks(), False
        self.trackers = trackers
        self.folder = folder if fabric.is_global_zero else None
        self.fabric, self.training, self.progress, self.goal = fabric, training, progress, goal
        self.held_out = held_out
        self._looked: dict[str, float] = {}
        self.best: dict[str, Any] | None = None
        self.snapshots = frozenset(snapshot_steps(training.steps, training.snapshots or 0))
        self.stop = StopSignal()
        self.saved = resumed.step
        self._pending: list[tuple[int, Tensor]] = []
        self._names: tuple[str, ...] = ()
        self._started = time.monotonic() - resumed.seconds
        self._first: tuple[int, float] | None = (resumed.step, time.monotonic())
        self._board: SummaryWriter | None = None
        watched = isinstance(goal, Game) and fabric.is_global_zero
        self._watch = CollapseWatch(self.folder) if watched else None
        if self.folder is not None:
            self.folder.diverged.unlink(missing_ok=True)
            if self.folder.log.exists():
                truncate_log(self.folder.log, self.saved)
            self._board = SummaryWriter(self.folder.path / "tensorboard", purge_step=self.saved + 1)
            if self._watch is not None:
                self._watch.catch_up(read_log(self.folder.log))

    def add(self, index: int, values: Mapping[str, Tensor]) -> None:
        """Record the values of a step."""
        self._names = tuple(values)
        self._pending.append((index, torch.stack([value.float() for value in values.values()])))
        if self._looked or (index + 1) % self.training.log_every == 0:
            self.flush()

    def asked_to_stop(self, steps: int) -> bool:
        """Whether a signal asked the run to stop; several processes agree on it at log steps."""
        if self.fabric.world_size == 1:
            return self.stop.heard is not None
        if steps % self.training.log_every:
            return False
        return bool(self.fabric.all_reduce(torch.tensor(float(self.stop.heard is not None)), reduce_op="sum"))

    def checkpoint_due(self, steps: int) -> bool:
        """Whether a checkpoint is due after this number of steps."""
        # The clocks of several processes would not agree.
        if self.folder is not None and self.fabric.world_size == 1:
            self._look = self._looks.due(steps % self.training.log_every == 0)
        return self._look or steps % self.training.checkpoint_every == 0

    def checkpoint(self, learner: Learner, step: int) -> None:
        """Save a checkpoint, if all values and weights so far are finite."""
        self.flush()
        if step == self.saved:
            return
        for name, module in learner.modules.items():
            for key, weight in module.state_dict().items():
                if weight.is_floating_point() and not torch.isfinite(weight).all():
                    raise self._diverged(f"the weight {name}.{key}", step - 1)
        if self.folder is not None:
            reached = Reached(step, round(time.monotonic() - self._started, 1))
            checkpoints.save(self.folder.checkpoints, learner, reached)
        self.saved = step
        if self.preview is not None and (self._look or (self.preview.shown and step >= self.training.steps)):
            self.preview.draw(trained_model(learner), step)
        self.fabric.barrier()

    def snapshot(self, learner: Learner, step: int) -> None:
        """Write a snapshot of the model if one is due after this number of steps."""
        if self.folder is not None and step in self.snapshots:
            keep(self.folder.snapshots, learner, step)

    def validate(self, learner: Learner, step: int) -> None:
        """Evaluate the held-out data if that is due; the results go to the step's log line."""
        if self.held_out is None or not self.held_out.due(step):
            return
        self._looked = self.held_out.look(learner, step)
        if not self.held_out.is_best(step):
            return
        if self.folder is None:
            self.best = copy.deepcopy(learner.modules.get("average", learner.modules["model"]).state_dict())
        else:
            reached = Reached(step, round(time.monotonic() - self._started, 1))
            checkpoints.save(self.folder.best, learner, reached, kept=1)

    def patience_is_over(self) -> bool:
        """Whether the ELBO of the held-out data has not risen for ``patience`` evaluations."""
        return self.held_out is not None and self.held_out.exhausted

    def flush(self) -> None:
        """Write the means of the pending steps; stop the run if a part of their losses is not finite."""
        if not self._pending:
            return
        indices = [index for index, _ in self._pending]
        table = torch.stack([values for _, values in self._pending]).double().cpu()
        self._pending = []
        places = (~torch.isfinite(table)).nonzero().tolist()
        bad = [(indices[row], self._names[column]) for row, column in places]
        bad = [(index, name) for index, name in bad if not self.goal or self.goal.takes_part(name, index)]
        if bad:
            # The loss is non-finite whenever a term is: name the term.
            first = [name for index, name in bad if index == bad[0][0]]
            raise self._diverged(f"the term {first[-1] if first[0] == 'loss' else first[0]!r}", bad[0][0])
        line: dict[str, Any] = {"step": indices[-1] + 1}
        line |= {name: float(f"{v:.6g}") for name, v in zip(self._names, table.mean(0).tolist(), strict=True)}
        line |= self._looked
        self._looked = {}
        line["seconds"] = round(time.monotonic() - self._started, 2)
        if self.progress is not None:
            self.progress.update(line)
            self._say_if_long(self.progress, line["step"])
        if self.folder is not None and self._board is not None:
            append_json_line(self.folder.log, line)
            for name in line.keys() - {"step", "seconds"}:
                if math.isfinite(line[name]):
                    self._board.add_scalar(name, line[name], line["step"])
        if self.trackers is not None:
            self.trackers.log(line)
        if self._watch is not None:
            self._watch.see(line)

    def _say_if_long(self, progress: Progress, step: int) -> None:
        """Tell the user once, at the first line of the log, if the run will take hours."""
        if self._first is None:
            return
        (before, began), self._first = self._first, None
        left = (self.training.steps - step) * (time.monotonic() - began) / (step - before)
        if left > LONG:
            hours = f"{self.training.steps:,} steps take about {left / 3600:,.1f} hours at this rate"
            less = "--preset quick takes less, and so do fewer --steps"
            progress.tell(said(f"{hours}. Ctrl-C keeps what is learnt by then; {less}."))

    def close(self) -> None:
        """Close the TensorBoard file and the trackers' runs; after a signal, trackers can resume theirs."""
        if self.trackers is not None:
            self.trackers.close(finished=self.stop.heard is None or self.saved >= self.training.steps)
        if self._board is not None:
            self._board.close()

    def _diverged(self, what: str, index: int) -> DistaffError:
        if self.folder is not None:
            write_json(self.folder.diverged, {"what": what, "step": index})
        kept = f"the checkpoint of step {self.saved} is kept" if self.saved else "there is no checkpoint yet"
        return DistaffError(
            f"{what} became non-finite at step {index}: training stopped, {kept}; "
            "try a lower learning rate or smaller weights."
        )


def snapshot_steps(steps: int, count: int) -> list[int]:
    """The steps after which a run of ``steps`` steps writes its ``count`` equally spaced snapshots."""
    count = min(count, steps)
    return [-(-steps * (i + 1) // count) for i in range(count)]


def append_json_line(path: Path, value: Any) -> None:
    """Append ``value`` to ``path`` as one line of JSON; see ``json_text``."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json_text(value) + "\n")
