"""A job done: the model, the learner, the data and the run folder put together around the loop."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from lightning_fabric import Fabric

from distaff.data.dataset import Dataset
from distaff.models.layout import channels_last
from distaff.models.representation import Model, Representation
from distaff.training import checkpoint
from distaff.training.batches import Batches, seed_weights
from distaff.training.kinds import Goal, kind_of
from distaff.training.learner import Learner
from distaff.training.loop import fit
from distaff.training.progress import Progress
from distaff.training.recorder import Recorder
from distaff.training.run import RunFolder, warn


class Interrupted(KeyboardInterrupt):
    """Training was asked to stop by a signal, and did after a checkpoint."""

    def __init__(self, message: str, signal_number: int) -> None:
        super().__init__(message)
        self.signal_number = signal_number


@dataclass(frozen=True)
class Job:
    """All that training needs to know.

    Args:
        calls: the calls as ``run.yaml`` holds them.
        goal: what they ask to train for.
        data: what they ask to train on.
        folder: where the run is kept; None keeps nothing.
        progress: whether to show it.
    """

    calls: dict[str, Any]
    goal: Goal
    data: Dataset
    folder: RunFolder | None
    progress: bool


def launch(job: Job, accelerator: str, devices: int, strategy: str) -> Representation:
    """Do a job on one or several devices; the caller's random numbers stay as they were."""
    precision = job.calls["training"]["precision"]
    fabric = Fabric(accelerator=accelerator, devices=devices, strategy=strategy, precision=precision)
    work: Callable[..., Model] = _work_in_folder
    with torch.random.fork_rng():
        model: Model = fabric.launch(work, job)
    return Representation(model, job.data.shape)


def _work_in_folder(fabric: Fabric, job: Job) -> Model:
    """Make the folder this run's own while it trains."""
    owned = job.folder if fabric.is_global_zero else None
    if owned:
        owned.claim(job.calls)
    with owned.lock() if owned else nullcontext():
        if owned:
            checkpoint.remove_leftovers(owned.checkpoints)
        fabric.barrier()
        return _work(fabric, job)


def _work(fabric: Fabric, job: Job) -> Model:
    settings, folder = job.calls["training"], job.folder
    learner = _learner(fabric, job)
    order = settings["batch_size"], settings["seed"]
    batches = Batches(job.data, *order, fabric.device, fabric.global_rank, fabric.world_size)
    saved = folder and checkpoint.restore(folder.checkpoints, learner, warn)
    start, seconds = (saved["step"], saved["seconds"]) if saved else (0, 0.0)
    steps = settings["steps"]
    visible = job.progress and fabric.is_global_zero
    with Progress(job.calls["recipe"]["name"], steps, start, visible) as bar:
        every = settings["log_every"], settings["checkpoint_every"]
        snapshots = snapshot_steps(steps, settings.get("snapshots") or 0)
        watch = job.goal.takes_part, learner.trouble
        recorder = Recorder(folder, fabric, *every, bar, start, seconds, snapshots, *watch)
        with recorder.stop.listening():
            fit(learner, batches, start, steps, recorder)
        recorder.close()
    if recorder.stop.heard is not None and recorder.saved < steps:
        where = f"; go on with: distaff resume {folder.path}" if folder else ""
        message = f"stopped by {recorder.stop.heard.name} after step {recorder.saved}{where}"
        raise Interrupted(message, recorder.stop.heard)
    return learner.model


def snapshot_steps(steps: int, count: int) -> list[int]:
    """The steps after which a run of ``steps`` keeps the model, ``count`` times at equal distances."""
    count = min(count, steps)
    return [-(-steps * (i + 1) // count) for i in range(count)]


def _learner(fabric: Fabric, job: Job) -> Learner:
    kind = kind_of(job.calls)
    seed_weights(job.calls["training"]["seed"])
    model = channels_last(kind.build(job.calls))
    return kind.learner(job.goal, model, job.calls, job.data, fabric)
