"""``train``, ``resume`` and ``load``: from a call to a trained model in a run folder, and back."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from distaff.calls import bind, find_function, to_plain
from distaff.data.dataset import Dataset
from distaff.errors import DistaffError
from distaff.models.latents import TEMPERATURE
from distaff.models.representation import Representation
from distaff.objectives import recipes
from distaff.objectives.schedules import Weight
from distaff.training import checkpoint
from distaff.training.data_call import Data, open_data_call, reopen
from distaff.training.kinds import Goal, kind_for, kind_of
from distaff.training.model import ModelOptions
from distaff.training.run import RunFolder, warn
from distaff.training.work import Job, launch

Calls = dict[str, Any]
Precision = Literal["32-true", "bf16-mixed"]


def train(
    recipe: str | Callable[..., Goal],
    data: Data = "dsprites",
    *,
    out: str | Path | None = None,
    file: str | Path | None = None,
    resize: int | None = None,
    skip_bad: bool = False,
    data_options: str | Mapping[str, Any] | None = None,
    steps: int = 300_000,
    batch_size: int = 64,
    seed: int = 0,
    latents: int | str = 10,
    prior: str = "normal",
    temperature: Weight | str = TEMPERATURE,
    network: str = "auto",
    likelihood: str = "auto",
    learning_rate: float | None = None,
    betas: tuple[float, float] | None = None,
    amsgrad: bool = False,
    precision: Precision = "32-true",
    log_every: int = 100,
    checkpoint_every: int = 1000,
    snapshots: int | None = None,
    accelerator: str = "auto",
    devices: int = 1,
    strategy: str = "auto",
    progress: bool = True,
    **recipe_arguments: Any,
) -> Representation:
    """Train a recipe on a data set; a run that is already in ``out`` is gone on with.

    Args:
        recipe: a name from ``distaff recipes``, ``module:function``, or the function itself.
        data: a data set's name, an npz file, a folder of images, an array or a Dataset.
        out: the run folder; without one, nothing is written and nothing can be resumed.
        file: the official file of a named data set, instead of the built-in one.
        resize: the side that images are brought to, where the data set can.
        skip_bad: leave out images that do not decode, instead of stopping at the first.
        data_options: what the data set's load takes beside, such as part=test.
        steps: training steps in all.
        batch_size: images a step, over all devices.
        seed: of weights, noise and the order of data.
        latents: how many real latents, or groups such as style=gaussian:10,digit=concrete:10; for GANs
            style=uniform:2,digit=concrete:10,noise:62.
        prior: of the latents, such as student_t:5 or style=student_t:5,digit=learned_classes.
        temperature: of discrete latents, a number or a schedule such as linear:1:0.5:10000.
        network: a name from distaff.models.networks (for GANs infogan_networks) or module:function.
        likelihood: bernoulli or gaussian; auto is bernoulli for images and gaussian for vectors.
        learning_rate: Adam's step size, 1e-4 unless told, and 1e-3 for the generator of a GAN.
        betas: Adam's decay rates, 0.9 0.999 unless told, and 0.5 0.999 for the generator of a GAN.
        amsgrad: use Adam's AMSGrad variant.
        precision: of the forward pass.
        log_every: steps between log lines.
        checkpoint_every: steps between checkpoints.
        snapshots: how many times the model is kept for good, at equal distances, to look back at training.
        accelerator: cpu, cuda, or auto for the best there is.
        devices: how many of them.
        strategy: ddp for several devices.
        progress: show a progress bar.
        **recipe_arguments: the recipe's own weights and settings.

    Returns:
        The trained model.
    """
    name, function = _find_recipe(recipe)
    bound = bind(function, recipe_arguments)
    goal = _goal(name, function, bound)
    kind = kind_for(goal)
    calls: Calls = {
        "recipe": {"name": name, "arguments": to_plain(bound)},
        "data": {},
        "model": {},
        "training": {
            "steps": steps,
            "batch_size": batch_size,
            "seed": seed,
            "learning_rate": kind.learning_rate if learning_rate is None else learning_rate,
            "betas": list(kind.betas if betas is None else betas),
            "amsgrad": amsgrad,
            "precision": precision,
            "log_every": log_every,
            "checkpoint_every": checkpoint_every,
            "snapshots": snapshots,
        },
    }
    _check_training(calls["training"])
    dataset, calls["data"] = open_data_call(data, file, data_options, resize, skip_bad)
    options = ModelOptions(latents, prior, temperature, network, likelihood)
    calls["model"] = kind.describe(goal, dataset, options)
    folder = None if out is None else RunFolder(Path(out))
    job = Job(calls, goal, dataset, folder, progress)
    return launch(job, accelerator, devices, strategy)


def resume(
    folder: str | Path,
    data: Data | None = None,
    *,
    steps: int | None = None,
    accelerator: str = "auto",
    devices: int = 1,
    strategy: str = "auto",
    progress: bool = True,
) -> Representation:
    """Go on with the run in a folder, exactly where its last checkpoint is.

    Args:
        folder: the run folder.
        data: the data set, for runs that were started on one given in Python.
        steps: a new number of steps in all, to train longer than first planned.
        accelerator: cpu, cuda, or auto.
        devices: how many of them.
        strategy: ddp for several devices.
        progress: show a progress bar.

    Returns:
        The trained model.
    """
    run = RunFolder(Path(folder))
    calls = run.read()
    dataset = open_data(run, data)
    if steps is not None and steps != calls["training"]["steps"]:
        calls["training"]["steps"] = steps
        _check_training(calls["training"])
        run.write(calls)
    job = Job(calls, build_goal(calls), dataset, run, progress)
    return launch(job, accelerator, devices, strategy)


def load(folder: str | Path, device: str = "cpu", step: int | None = None) -> Representation:
    """The trained model in a run folder, at its last checkpoint or at a snapshot of an earlier ``step``."""
    run = RunFolder(Path(folder))
    calls = run.read()
    kind = kind_of(calls)
    model = kind.build(calls)
    if step is None:
        step = int(checkpoint.restore_model(run.checkpoints, model, warn)["step"])
    else:
        checkpoint.restore_snapshot(run.snapshots, model, step)
    kind.set_to(model, calls, step)
    return Representation(model.to(device), tuple(calls["data"]["shape"]))


def open_data(run: RunFolder, data: Data | None = None) -> Dataset:
    """The data set that a run was trained on; what is found must be the same data."""
    return reopen(run.read()["data"], data)


def build_goal(calls: Calls) -> Goal:
    """What a run's calls name as what to train for: an objective, or a game."""
    name, function = _find_recipe(calls["recipe"]["name"])
    return _goal(name, function, bind(function, calls["recipe"]["arguments"]))


def _find_recipe(recipe: str | Callable[..., Goal]) -> tuple[str, Callable[..., Goal]]:
    if isinstance(recipe, str):
        return recipe, find_function("recipe", recipe, recipes)
    return f"{recipe.__module__}:{recipe.__qualname__}", recipe


def _goal(name: str, function: Callable[..., Goal], arguments: Calls) -> Goal:
    goal = function(**arguments)
    if not isinstance(goal, Goal):
        raise DistaffError(f"the recipe {name} returns {type(goal).__name__}, not an Objective or a Game.")
    return goal


def _check_training(settings: Calls) -> None:
    for name in ("steps", "batch_size", "log_every", "checkpoint_every"):
        if settings[name] < 1:
            raise DistaffError(f"{name} must be at least 1, not {settings[name]}.")
    snapshots = settings.get("snapshots")
    if snapshots is not None and snapshots < 1:
        raise DistaffError(f"snapshots must be at least 1, not {snapshots}.")
    if settings["seed"] < 0:
        raise DistaffError(f"seed must not be negative, not {settings['seed']}.")
    if not settings["learning_rate"] > 0:
        raise DistaffError(f"learning_rate must be positive, not {settings['learning_rate']}.")
