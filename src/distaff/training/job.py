"""The work of a run's processes: make the learner, lock and write the folder, run the loop."""

import re
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace

import torch
from lightning_fabric import Fabric

from distaff.data.dataset import Dataset
from distaff.data.few_labels import Labels
from distaff.data.pairs import find_pairs
from distaff.foundation.errors import DistaffError, reason, said, warn
from distaff.foundation.progress import Progress
from distaff.foundation.trust import trusting
from distaff.models.infogan import InfoGAN
from distaff.models.networks.halving import channels_last
from distaff.models.representation import Model, Representation
from distaff.models.vae import VAE
from distaff.objectives.densities import Source
from distaff.objectives.games import Game
from distaff.objectives.objective import Objective
from distaff.runs import checkpoints
from distaff.runs.calls import Goal
from distaff.runs.config import RunConfig
from distaff.runs.folder import RunFolder
from distaff.runs.log import read_log
from distaff.runs.other_files import with_other_files
from distaff.runs.sections import TrainingSettings, VAEConfig
from distaff.runs.settings import Machine
from distaff.runs.starting import start_from
from distaff.training.average import Average
from distaff.training.batches import Batches, Supervision, seed_weights
from distaff.training.gan_learner import InfoGANLearner, generator_parameters
from distaff.training.learner import Course, Learner, VAELearner, make_optimiser, trained_model
from distaff.training.loop import fit
from distaff.training.preview import Preview
from distaff.training.recorder import Recorder
from distaff.training.tracking import tracking
from distaff.training.validation import HeldOut

TEMPORARY = re.compile(r"\.(?P<name>.+)\.[a-z0-9_]{8}")
"""Name of a file while it is being written: its final name and eight random letters."""
STALE = 600.0
"""Seconds after which a temporary file of another command counts as left behind, not as being written."""


class Interrupted(KeyboardInterrupt):
    """Training was stopped by a signal, after a checkpoint."""

    def __init__(self, message: str, signal_number: int) -> None:
        super().__init__(message)
        self.signal_number = signal_number


@dataclass(frozen=True)
class Job:
    """Everything that the processes of a run need.

    Without a folder, nothing is written; ``held`` is the run that it holds, if ``config`` is to replace that.
    """

    config: RunConfig
    goal: Goal
    data: Dataset
    folder: RunFolder | None
    machine: Machine
    held: RunConfig | None = None


def is_tracked(machine: Machine, folder: RunFolder | None) -> bool:
    """Whether trackers were asked for, or the run had some before."""
    return machine.track is not None or (folder is not None and folder.trackers.exists())


def launch(job: Job) -> Representation:
    """Do a job on one or several devices; the caller's random state is not changed."""
    where = {name: getattr(job.machine, name) for name in ("accelerator", "devices", "strategy")}
    try:
        fabric = Fabric(precision=job.config.training.precision, **where)
    except Exception as problem:  # the possible kinds are not documented
        asked = ", ".join(f"{name} {value}" for name, value in where.items())
        raise DistaffError(f"this machine cannot train with {asked}: {_one_line(problem)}") from problem
    work: Callable[..., Model] = _work_in_folder
    with torch.random.fork_rng():
        model: Model = fabric.launch(work, job)
    return Representation(model, job.data.shape, job.data.arrangement)


def _work_in_folder(fabric: Fabric, job: Job) -> Model:
    """Make the folder this run's own while it trains.

    All checks come before any change to the folder: the model, its optimiser and its batches are made first,
    then the folder is locked, then it is written to.
    """
    training = job.config.training
    kept, held_out = job.config.parts(job.data)
    begun = job.folder is not None and any(job.folder.checkpoints.glob("step-*"))
    job = replace(job, data=kept)
    if any(place is not None for place in (training.pairs, training.hold_out, training.start)):
        with trusting(*job.config.code):
            job = replace(job, config=with_other_files(job.config, held_out, begun))
    source = None if training.pairs is None else find_pairs(training.pairs, job.data)
    labels = None if training.labels is None else Labels.of(job.data, training.labels, training.seed)
    share = fabric.global_rank, fabric.world_size
    supervision = Supervision(source, labels)
    batches = Batches(job.data, training.batch_size, training.seed, fabric.device, share, supervision)
    learner = _made(fabric, job)
    if training.start is not None and not begun:
        with trusting(*job.config.code):
            start_from(learner, str(training.start))
    if isinstance(job.goal, Objective) and job.goal.density.source is Source.DATA_SET:
        batches.check_size_of_everything()
    owned = job.folder if fabric.is_global_zero else None
    if owned:
        job.config.to_yaml()  # an error for numbers that no file can hold
        owned.check(job.held or job.config)
    with owned.lock() if owned else nullcontext():
        if owned:
            owned.claim(job.config, job.held)
            _remove_leftovers(owned)
        fabric.barrier()
        if labels is not None and fabric.is_global_zero:
            warn(str(labels))
        return _work(fabric, job, learner, batches, held_out)


def _remove_leftovers(run: RunFolder) -> None:
    """Delete files that a killed process left half-written; call it with the folder locked.

    Under the lock, no other process writes files that only training writes. Scores, codes and names are
    written by commands that need no lock: their temporary files are deleted once they are old.
    """
    for place in (run.checkpoints, run.best):
        checkpoints.remove_leftovers(place)
    own = {run.config.name, run.log.name, run.diverged.name}
    for place, all_ours in ((run.path, False), (run.snapshots, True)):
        for file in place.glob(".*"):
            found = TEMPORARY.fullmatch(file.name)
            ours = found and (all_ours or found["name"] in own)
            if found and file.is_file() and (ours or time.time() - file.stat().st_mtime > STALE):
                file.unlink(missing_ok=True)


