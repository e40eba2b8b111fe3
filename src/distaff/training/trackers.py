"""Experiment trackers, such as Weights & Biases and MLflow, which receive a run's log line by line.

Each is one function of a ``TrackedRun`` that begins a tracker's run, or continues an earlier one, and returns
a ``Tracker``. ``--track NAME`` finds it by name, or your own by ``module:function``. Each tracker has its own
settings for where results go: environment variables such as ``WANDB_PROJECT``.
"""

import importlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, TypeVar

PROJECT = "distaff"
"""Default name of projects and experiments."""
Begins = TypeVar("Begins", bound=Callable[..., Any])
LONGEST = 500
"""Largest length of a parameter that all versions of MLflow accept."""


@dataclass(frozen=True)
class TrackedRun:
    """A run, as described to a tracker.

    Args:
        name: name of the run.
        settings: all settings by name, such as ``training.batch_size``.
        folder: the run folder, if there is one.
        key: the tracker's identifier of the run if it was tracked before; None begins a new one.
    """

    name: str
    settings: Mapping[str, Any]
    folder: Path | None = None
    key: str | None = None


def needs(package: str) -> Callable[[Begins], Begins]:
    """Declare which package a tracker's function imports, so that its absence is noticed before training."""

    def noted(function: Begins) -> Begins:
        vars(function)["package"] = package
        return function

    return noted


class Tracker(Protocol):
    """A tracker's view of a run."""

    @property
    def key(self) -> str:
        """The tracker's identifier of the run, used to continue it."""

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Receive a line of the log."""

    def close(self, finished: bool) -> None:
        """End the run; an unfinished run may be resumed later."""


class _WandB:
    def __init__(self, run: Any) -> None:
        self.run = run

    @property
    def key(self) -> str:
        return str(self.run.id)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self.run.log(dict(values), step=step)

    def close(self, finished: bool) -> None:
        self.run.finish(exit_code=0 if finished else 1)


@needs("wandb")
def wandb(run: TrackedRun) -> Tracker:
    """Weights & Biases; ``WANDB_MODE=offline`` needs no account, and ``wandb sync`` uploads the run later."""
    package = importlib.import_module("wandb")
    begun = package.init(
        project=os.environ.get("WANDB_PROJECT", PROJECT),
        name=run.name,
        id=run.key,
        resume=None if run.key is None else "allow",
        config=dict(run.settings),
        dir=None if run.folder is None else str(run.folder),
        settings=package.Settings(console="off", silent=True),
    )
    return _WandB(begun)


class _MLflow:
    def __init__(self, client: Any, key: str, entities: ModuleType, done: int) -> None:
        self.client, self._key, self.entities, self.done = client, key, entities, done

    @property
    def key(self) -> str:
        return self._key

    def log(self, step: int, values: Mapping[str, float]) -> None:
        if step <= self.done:  # steps since the last checkpoint are repeated, with the same values
            return
        now = int(time.time() * 1000)
        lines = [self.entities.Metric(name, value, now, step) for name, value in values.items()]
        self.client.log_batch(self._key, metrics=lines)

    def close(self, finished: bool) -> None:
        self.client.set_terminated(self._key, "FINISHED" if finished else "KILLED")


@needs("mlflow")
def mlflow(run: TrackedRun) -> Tracker:
    """MLflow, at ``MLFLOW_TRACKING_URI``: a server, ``sqlite:///mlflow.db`` or a folder ``file:mlruns``."""
    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # who names a folder wants a file store
    package, entities = map(importlib.import_module, ("mlflow", "mlflow.entities"))
    client = package.MlflowClient()
    if run.key is not None:
        known = client.get_run(run.key)
        client.update_run(run.key, status="RUNNING")
        reached = [
            metric.step for name in known.data.metrics for metric in client.get_metric_history(run.key, name)
        ]
        return _MLflow(client, run.key, entities, max(reached, default=0))
    name = os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT)
    experiment = client.get_experiment_by_name(name)
    place = client.create_experiment(name) if experiment is None else experiment.experiment_id
    key = client.create_run(place, run_name=run.name).info.run_id
    told = [entities.Param(name, str(value)[:LONGEST]) for name, value in run.settings.items()]
    client.log_batch(key, params=told)
    return _MLflow(client, key, entities, 0)


class _Comet:
    def __init__(self, experiment: Any) -> None:
        self.experiment = experiment

    @property
    def key(self) -> str:
        return str(self.experiment.get_key())

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self.experiment.log_metrics(dict(values), step=step)

    def close(self, finished: bool) -> None:
        self.experiment.log_other("finished", finished)
        self.experiment.end()


@needs("comet_ml")
def comet(run: TrackedRun) -> Tracker:
    """Comet; with ``COMET_START_ONLINE=0`` it needs no account, and ``comet upload`` sends the run later."""
    package = importlib.import_module("comet_ml")
    experiment = package.start(
        project_name=os.environ.get("COMET_PROJECT_NAME", PROJECT),
        experiment_key=run.key,
        mode="get_or_create" if run.key is None else "get",
        experiment_config=package.ExperimentConfig(name=run.name, auto_output_logging=None),
    )
    experiment.log_parameters(dict(run.settings))
    return _Comet(experiment)
