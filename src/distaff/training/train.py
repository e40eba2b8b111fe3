"""``train`` and ``resume``: from a call to a trained model in a run folder."""

import inspect
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric

from distaff.data.dataset import Dataset
from distaff.data.few_labels import Labels
from distaff.data.pairs import find_pairs
from distaff.data.pictures import Fit
from distaff.foundation.binding import bind
from distaff.foundation.errors import DistaffError, said, spoken_to_its_caller, unknown
from distaff.foundation.progress import Progress
from distaff.foundation.text import named_values
from distaff.foundation.trust import trusting
from distaff.models.infogan import InfoGAN
from distaff.models.layout import channels_last
from distaff.models.representation import Model, Representation
from distaff.models.vae import VAE
from distaff.objectives.densities import Source
from distaff.objectives.games import Game
from distaff.objectives.objective import Objective
from distaff.runs import checkpoints
from distaff.runs.config import (
    Data,
    DataCall,
    Goal,
    RecipeCall,
    RunConfig,
    find_recipe,
    labelled_goal,
    resolved,
)
from distaff.runs.folder import RunFolder, read_log, warn
from distaff.runs.model_config import VAEConfig, check_fit, describe
from distaff.runs.named_code import named_code
from distaff.runs.presets import find_preset
from distaff.runs.request import RunRequest
from distaff.runs.settings import (
    GROUPS,
    SETTINGS,
    AtLeastOne,
    Machine,
    ModelSettings,
    TrainingSettings,
    chosen,
    held_out_share,
    takes_settings,
)
from distaff.runs.zoo import copy_model, in_zoo, model_config, zoo_folder
from distaff.training.batches import Batches, seed_weights
from distaff.training.gan_learner import InfoGANLearner, generator_parameters
from distaff.training.learner import Learner, VAELearner
from distaff.training.leftovers import remove_leftovers
from distaff.training.loop import fit
from distaff.training.optimisers import Average, Course, make_optimiser
from distaff.training.recorder import Recorder
from distaff.training.validation import HeldOut, parts

ELSEWHERE = {
    **dict.fromkeys(("lr", "learning_rate_init", "step_size"), "learning_rate"),
    **dict.fromkeys(("latent_dim", "latent_dims", "n_latents", "z_dim", "n_components"), "latents"),
    **dict.fromkeys(("max_steps", "iterations", "max_iter", "num_steps"), "steps"),
    **dict.fromkeys(("epochs", "max_epochs", "num_epochs"), "steps, which counts batches,"),
    **dict.fromkeys(("batch", "bs"), "batch_size"),
    **dict.fromkeys(("random_state", "random_seed"), "seed"),
    **dict.fromkeys(("optimiser", "optim"), "optimizer"),
    **dict.fromkeys(("wd", "l2"), "weight_decay"),
    **dict.fromkeys(("device", "gpu"), "accelerator"),
    **dict.fromkeys(("verbose", "progress_bar"), "progress"),
    **dict.fromkeys(("validation_split", "val_split", "test_size"), "hold_out"),
}
"""What settings are called in other libraries."""


class Interrupted(KeyboardInterrupt):
    """Training was asked to stop by a signal, and did after a checkpoint."""

    def __init__(self, message: str, signal_number: int) -> None:
        super().__init__(message)
        self.signal_number = signal_number


