"""Runs as Ray tasks, on this machine or on a cluster: the same runs, in the same folders."""

import io
import os
import socket
import sys
import tarfile
import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from distaff.foundation.errors import DistaffError
from distaff.foundation.files import atomic_folder
from distaff.runs.folder import RunFolder
from distaff.studies.check import check
from distaff.studies.local import cores, threads_each
from distaff.studies.study_run import StudyRun
from distaff.studies.worker_task import Outcome, attempt, from_message, to_message

LOCAL = "local"
PATIENCE = 10.0
"""Seconds to wait for a cluster's answer."""
RETRIES = 3
"""Number of times that Ray restarts a task after losing its process or machine; it resumes from its
checkpoint."""


class RayTasks:
    """An engine for ``work_through``.

    Args:
        address: ``"local"`` starts Ray here; otherwise the address of a cluster, such as ``"auto"`` or
            ``"ray://head:10001"``.
        folder: folder of the study; workers without access to it send their run folders back when done.
        workers: number of runs at once on a Ray that is started here; one per core by default.
    """

    def __init__(self, address: str, folder: Path, workers: int | None = None) -> None:
        self.ray = import_ray()
        self._ours = not self.ray.is_initialized()
        count = workers or cores()
        if self._ours:
            self._connect(address, count)
        resources = self.ray.cluster_resources()
        self.threads = threads_each(count) if address == LOCAL else 1
        self.gpus = 1 if resources.get("GPU") else 0
        self._runs: dict[Any, StudyRun] = {}
        folder.mkdir(parents=True, exist_ok=True)
        self._marker = folder.resolve() / f".seen-{uuid.uuid4().hex}"
        self._marker.touch()

    @property
    def room(self) -> int:
        """Unlimited: Ray has its own queue."""
        return sys.maxsize

    def start(self, run: StudyRun) -> None:
        """Give a run to Ray."""
        task = self._remote(work)
        self._runs[task.remote(to_message(run), str(self._marker), os.getcwd())] = run

    def finished(self, seconds: float) -> list[Outcome]:
        """The runs that ended within ``seconds``; returns as soon as one has."""
        done, _ = self.ray.wait(list(self._runs), num_returns=1, timeout=seconds)
        return [self._outcome(task) for task in done]

    def check(self, runs: Sequence[StudyRun]) -> None:
        """Raise an error if runs cannot work where they will be trained, which is where the data are."""
        task = self._remote(check_there).remote([to_message(run) for run in runs], os.getcwd())
        error = self.ray.get(task)
        if error:
            raise DistaffError(error)

    def close(self) -> None:
        """Ask current runs to stop after a checkpoint, and shut Ray down if it was started for this study."""
        for task in self._runs:
            self.ray.cancel(task, force=False)
        if self._runs:
            self.ray.wait(list(self._runs), num_returns=len(self._runs), timeout=60)
        self._marker.unlink(missing_ok=True)
        if self._ours:
            self.ray.shutdown()

    def _connect(self, address: str, count: int) -> None:
        here = {"num_cpus": max(count, cores()), "include_dashboard": False}
        where = here if address == LOCAL else {"address": address}
        try:
            if ":" in address:
                _knock(address)
            self.ray.init(log_to_driver=False, logging_level="error", **where)
        except (ConnectionError, OSError, RuntimeError, ValueError) as problem:
            raise DistaffError(f"no Ray cluster answers at {address}: {problem}.") from problem

    def _remote(self, function: Any) -> Any:
        return self.ray.remote(function).options(
            num_cpus=self.threads, num_gpus=self.gpus, max_retries=RETRIES
        )

    def _outcome(self, task: Any) -> Outcome:
        run = self._runs.pop(task)
        try:
            outcome: Outcome = self.ray.get(task)
        except self.ray.exceptions.RayError as problem:
            lost = f"Ray lost it {RETRIES + 1} times: {type(problem).__name__}."
            return Outcome(run.key, lost, str(problem))
        if outcome.archive is not None:
            unpack(outcome.archive, run.folder.path)
        return replace(outcome, archive=None)


def work(message: str, marker: str, folder: str) -> Outcome:
    """Do a run in a Ray worker: in the study's folder if the worker has access to it, else in its own."""
    sys.path.insert(0, folder)
    run = from_message(message)
    if Path(marker).exists():
        return attempt(run)
    with tempfile.TemporaryDirectory() as temporary:
        there = replace(run, folder=RunFolder(Path(temporary) / run.folder.path.name))
        outcome = attempt(there)
        return replace(outcome, archive=pack(there.folder.path))


def check_there(messages: Sequence[str], folder: str) -> str | None:
    """Check runs in a Ray worker; returns the first error, if any."""
    sys.path.insert(0, folder)
    try:
        check([from_message(message) for message in messages])
    except DistaffError as error:
        return str(error)
    return None


def pack(folder: Path) -> bytes:
    """A run folder as an archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.add(folder, arcname=".")
    return buffer.getvalue()


def unpack(content: bytes, folder: Path) -> None:
    """Replace a run folder by an archive's content, atomically."""
    with atomic_folder(folder) as new, tarfile.open(fileobj=io.BytesIO(content)) as archive:
        archive.extractall(new, filter="data")


def _knock(address: str) -> None:
    """Raise an error at once if nothing listens at the address: Ray itself would wait for minutes."""
    host, _, port = address.rpartition("/")[2].rpartition(":")
    socket.create_connection((host, int(port)), PATIENCE).close()


def import_ray() -> Any:
    """The package Ray, or an error that says how to install it."""
    try:
        import ray
    except ImportError:
        raise DistaffError("--ray needs Ray: pip install 'distaff[ray]'.") from None
    return ray
