"""A job done: the model, the learner, the data and the run folder put together around the loop."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace

import torch
from lightning_fabric import Fabric

from distaff.data.dataset import Dataset
from distaff.foundation.errors import DistaffError
from distaff.foundation.progress import Progress
from distaff.models.infogan import InfoGAN
from distaff.models.layout import channels_last
from distaff.models.representation import Model, Representation
from distaff.models.vae import VAE
from distaff.objectives.games import Game
from distaff.objectives.objective import Objective
from distaff.runs import checkpoints
from distaff.runs.config import Goal, RunConfig
from distaff.runs.folder import RunFolder, warn
from distaff.runs.model_config import VAEConfig
from distaff.runs.settings import Machine, TrainingSettings
from distaff.training.batches import Batches, seed_weights
from distaff.training.collapse import CollapseWatch
from distaff.training.gan_learner import InfoGANLearner, generator_parameters
from distaff.training.learner import Learner, VAELearner
from distaff.training.loop import fit
from distaff.training.optimisers import Average, Course, make_optimiser
from distaff.training.recorder import Recorder


class Interrupted(KeyboardInterrupt):
    """Training was asked to stop by a signal, and did after a checkpoint."""

    def __init__(self, message: str, signal_number: int) -> None:
        super().__init__(message)
        self.signal_number = signal_number


@dataclass(frozen=True)
class Job:
    """All that training needs to know.

    Args:
        config: the run.
        goal: what its recipe asks to train for.
        data: what it is trained on.
        folder: where the run is kept; None keeps nothing.
        machine: where it is trained.
    """

    config: RunConfig
    goal: Goal
    data: Dataset
    folder: RunFolder | None
    machine: Machine


def launch(job: Job) -> Representation:
    """Do a job on one or several devices; the caller's random numbers stay as they were."""
    where = {name: getattr(job.machine, name) for name in ("accelerator", "devices", "strategy")}
    fabric = Fabric(precision=job.config.training.precision, **where)
    work: Callable[..., Model] = _work_in_folder
    with torch.random.fork_rng():
        model: Model = fabric.launch(work, job)
    return Representation(model, job.data.shape)


def _work_in_folder(fabric: Fabric, job: Job) -> Model:
    """Make the folder this run's own while it trains."""
    owned = job.folder if fabric.is_global_zero else None
    if owned:
        owned.claim(job.config)
    with owned.lock() if owned else nullcontext():
        if owned:
            checkpoints.remove_leftovers(owned.checkpoints)
        fabric.barrier()
        return _work(fabric, job)


def _work(fabric: Fabric, job: Job) -> Model:
    training, folder = job.config.training, job.folder
    learner = _learner(fabric, job)
    order = training.batch_size, training.seed
    batches = Batches(job.data, *order, fabric.device, fabric.global_rank, fabric.world_size)
    saved = folder and checkpoints.restore(folder.checkpoints, learner, warn)
    start, seconds = (saved["step"], saved["seconds"]) if saved else (0, 0.0)
    visible = job.machine.progress and fabric.is_global_zero
    with Progress(job.config.recipe.name, training.steps, start, visible) as bar:
        watch = CollapseWatch(folder, learner.trouble) if isinstance(learner, InfoGANLearner) else None
        recorder = Recorder(folder, fabric, training, bar, (start, seconds), job.goal.takes_part, watch)
        with recorder.stop.listening():
            fit(learner, batches, start, training.steps, recorder)
        recorder.close()
    if recorder.stop.heard is not None and recorder.saved < training.steps:
        where = f"; resume with: distaff resume {folder.path}" if folder else ""
        message = f"stopped by {recorder.stop.heard.name} after step {recorder.saved}{where}"
        raise Interrupted(message, recorder.stop.heard)
    return _trained(learner)


def _learner(fabric: Fabric, job: Job) -> Learner:
    config, training = job.config, job.config.training
    seed_weights(training.seed)
    model = channels_last(config.model.build(config.data.shape))
    if isinstance(job.goal, Game):
        assert isinstance(model, InfoGAN)
        if training.batch_size // fabric.world_size < 2:
            raise DistaffError(
                "a GAN normalises over its batch, which needs 2 images per process: raise batch_size."
            )
        model = model.to(fabric.device)
        optimiser = make_optimiser(generator_parameters(model), training)
        return InfoGANLearner(model, job.goal, optimiser, fabric, _course(model, training))
    assert isinstance(model, VAE)
    assert isinstance(config.model, VAEConfig)
    assert isinstance(job.goal, Objective)
    model.prior.start_from(job.data.images)
    model = model.to(fabric.device)
    optimiser = make_optimiser(model.parameters(), training)
    course = replace(_course(model, training), temperature=config.model.temperature)
    return VAELearner(model, job.goal, optimiser, len(job.data), fabric, course)


def _course(model: Model, training: TrainingSettings) -> Course:
    average = None if training.average is None else Average(model, training.average)
    return Course(training.learning_rate, clip=training.clip, average=average)


def _trained(learner: Learner) -> Model:
    """What a user gets back: the average of the weights, if one was kept."""
    average = learner.modules.get("average")
    if isinstance(average, VAE) and isinstance(learner.model, VAE):
        average.temperature = learner.model.temperature
    return average if isinstance(average, VAE | InfoGAN) else learner.model