@takes_settings(*GROUPS)
@spoken_to_its_caller
def train(
    recipe: str | Callable[..., Goal],
    data: Data = "dsprites",
    *,
    preset: str | None = None,
    out: str | Path | None = None,
    file: str | Path | None = None,
    resize: AtLeastOne | None = None,
    fit: Fit | None = None,
    range: str | None = None,
    skip_bad: bool = False,
    correlate: str | None = None,
    leave_out: str | None = None,
    data_options: str | Mapping[str, Any] | None = None,
    **settings: Any,
) -> Representation:
    """Train a recipe on a data set; resumes the run in ``out``, if any.

    Args:
        recipe: a name from ``distaff recipes``, ``module:function``, or the function itself.
        data: a data set's name, a folder or archive of images, a table (csv, parquet or a data frame), a file
            of arrays (npz, npy, h5), an array or a Dataset.
        preset: settings that go well together, a name from ``distaff presets``; all others given here win.
        out: the run folder; on the command line by default runs/RECIPE-DATA-SEED. In Python, without one,
            nothing is written and nothing can be resumed.
        file: the official file of a named data set, instead of the built-in one.
        resize: the side that images are brought to, where the data set can.
        fit: how images that are not square are brought there: crop keeps their middle, pad keeps all of them
            with black beside it, squash stretches them, as is done by default.
        range: which values of images are black and white, for 16-bit and float images: min-max,
            percentiles:1:99, signed (−1 to 1) or two numbers such as 0:4095.
        skip_bad: leave out images that do not decode, instead of stopping at the first.
        correlate: tie two factors to each other, such as scale,posX:0.4: p(a, b) ∝ exp(−(a − b)²/2·0.4²).
        leave_out: combinations of factors to leave out of training: recombination_to_element,
            recombination_to_range, composition, interpolation or extrapolation, the last three of any factors
            as in extrapolation:posX,posY.
        data_options: what the data set's load takes beside, such as part=test.
        **settings: the recipe's own weights and settings.

    Returns:
        The trained model.
    """
    if preset is not None:
        named = data if isinstance(data, str) else None
        settings = find_preset(preset).fill(settings, getattr(recipe, "__name__", str(recipe)), named)
    own = {name: value for name, value in settings.items() if name not in SETTINGS}
    model, training = chosen(ModelSettings, settings), chosen(TrainingSettings, settings)
    machine = chosen(Machine, settings)
    _refuse_unknown(recipe, own)
    call, goal = RecipeCall.of(recipe, own)
    options = named_values(data_options) if isinstance(data_options, str) else dict(data_options or {})
    given = {"resize": resize, "fit": fit, "range": range}
    options |= {name: value for name, value in given.items() if value is not None}
    options |= {"skip_bad": True} if skip_bad else {}
    options |= {} if correlate is None else {"correlate": correlate}
    options |= {} if leave_out is None else {"leave_out": leave_out}
    source = DataCall(data, None if file is None else str(file), options)
    return begin(RunRequest(call, source, model, training, machine), goal, out)


def _refuse_unknown(recipe: str | Callable[..., Goal], own: Mapping[str, Any]) -> None:
    """A setting that neither the recipe nor training has; other libraries' words for one are understood."""
    function = find_recipe(recipe) if isinstance(recipe, str) else recipe
    known = [*inspect.signature(function).parameters, *SETTINGS]
    for name in own:
        if name not in known:
            meant = ELSEWHERE.get(name)
            if meant is not None:
                raise DistaffError(f"unknown setting {name!r}: it is called {meant} here.")
            raise unknown(f"argument of {getattr(function, '__name__', recipe)}", name, known)


def begin(request: RunRequest, goal: Goal, out: str | Path | None = None) -> Representation:
    """Train what a request asks for, or resume it in ``out``.

    Args:
        request: the run.
        goal: what its recipe returns.
        out: the run folder; without one, nothing is written.
    """
    goal = labelled_goal(goal, request.training)
    folder = None if out is None else RunFolder(Path(out))
    shape = request.data.shape()
    if shape is not None:
        check_fit(request.model, shape, goal)
    before = None
    if folder is not None and folder.config.exists():
        with trusting(*named_code(request.recipe, request.model)):
            before = folder.read().data
    # A run of an earlier version did not standardise: its data are brought in as they were then.
    raw = before is not None and before.arrangement is None
    data, found = request.data.open(request.model.likelihood, standardise=not raw)
    if raw:
        found = replace(found, arrangement=None)
        data = replace(data, arrangement=None)
    model, training = describe(request.model, data, goal), resolved(request.training, goal, data)
    training = fitting(training, len(data))
    config = RunConfig(request.recipe, found, model, training)
    return _launch(Job(config, goal, data, folder, request.machine))