def _made(fabric: Fabric, job: Job) -> Learner:
    """The learner; networks, priors and recipes may be a user's code, which may fail in any way."""
    try:
        return _learner(fabric, job)
    except (DistaffError, MemoryError):
        raise
    except Exception as problem:
        raise DistaffError(
            f"the model cannot be made with the network {job.config.model.network}: {_one_line(problem)}"
        ) from problem


def _one_line(problem: Exception) -> str:
    """A foreign exception as the end of a sentence."""
    return f"{type(problem).__name__}: {reason(problem).removesuffix('.')}."


def _work(fabric: Fabric, job: Job, learner: Learner, batches: Batches, held_out: Dataset | None) -> Model:
    training, folder = job.config.training, job.folder
    before = checkpoints.restore(folder.checkpoints, learner, warn) if folder else checkpoints.Reached()
    if folder and before.step and fabric.is_global_zero:
        with trusting(*job.config.code):
            _compare_threads(folder)
    visible = job.machine.progress and fabric.is_global_zero
    tracked = fabric.is_global_zero and is_tracked(job.machine, folder)
    with (
        Progress(job.config.recipe.name, training.steps, before.step) if visible else nullcontext() as bar,
        tracking(job.machine.track, job.config, folder, before.step > 0)
        if tracked
        else nullcontext() as trackers,
    ):
        log = [x for x in read_log(folder.log) if x["step"] <= before.step] if folder and before.step else []
        labels = batches.supervision.labels
        looks = None if held_out is None else HeldOut(held_out, training, fabric, log, labels)
        preview = None
        if folder and bar is not None and len(job.data.shape) == 3:
            preview = Preview(folder, job.data, job.config.title, training.steps, bar.tell)
        recorder = Recorder(folder, fabric, training, bar, before, job.goal, looks, trackers, preview)
        with recorder.stop.listening():
            fit(learner, batches, before.step, training.steps, recorder)
        recorder.close()
    if recorder.stop.heard is not None and recorder.saved < training.steps:
        where = f"; resume with: distaff resume {folder.path}" if folder else ""
        message = f"stopped by {recorder.stop.heard.name} after step {recorder.saved}{where}"
        raise Interrupted(message, recorder.stop.heard)
    model = trained_model(learner)
    if looks is not None and training.patience is not None:
        _say_stopped(looks, recorder.saved, training)
        if folder is not None:
            return _best(folder, model, fabric)
        if recorder.best is not None:
            model.load_state_dict(recorder.best)
    return model


def _compare_threads(folder: RunFolder) -> None:
    """Warn if the number of threads has changed, since it determines the order of sums."""
    then, now = folder.read().made_with.get("threads"), torch.get_num_threads()
    if then not in (None, now):
        warn(
            f"{folder.path} was begun with {then} threads and resumes with {now}: its weights will not be "
            f"bit for bit those of an uninterrupted run; with OMP_NUM_THREADS={then} they would be"
        )


def _say_stopped(looks: HeldOut, step: int, training: TrainingSettings) -> None:
    if looks.exhausted and step < training.steps:
        warn(f"stopped after step {step:,}: held-out data were best at step {looks.best_step:,}, now kept.")


def _best(folder: RunFolder, model: Model, fabric: Fabric) -> Model:
    """The model of the best checkpoint, as ``load`` returns it."""
    fabric.barrier()
    weights, _ = checkpoints.newest_weights(folder.trained, warn)
    checkpoints.load_weights(model, weights)
    return model


def _learner(fabric: Fabric, job: Job) -> Learner:
    config, training = job.config, job.config.training
    seed_weights(training.seed)
    model = channels_last(config.model.build(config.data.shape))
    if isinstance(job.goal, Game):
        assert isinstance(model, InfoGAN)
        if training.batch_size // fabric.world_size < 2:
            raise DistaffError(
                said("a GAN normalises over its batch, which needs 2 images per process: raise --batch-size.")
            )
        if training.revive is not None:
            raise DistaffError("revive opens the latents of a VAE; a GAN has none that close.")
        if training.hold_out is not None:
            raise DistaffError("a GAN has no ELBO to look at: leave --hold-out out.")
        model = model.to(fabric.device)
        optimiser = make_optimiser(generator_parameters(model), training)
        return InfoGANLearner(model, job.goal, optimiser, fabric, _course(model, training))
    assert isinstance(model, VAE)
    assert isinstance(config.model, VAEConfig)
    assert isinstance(job.goal, Objective)
    model.prior.start_from(job.data.images)
    model = model.to(fabric.device)
    optimiser = make_optimiser(model.parameters(), training, tuple(model.prior.codebooks.values()))
    course = replace(_course(model, training), temperature=config.model.temperature)
    return VAELearner(model, job.goal, optimiser, len(job.data), fabric, course)


def _course(model: Model, training: TrainingSettings) -> Course:
    average = None if training.average is None else Average(model, training.average)
    return Course(training.learning_rate, clip=training.clip, average=average, revive=training.revive)
