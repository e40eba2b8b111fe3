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
from distaff.objectives.objective import Objective
from distaff.objectives.schedules import Weight, weight_at
from distaff.training import checkpoint, hub
from distaff.training.data_call import Data, open_data_call, reopen
from distaff.training.model import build_model, describe_model, temperature_of
from distaff.training.run import RunFolder, warn
from distaff.training.work import Job, launch

Calls = dict[str, Any]
Precision = Literal["32-true", "bf16-mixed"]


def train(
    recipe: str | Callable[..., Objective],
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
    learning_rate: float = 1e-4,
    betas: tuple[float, float] = (0.9, 0.999),
    amsgrad: bool = False,
    precision: Precision = "32-true",
    log_every: int = 100,
    checkpoint_every: int = 1000,
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
        latents: how many Gaussian latents, or groups such as style=gaussian:10,digit=concrete:10.
        prior: of the latents, such as student_t:5 or style=student_t:5,digit=learned_classes.
        temperature: of discrete latents, a number or a schedule such as linear:1:0.5:10000.
        network: the encoder and decoder, a name from distaff.models.networks or module:function.
        likelihood: bernoulli, gaussian or unit_gaussian; auto is bernoulli for images, gaussian for vectors.
        learning_rate: Adam's step size.
        betas: Adam's decay rates.
        amsgrad: use Adam's AMSGrad variant.
        precision: of the forward pass.
        log_every: steps between log lines.
        checkpoint_every: steps between checkpoints.
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
    calls: Calls = {
        "recipe": {"name": name, "arguments": to_plain(bound)},
        "data": {},
        "model": {},
        "training": {
            "steps": steps,
            "batch_size": batch_size,
            "seed": seed,
            "learning_rate": learning_rate,
            "betas": list(betas),
            "amsgrad": amsgrad,
            "precision": precision,
            "log_every": log_every,
            "checkpoint_every": checkpoint_every,
        },
    }
    _check_training(calls["training"])
    dataset, calls["data"] = open_data_call(data, file, data_options, resize, skip_bad)
    calls["model"] = describe_model(dataset, latents, prior, temperature, network, likelihood)
    folder = None if out is None else RunFolder(Path(out))
    job = Job(calls, _objective(name, function, bound), dataset, folder, progress)
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
    job = Job(calls, build_objective(calls), dataset, run, progress)
    return launch(job, accelerator, devices, strategy)


def load(folder: str | Path, device: str = "cpu") -> Representation:
    """The trained model in a run folder, at its last checkpoint, or in a ``distaff export --hub`` folder."""
    if hub.holds_model(Path(folder)):
        return hub.load_model(Path(folder), device)
    run = RunFolder(Path(folder))
    calls = run.read()
    model = build_model(calls)
    facts = checkpoint.restore_model(run.checkpoints, model, warn)
    model.temperature = weight_at(temperature_of(calls["model"]), max(facts["step"] - 1, 0))
    return Representation(model.to(device), tuple(calls["data"]["shape"]))


def open_data(run: RunFolder, data: Data | None = None) -> Dataset:
    """The data set that a run was trained on; what is found must be the same data."""
    return reopen(run.read()["data"], data)


def build_objective(calls: Calls) -> Objective:
    """The objective that a run's calls name."""
    name, function = _find_recipe(calls["recipe"]["name"])
    return _objective(name, function, bind(function, calls["recipe"]["arguments"]))


def _find_recipe(recipe: str | Callable[..., Objective]) -> tuple[str, Callable[..., Objective]]:
    if isinstance(recipe, str):
        return recipe, find_function("recipe", recipe, recipes)
    return f"{recipe.__module__}:{recipe.__qualname__}", recipe


def _objective(name: str, function: Callable[..., Objective], arguments: Calls) -> Objective:
    objective = function(**arguments)
    if not isinstance(objective, Objective):
        raise DistaffError(f"the recipe {name} returns {type(objective).__name__}, not an Objective.")
    return objective


def _check_training(settings: Calls) -> None:
    for name in ("steps", "batch_size", "log_every", "checkpoint_every"):
        if settings[name] < 1:
            raise DistaffError(f"{name} must be at least 1, not {settings[name]}.")
    if settings["seed"] < 0:
        raise DistaffError(f"seed must not be negative, not {settings['seed']}.")
    if not settings["learning_rate"] > 0:
        raise DistaffError(f"learning_rate must be positive, not {settings['learning_rate']}.")