@takes_settings(Machine)
@spoken_to_its_caller
def resume(
    folder: str | Path,
    data: Data | None = None,
    *,
    steps: AtLeastOne | None = None,
    out: str | Path | None = None,
    trust: str | None = None,
    **settings: Any,
) -> Representation:
    """Resume the run in a folder, exactly where its last checkpoint is, or train a model of the zoo further.

    Args:
        folder: the run folder, or zoo:NAME, whose weights train on with optimisers and critics that are new.
        data: the data set, for runs that were started on one given in Python.
        steps: a new number of steps in all, to train longer than first planned.
        out: for zoo:NAME, the run folder to train in; one that this call began before is resumed.
        trust: modules of code that the folder may name, such as mine, separated by commas; what you trained
            yourself, here, is trusted anyway.
        **settings: none beside these.

    Returns:
        The trained model.
    """
    machine = Machine(**bind(Machine, settings))
    run = _begun_from_zoo(folder, out, steps) if in_zoo(folder) else RunFolder(Path(folder))
    if out is not None and not in_zoo(folder):
        raise DistaffError(f"out goes with zoo:NAME: {folder} is resumed where it is.")
    with trusting(trust):
        config = run.read()
    dataset = config.data.reopen(data)
    if steps is not None and steps != config.training.steps:
        training = TrainingSettings(**bind(TrainingSettings, {**vars(config.training), "steps": steps}))
        longer = replace(config, training=training)
        return _launch(Job(longer, longer.goal(), dataset, run, machine, held=config))
    return _launch(Job(config, config.goal(), dataset, run, machine))


def _begun_from_zoo(place: str | Path, out: str | Path | None, steps: int | None) -> RunFolder:
    """A run folder that begins with a model of the zoo, or that an earlier call made so."""
    source = zoo_folder(place)
    config, step, _ = model_config(source)
    if out is None:
        raise DistaffError(f"{place} is not trained in place: say where to, as in --out runs/mine.")
    if steps is None or steps <= step:
        raise DistaffError(f"{place} has had {step:,} steps: say steps, in all, that are more.")
    target = RunFolder(Path(out))
    if not target.config.exists():
        if target.path.exists() and any(target.path.iterdir()):
            raise DistaffError(f"{target.path} holds files that are not a run: choose another folder.")
        copy_model(source, target.path)
    held = target.read()
    begun = replace(config, training=replace(config.training, steps=held.training.steps))
    if differing := held.differences(begun):
        raise DistaffError(
            f"{target.path} holds another run ({'; '.join(differing)}): choose another folder."
        )
    return target


def fitting(training: TrainingSettings, size: int) -> TrainingSettings:
    """The settings with a batch that fits a small data set, if the usual one was asked for."""
    usual = TrainingSettings().batch_size
    left = size - round(size * (held_out_share(training.hold_out) or 0))
    if not training.batch_size == usual > left >= 2:
        return training
    warn(f"there are {left} observations to train on, so batches hold {left} instead of {usual}.")
    return replace(training, batch_size=left)


@dataclass(frozen=True)
class Job:
    """All that the processes of a run need to know.

    Args:
        config: the run.
        goal: what its recipe asks to train for.
        data: what it is trained on.
        folder: where the run is kept; None keeps nothing.
        machine: where it is trained.
        held: what the folder holds of it, where that is to be changed.
    """

    config: RunConfig
    goal: Goal
    data: Dataset
    folder: RunFolder | None
    machine: Machine
    held: RunConfig | None = None


def _launch(job: Job) -> Representation:
    """Do a job on one or several devices; the caller's random numbers stay as they were."""
    where = {name: getattr(job.machine, name) for name in ("accelerator", "devices", "strategy")}
    try:
        fabric = Fabric(precision=job.config.training.precision, **where)
    except Exception as problem:  # which kinds there are is not documented
        asked = ", ".join(f"{name} {value}" for name, value in where.items())
        raise DistaffError(f"this machine cannot train with {asked}: {_one_line(problem)}") from problem
    work: Callable[..., Model] = _work_in_folder
    with torch.random.fork_rng():
        model: Model = fabric.launch(work, job)
    return Representation(model, job.data.shape, job.data.arrangement)


