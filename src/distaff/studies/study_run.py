"""A run of a study: its state, its scores, and the data and codes that drawings use."""

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from distaff.analysis.encoding import Encoded, encode, encode_run, kept_codes
from distaff.codes import Codes
from distaff.data.dataset import Dataset
from distaff.data.splits import some
from distaff.foundation.errors import DistaffError
from distaff.metrics import Score
from distaff.metrics.scores_json import ELBO, Setup
from distaff.models.representation import Representation
from distaff.runs.data_config import DataCall, DataConfig
from distaff.runs.folder import RunFolder, read_log
from distaff.runs.load import TrainedRun
from distaff.runs.request import RunRequest
from distaff.studies import run_files
from distaff.studies.own_metrics import column_of, is_own
from distaff.studies.run_files import Measurement, Work

State = Literal["waiting", "training", "scoring", "interrupted", "trained", "failed", "finished"]


@dataclass(frozen=True)
class StudyRun:
    """One run.

    Args:
        request: everything that determines the run.
        folder: the run folder, which need not exist yet.
        metrics: metrics of the study.
        observations: number of observations to score, the same ones for all runs of a data set; None for all.
        ica: whether the codes are unmixed by ICA before they are scored.
        scored_on: data that the run is scored on and drawn with; None for its training data.
    """

    request: RunRequest
    folder: RunFolder
    metrics: tuple[str, ...]
    observations: int | None = None
    ica: bool = False
    scored_on: DataCall | None = None

    @property
    def key(self) -> str:
        """Name of the run folder."""
        return self.request.key

    @property
    def steps(self) -> int:
        """Number of training steps in all."""
        return self.request.training.steps

    @property
    def settings(self) -> dict[str, Any]:
        """The run's settings by name, as in the study's table."""
        return self.request.settings

    @property
    def state(self) -> State:
        """The state: ``finished`` means trained to the last step and scored by all metrics of the study."""
        if self.is_scored:
            return "finished"
        work = Work.read(self.folder.path)
        if work is not None and work.is_alive(self.folder.log):
            return work.phase
        if self.failure_file.exists():
            return "failed"
        if self.saved_step >= self.steps:
            return "trained"
        return "interrupted" if self.folder.config.exists() else "waiting"

    @property
    def is_scored(self) -> bool:
        """Whether all metrics of the study were computed, or found to be impossible, after the last step."""
        known = run_files.measured(self.scores_file)
        done = {entry.metric for entry in known.entries if entry.setup == self._setup}
        return (known.step or -1) >= self.steps and {ELBO, *self.metrics} <= done

    @property
    def may_be_mended(self) -> bool:
        """Whether a metric of the user's own gave no score, which it may do once it is corrected."""
        return any(is_own(metric) for metric in self.skipped)

    @property
    def saved_step(self) -> int:
        """Step of the newest checkpoint."""
        return max(self.saved_steps, default=0)

    @property
    def saved_steps(self) -> dict[int, Path]:
        """The checkpoints by their step, good or damaged."""
        folder = self.folder.checkpoints
        try:
            names = os.listdir(folder)
        except OSError:
            return {}
        steps = {name: name.removeprefix("step-") for name in names}
        return {int(step): folder / name for name, step in steps.items() if step != name and step.isdecimal()}

    @property
    def step(self) -> int:
        """Number of steps done, by the log."""
        return self.reached[0]

    @property
    def seconds(self) -> float | None:
        """Training time so far in seconds, including the time before the run was resumed."""
        return self.reached[1]

    @property
    def reached(self) -> tuple[int, float | None]:
        """Number of steps done, by the log, and their training time."""
        line = self.last_line
        step, seconds = line.get("step"), line.get("seconds")
        logged = step if isinstance(step, int) else 0
        return max(logged, self.saved_step), seconds if isinstance(seconds, int | float) else None

    @property
    def last_line(self) -> dict[str, Any]:
        """The last line of the log, read from the end, because a live table reads it every second."""
        return run_files.last_line(self.folder.log)

    @property
    def log(self) -> list[dict[str, Any]]:
        """The lines of the log: each has ``step`` and the values of the terms by name."""
        return read_log(self.folder.log)

    @property
    def scores(self) -> dict[str, Score]:
        """The scores by column of the table: ``mig``, ``mig:chen18``, ``reconstruction``, ``kl``."""
        entries = run_files.scores(self.scores_file).of(self._setup, [ELBO, *self.metrics])
        return {column_of(e.metric, e.content["name"]): e.score for e in entries if not e.reason}

    @property
    def values(self) -> dict[str, float]:
        """Only the values of ``scores``, for tables of many runs."""
        return {column_of(e.metric, e.name): e.value for e in self._measured if not e.reason}

    @property
    def skipped(self) -> dict[str, str]:
        """Metrics that cannot be computed for this run's codes, with the reason."""
        return {e.metric: e.reason for e in self._measured if e.reason and e.metric != ELBO}

    @property
    def scoring_seconds(self) -> float | None:
        """Time that the metrics took, in seconds."""
        return run_files.measured(self.scores_file).seconds if self._measured else None

    @property
    def made_with(self) -> dict[str, Any]:
        """Versions of the libraries, number of threads and commit, as in ``run.yaml``."""
        found = run_files.section(self.folder.config, "made_with")
        return {name: value for name, value in found.items() if isinstance(value, str | int | float)}

    @property
    def codes(self) -> Codes:
        """q(z|x) of ``data``, read anew at every call: the codes of all runs may not fit in memory."""
        kept = self.kept_codes
        return self.encoded.codes if kept is None else kept

    @property
    def kept_codes(self) -> Codes | None:
        """The codes if they are on disk, which those of ``scored_on`` never are; None otherwise."""
        if self.scored_on is not None:
            return None
        return kept_codes(self.folder, self.steps, self._count)

    @property
    def encoded(self) -> Encoded:
        """``data`` encoded by the model, as ``distaff evaluate --observations`` does."""
        if self.scored_on is not None:
            return encode(self.trained.model, self.data, progress=False)
        return encode_run(self.trained, self.whole_data, False, self.observations)

    @property
    def data(self) -> Dataset:
        """The data that the run is scored on, or a sample of them.

        They are opened once for all runs of the same data.
        """
        return _open(self.folder.read().data, self.scored_on, self.observations)

    @property
    def whole_data(self) -> Dataset:
        """The whole data set of the run, with what it holds out, however much of it the study scores."""
        return _whole(self.folder.read().data)

    @property
    def _count(self) -> int:
        size = run_files.section(self.folder.config, "data").get("size")
        if type(size) is not int:
            size = self.folder.read().data.size
        return size if self.observations is None else min(self.observations, size)

    @property
    def model(self) -> Representation:
        """The trained model."""
        return self.trained.model

    @property
    def trained(self) -> TrainedRun:
        """The run after its last step; weights of fewer steps are an error."""
        found = TrainedRun.open(self.folder)
        if found.step < self.steps:
            raise DistaffError(
                f"the last good checkpoint of {self.key} is of step {found.step}, not {self.steps}: remove "
                f"{self.folder.scores} and run the study again, which trains it to the end."
            )
        return found

    @property
    def failure_file(self) -> Path:
        """The file that holds the error of the last attempt until the run is tried again."""
        return self.folder.path / "failure.json"

    @property
    def failure(self) -> str | None:
        """The error of the last attempt, if it failed."""
        return run_files.failure(self.failure_file)

    @property
    def scores_file(self) -> Path:
        """The file of the run's scores."""
        if self.scored_on is not None:
            return self.folder.scores_on(self.scored_on.located.text)
        return self.folder.ica_scores if self.ica else self.folder.scores

    @property
    def _setup(self) -> Setup:
        return Setup(self.observations)

    @property
    def _measured(self) -> list[Measurement]:
        wanted, setup = {ELBO, *self.metrics}, self._setup
        known = run_files.measured(self.scores_file).entries
        return [entry for entry in known if entry.metric in wanted and entry.setup == setup]


@lru_cache(maxsize=2)
def _open(trained_on: DataConfig, scored_on: DataCall | None, observations: int | None) -> Dataset:
    if scored_on is None:
        return some(_whole(trained_on), observations)
    return some(trained_on.other(scored_on), observations)


@lru_cache(maxsize=2)
def _whole(data: DataConfig) -> Dataset:
    return data.reopen()
