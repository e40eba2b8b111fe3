"""Do runs on this machine: a few worker processes, each with its share of the cores."""

import json
import os
import selectors
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from distaff.foundation.errors import DistaffError
from distaff.studies.check import check
from distaff.studies.study_run import StudyRun
from distaff.studies.worker_task import Outcome, to_message

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
PATIENCE = 120.0
"""Seconds that workers have to write a checkpoint when the study is stopped."""


@dataclass
class Worker:
    """A process, its log, and its current run."""

    process: "subprocess.Popen[str]"
    log: Path
    run: StudyRun | None = None


class LocalWorkers:
    """Processes that outlive runs, so that small runs do not wait for imports; one that dies is replaced."""

    def __init__(self, count: int, threads: int, logs: Path) -> None:
        self.count, self.threads, self.logs = count, threads, logs
        self._workers: list[Worker | None] = [None] * count
        self._ready = selectors.DefaultSelector()

    @property
    def room(self) -> int:
        """Number of runs that can start now."""
        return sum(worker is None or worker.run is None for worker in self._workers)

    def check(self, runs: Sequence[StudyRun]) -> None:
        """Raise an error if runs cannot work here."""
        check(runs)

    def start(self, run: StudyRun) -> None:
        """Give a run to an idle worker."""
        place = next(i for i, worker in enumerate(self._workers) if worker is None or worker.run is None)
        worker = self._workers[place] or self._begin(place)
        worker.run = run
        assert worker.process.stdin is not None
        try:
            worker.process.stdin.write(to_message(run) + "\n")
            worker.process.stdin.flush()
        except BrokenPipeError:
            return  # it died while idle: ``finished`` will find that its standard output has ended

    def finished(self, seconds: float) -> list[Outcome]:
        """The runs that ended within ``seconds``; returns as soon as one has."""
        outcomes = []
        for key, _ in self._ready.select(seconds):
            place: int = key.data
            worker = self._workers[place]
            assert worker is not None
            assert worker.process.stdout is not None
            line = worker.process.stdout.readline()
            if not line:
                outcomes += self._lost(place, worker)
            elif worker.run is not None:
                worker.run = None
                outcomes.append(Outcome(**json.loads(line)))
        return outcomes

    def close(self) -> None:
        """End the workers; those with a run write a checkpoint first."""
        workers = [worker for worker in self._workers if worker is not None]
        for worker in workers:
            assert worker.process.stdin is not None
            worker.process.stdin.close()
        for worker in workers:
            try:
                worker.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                worker.process.kill()
            except KeyboardInterrupt:  # a second Ctrl-C
                worker.process.kill()
        self._ready.close()

    def _begin(self, place: int) -> Worker:
        self.logs.mkdir(parents=True, exist_ok=True)
        log = self.logs / f"worker-{place}.log"
        with log.open("a") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "distaff.studies.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, **_share(place, self.threads)},
                # Ctrl-C should reach only the study, which then asks its workers to stop. A session of their
                # own would do the same, but Linux schedules each session as a whole: the study's nice value
                # would not apply to them.
                process_group=0,
            )
        worker = Worker(process, log)
        self._workers[place] = worker
        assert process.stdout is not None
        self._ready.register(process.stdout, selectors.EVENT_READ, place)
        return worker

    def _lost(self, place: int, worker: Worker) -> list[Outcome]:
        """Handle a worker that ended by itself: killed, out of memory, or crashed below Python."""
        assert worker.process.stdout is not None
        self._ready.unregister(worker.process.stdout)
        self._workers[place] = None
        code = worker.process.wait()
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        error = f"its worker {how}; what it printed is in {worker.log}."
        return [Outcome(worker.run.key, error)] if worker.run is not None else []


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def local_workers(runs: int, workers: int | None, logs: Path) -> LocalWorkers:
    """Workers for ``runs`` runs: one per core, or per GPU if there are any, and no more than runs.

    Two runs with one thread each do more steps than one run with two threads, which wait for each other at
    every operation. Remaining cores are distributed as threads.
    """
    count = runs_at_once(runs, workers)
    return LocalWorkers(count, threads_each(count), logs)


def threads_each(count: int) -> int:
    """Each worker's share of the cores; not more than ``OMP_NUM_THREADS``, where that is set."""
    asked = os.environ.get(THREADS[0], "")
    share = max(1, cores() // count)
    return min(share, int(asked)) if asked.isdecimal() and int(asked) > 0 else share


def runs_at_once(runs: int, workers: int | None) -> int:
    """The number of ``runs`` runs that are trained at once on this machine."""
    if workers is not None and workers < 1:
        raise DistaffError(f"workers must be at least 1, not {workers}.")
    return max(1, min(runs, workers or torch.cuda.device_count() or cores()))


def _share(place: int, threads: int) -> Mapping[str, str]:
    """The environment variables that give a worker its share of the machine."""
    share = dict.fromkeys(THREADS, str(threads))
    gpus = torch.cuda.device_count()
    return {**share, "CUDA_VISIBLE_DEVICES": str(place % gpus)} if gpus else share
