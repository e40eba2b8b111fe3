"""The task of a worker: train or resume one run, score it, and report the outcome."""

import json
import shutil
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from distaff.analysis.encoding import Encoded, trained_steps
from distaff.analysis.evaluate import elbo, of_sample, varied_factors
from distaff.analysis.unmixed_codes import unmix_run
from distaff.foundation.binding import bind, to_plain
from distaff.foundation.errors import FULL, DistaffError, warn
from distaff.foundation.files import write_json
from distaff.foundation.trust import trusting
from distaff.metrics import Evaluation, evaluate_scores
from distaff.metrics.score import Scores
from distaff.metrics.scores_json import Setup
from distaff.runs.calls import DataCall
from distaff.runs.config import named_code
from distaff.runs.folder import RunFolder
from distaff.runs.request import RunRequest
from distaff.studies.own_metrics import is_own
from distaff.studies.run_files import WORK, Work
from distaff.studies.study_run import StudyRun
from distaff.training.train import begin, resume

ASIDE = "damaged"
"""Subfolder for checkpoints that cannot be read."""
LEAVING = 60.0
"""Seconds that a worker of a killed study has to write its last checkpoint and exit."""
FULL_WORDS = ("No space left", "Disk quota", "File too large")
DISK_IS_FULL = "the disk is full: make room and start the study again, finished runs are kept."


@dataclass(frozen=True)
class Outcome:
    """The outcome of an attempt at a run.

    Args:
        key: name of the run folder.
        error: the error in one sentence; None if the run is finished.
        details: the traceback, if there is one.
        archive: the run folder as an archive, if the worker could not write to the study's folder.
    """

    key: str
    error: str | None = None
    details: str = ""
    archive: bytes | None = None


def attempt(run: StudyRun) -> Outcome:
    """Train a run to its end and score it; errors become an outcome instead of an exception."""
    path = run.folder.path
    asked = run.request
    own_words = named_code(asked.recipe, asked.model, asked.data.spec, asked.training)
    try:
        path.mkdir(parents=True, exist_ok=True)
        run.failure_file.unlink(missing_ok=True)
        Work.note(path, "training")
        with trusting(*own_words):
            _train(run)
            Work.note(path, "scoring")
            score(run)
        if not run.is_scored:
            raise DistaffError(f"{run.key} was trained, but its scores could not be kept: see {path}.")
    except Exception as problem:
        expected = isinstance(problem, DistaffError | OSError)
        error = str(problem) if expected else f"{type(problem).__name__}: {problem}"
        return Outcome(path.name, DISK_IS_FULL if _is_full(problem) else error, traceback.format_exc())
    finally:
        (path / WORK).unlink(missing_ok=True)
    return Outcome(path.name)


def record_failure(run: StudyRun, outcome: Outcome, tries: int) -> None:
    """Write the error to the run folder for ``study status``, unless the disk is full."""
    content = {"error": outcome.error, "tries": tries, "details": outcome.details.splitlines()}
    try:
        write_json(run.failure_file, content)
    except OSError:
        return


def to_message(run: StudyRun) -> str:
    """A run as one line of JSON, for a worker that may be in another folder or on another machine."""
    request = to_plain(replace(run.request, data=run.request.data.located))
    elsewhere = None if run.scored_on is None else to_plain(run.scored_on.located)
    scoring = {
        "metrics": run.metrics,
        "observations": run.observations,
        "ica": run.ica,
        "scored_on": elsewhere,
    }
    return json.dumps({"folder": str(run.folder.path.absolute()), "request": request, **scoring})


def from_message(message: str) -> StudyRun:
    """The run that a message describes."""
    content: Mapping[str, Any] = json.loads(message)
    request = RunRequest(**bind(RunRequest, content["request"]))
    return StudyRun(
        request,
        RunFolder(Path(content["folder"])),
        tuple(content["metrics"]),
        content["observations"],
        content["ica"],
        content["scored_on"] and DataCall(**content["scored_on"]),
    )


def _train(run: StudyRun) -> None:
    folder = run.folder
    if _good_step(run) >= run.request.training.steps:
        return
    if not folder.config.exists():
        begin(run.request, run.request.recipe.goal(), folder.path)
        return
    try:
        with FileLock(folder.path / ".lock", timeout=LEAVING):
            pass
    except Timeout:
        pass  # training says who holds it
    resume(folder.path, **vars(run.request.machine))


def _good_step(run: StudyRun) -> int:
    """The step of the newest checkpoint that can be read.

    If there is none, the checkpoints are moved aside, not removed, since a disk may fail only for a moment.
    Training begins again, and ends with the same weights.
    """
    try:
        return trained_steps(run.folder)
    except DistaffError:
        aside = run.folder.path / ASIDE
        shutil.rmtree(aside, ignore_errors=True)
        run.folder.checkpoints.rename(aside)
        warn(f"no checkpoint of {run.key} can be read: they are in {aside} now, and it is trained again")
        return 0


def _is_full(problem: BaseException) -> bool:
    """Whether the disk was full, which safetensors reports only in its message."""
    return getattr(problem, "errno", None) in FULL or any(word in str(problem) for word in FULL_WORDS)


def score(run: StudyRun) -> None:
    """Compute the metrics that are missing in ``scores.json``, and write them with the time they took.

    A metric that cannot be computed for a run's codes is recorded as skipped, with the reason, so that one
    collapsed model does not stop the others. Metrics that no run can have were refused before training. A
    metric of the user's own that gave no score is tried again, since it may have been corrected.
    """
    began = time.monotonic()
    setup = Setup(run.observations)
    step = trained_steps(run.folder)
    known = Scores.read(run.scores_file).at(step)
    done = {entry.metric for entry in known.of(setup) if not (entry.reason and is_own(entry.metric))}
    missing = [metric for metric in run.metrics if metric not in done]
    encoded = run.encoded
    known = known.plus(elbo(encoded), setup)
    if missing:
        known = known.plus(_measured(run, encoded, step, missing), setup)
    known.spent(time.monotonic() - began).write(run.scores_file)


def _measured(run: StudyRun, encoded: Encoded, step: int, metrics: list[str]) -> Evaluation:
    try:
        factors, codes = varied_factors(run.data), encoded.standard_codes
        if run.ica:
            codes = unmix_run(run.folder, encoded, step)(encoded.codes)
        found = evaluate_scores(codes, factors, metrics=metrics, strict=False)
        return of_sample(found, encoded)
    except DistaffError as reason:  # codes that are none at all
        return Evaluation((), dict.fromkeys(metrics, str(reason)))