def _work_in_folder(fabric: Fabric, job: Job) -> Model:
    """Make the folder this run's own while it trains.

    All that can be refused is refused before the folder is touched: the model, its optimiser and its batches
    are made first, then the folder is locked, then it is written to.
    """
    training = job.config.training
    kept, held_out = parts(job.data, job.config.data, training)
    job = replace(job, data=kept)
    order = training.batch_size, training.seed
    source = None if training.pairs is None else find_pairs(training.pairs, job.data)
    labels = None if training.labels is None else Labels.of(job.data, training.labels, training.seed)
    shares = fabric.global_rank, fabric.world_size
    batches = Batches(job.data, *order, fabric.device, *shares, source, labels)
    learner = _made(fabric, job)
    if isinstance(job.goal, Objective) and job.goal.density.source is Source.DATA_SET:
        batches.check_size_of_everything()
    owned = job.folder if fabric.is_global_zero else None
    if owned:
        job.config.to_yaml()  # which refuses numbers that no file can hold
        owned.check(job.held or job.config)
    with owned.lock() if owned else nullcontext():
        if owned:
            owned.claim(job.config, job.held)
            remove_leftovers(owned)
        fabric.barrier()
        if labels is not None and fabric.is_global_zero:
            warn(str(labels))
        return _work(fabric, job, learner, batches, held_out)


def _made(fabric: Fabric, job: Job) -> Learner:
    """What learns; networks, priors and recipes may be anybody's code, which may fail in any way."""
    try:
        return _learner(fabric, job)
    except (DistaffError, MemoryError):
        raise
    except Exception as problem:
        raise DistaffError(
            f"the model cannot be made with the network {job.config.model.network}: {_one_line(problem)}"
        ) from problem


def _one_line(problem: Exception) -> str:
    """An exception of someone else's as the end of a sentence."""
    words = " ".join(str(problem).split())
    return f"{type(problem).__name__}: {words.removesuffix('.')}."


def _work(fabric: Fabric, job: Job, learner: Learner, batches: Batches, held_out: Dataset | None) -> Model:
    training, folder = job.config.training, job.folder
    before = checkpoints.restore(folder.checkpoints, learner, warn) if folder else checkpoints.Reached()
    if folder and before.step and fabric.is_global_zero:
        with trusting(*job.config.code):
            _compare_threads(folder)
    visible = job.machine.progress and fabric.is_global_zero
    with Progress(job.config.recipe.name, training.steps, before.step, visible) as bar:
        log = [] if folder is None else [x for x in read_log(folder.log) if x["step"] <= before.step]
        looks = None if held_out is None else HeldOut(held_out, training, fabric, log)
        recorder = Recorder(folder, fabric, training, bar, before, job.goal, looks)
        with recorder.stop.listening():
            fit(learner, batches, before.step, training.steps, recorder)
        recorder.close()
    if recorder.stop.heard is not None and recorder.saved < training.steps:
        where = f"; resume with: distaff resume {folder.path}" if folder else ""
        message = f"stopped by {recorder.stop.heard.name} after step {recorder.saved}{where}"
        raise Interrupted(message, recorder.stop.heard)
    model = _trained(learner)
    if looks is not None and training.patience is not None:
        _say_stopped(looks, recorder.saved, training)
        if folder is not None:
            return _best(folder, model, fabric)
        if recorder.best is not None:
            model.load_state_dict(recorder.best)
    return model


def _compare_threads(folder: RunFolder) -> None:
    """Sums over several threads are added up in another order than over one."""
    then, now = folder.read().made_with.get("threads"), torch.get_num_threads()
    if then not in (None, now):
        warn(
            f"{folder.path} was begun with {then} threads and resumes with {now}: its weights will not be "
            f"bit for bit those of a run never interrupted; with OMP_NUM_THREADS={then} they would be"
        )


def _say_stopped(looks: HeldOut, step: int, training: TrainingSettings) -> None:
    if looks.exhausted and step < training.steps:
        warn(f"stopped after step {step:,}: held-out data were best at step {looks.best_step:,}, now kept.")


def _best(folder: RunFolder, model: Model, fabric: Fabric) -> Model:
    """The model of the best checkpoint, as ``load`` gives it."""
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


def _trained(learner: Learner) -> Model:
    """What a user gets back: the average of the weights, if one was kept."""
    average = learner.modules.get("average")
    if isinstance(average, VAE) and isinstance(learner.model, VAE):
        average.temperature = learner.model.temperature
    return average if isinstance(average, VAE | InfoGAN) else learner.model
