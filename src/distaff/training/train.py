"""``train`` and ``resume``: from a call to a trained model in a run folder."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from distaff.data.dataset import Dataset
from distaff.data.few_labels import Labels
from distaff.data.pairs import find_pairs, listed, unchanged
from distaff.foundation.binding import bind, chosen
from distaff.foundation.errors import DistaffError, check_text, spoken_to_its_caller, unknown, warn
from distaff.foundation.object_names import name_of
from distaff.foundation.other_words import called_here
from distaff.foundation.trust import trusting
from distaff.models.representation import Representation
from distaff.objectives.games import Game
from distaff.objectives.objective import Objective
from distaff.runs import checkpoints
from distaff.runs.calls import Data, DataCall, Goal, RecipeCall, find_recipe, labelled_goal
from distaff.runs.config import DataConfig, RunConfig, named_code
from distaff.runs.folder import RunFolder
from distaff.runs.model_choice import check_fit, check_words, describe
from distaff.runs.other_files import START
from distaff.runs.presets import find_preset
from distaff.runs.request import RunRequest
from distaff.runs.sections import AtLeastOne, TrainingSettings, held_out_share, in_zoo
from distaff.runs.settings import (
    DATA_SETTINGS,
    GROUPS,
    SETTINGS,
    DataSettings,
    Machine,
    ModelSettings,
    takes_settings,
)
from distaff.runs.starting import model_like
from distaff.runs.zoo import begin_from
from distaff.training.job import Job, is_tracked, launch
from distaff.training.tracking import chosen_trackers


@takes_settings(DataSettings, *GROUPS)
@spoken_to_its_caller
def train(
    recipe: str | Callable[..., Goal],
    data: Data = "dsprites",
    *,
    preset: str | None = None,
    out: str | Path | None = None,
    **settings: Any,
) -> Representation:
    """Train a recipe on a data set; resumes the run in ``out``, if any.

    Args:
        recipe: name from ``distaff recipes``, ``module:function``, or the function itself.
        data: name of a data set, folder or archive of images, table (csv, parquet or a data frame), file of
            arrays (npz, npy, h5), array or Dataset.
        preset: settings that go well together, a name from ``distaff presets``; settings given here override
            those of the preset.
        out: the run folder; on the command line by default runs/RECIPE-DATA-SEED. In Python, without one,
            nothing is written and nothing can be resumed.
        **settings: the recipe's own weights and settings.

    Returns:
        The trained model.
    """
    if preset is not None:
        named = data if isinstance(data, str) else None
        settings = find_preset(preset).fill(settings, getattr(recipe, "__name__", str(recipe)), named)
    for part in ("network", "prior"):
        if not isinstance(settings.get(part, ""), str):
            settings[part] = name_of(part, settings[part])
    shared = (*SETTINGS, *DATA_SETTINGS)
    own = {name: value for name, value in settings.items() if name not in shared}
    model, training = chosen(ModelSettings, settings), chosen(TrainingSettings, settings)
    machine = chosen(Machine, settings)
    _refuse_unknown(recipe, own)
    call, goal = RecipeCall.of(recipe, own)
    source = DataCall.told(data, chosen(DataSettings, settings))
    return begin(RunRequest(call, source, model, training, machine), goal, out)


def _refuse_unknown(recipe: str | Callable[..., Goal], own: Mapping[str, Any]) -> None:
    """Raise an error for unknown settings; suggest the name here for names that other libraries use."""
    function = find_recipe(recipe)
    known = [*inspect.signature(function).parameters, *SETTINGS]
    for name in own:
        if name not in known:
            meant = called_here(name)
            if meant is not None:
                raise DistaffError(f"unknown setting {name!r}: it is called {meant} here.")
            raise unknown(f"argument of {getattr(function, '__name__', recipe)}", name, known)


def begin(request: RunRequest, goal: Goal, out: str | Path | None = None) -> Representation:
    """Train a requested run, or resume it in ``out``.

    Without a folder, nothing is written.
    """
    goal = labelled_goal(goal, request.training)
    given = named_code(request.recipe, request.model, request.data.spec, request.training)
    folder = None if out is None else RunFolder(Path(out))
    held = None
    if folder is not None and folder.config.exists():
        with trusting(*given):
            held = folder.read()
    again = held if held is not None and held.training.start == request.training.start else None
    if request.training.start is not None:
        # A run that has begun does not need its start, which may have been trained further or deleted.
        place = str(request.training.start if again is None else out)
        with trusting(*given):
            request = replace(request, model=model_like(request.model, place, isinstance(goal, Game)))
    if folder is not None:
        folder.refuse_file()
        check_text(str(folder.path))
    if is_tracked(request.machine, folder):
        chosen_trackers(request.machine.track, folder)  # an error if their packages are missing
    check_words(request.model, goal)
    shape = request.data.shape()
    if shape is not None:
        check_fit(request.model, shape, goal)
    # A run of an earlier version did not standardise: its data are prepared as they were then.
    raw = held is not None and held.data.arrangement is None
    data = request.data.open(request.model.likelihood, standardise=not raw)
    if raw:
        data = replace(data, arrangement=None)
    found = DataConfig.of(request.data, data)
    known = {} if again is None else again.data.others or {}
    if START in known:
        found = replace(found, others={START: known[START]})
    model, training = describe(request.model, data, goal), resolved(request.training, goal, data)
    training = fitting(training, len(data))
    config = RunConfig(request.recipe, found, model, training)
    return launch(Job(config, goal, data, folder, request.machine))


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
    """Resume the run in a folder exactly at its last checkpoint, or train a model of the zoo further.

    Args:
        folder: the run folder, or zoo:NAME, whose weights train further with new optimisers and critics.
        data: the data set, for runs whose data were given in Python.
        steps: new total number of steps, to train longer than planned at first.
        out: for zoo:NAME, the run folder to train in; if an earlier call began it, it is resumed.
        trust: modules of your own that the folder may name, such as mine, separated by commas; runs that you
            trained yourself on this machine are always trusted.
        **settings: no others.

    Returns:
        The trained model.
    """
    machine = Machine(**bind(Machine, settings))
    run = begin_from(folder, out, steps) if in_zoo(folder) else RunFolder(Path(folder))
    if out is not None and not in_zoo(folder):
        raise DistaffError(f"out goes with zoo:NAME: {folder} is resumed where it is.")
    with trusting(trust):
        config = run.read()
    if is_tracked(machine, run):
        chosen_trackers(machine.track, run)
    dataset = config.data.reopen(data)
    if steps is not None and steps != config.training.steps:
        _, reached = checkpoints.find(run.checkpoints, lambda damage: None)
        if steps < reached.step:
            raise DistaffError(
                f"{run.path} has {reached.step:,} steps behind it, and --steps {steps} would be its total: "
                "give more, or leave it out."
            )
        training = TrainingSettings(**bind(TrainingSettings, {**vars(config.training), "steps": steps}))
        longer = replace(config, training=training)
        return launch(Job(longer, longer.goal(), dataset, run, machine, held=config))
    return launch(Job(config, config.goal(), dataset, run, machine))


def resolved(training: TrainingSettings, goal: Goal, data: Dataset) -> TrainingSettings:
    """The settings with unset values filled in for the goal and the data."""
    usual = goal.usual
    if training.labels is not None:
        Labels.of(data, training.labels, training.seed)
    return replace(
        training,
        learning_rate=training.learning_rate or usual.learning_rate,
        betas=training.betas or usual.betas,
        optimizer=training.optimizer or usual.optimizer,
        weight_decay=usual.weight_decay if training.weight_decay is None else training.weight_decay,
        pairs=_pairs(training.pairs, goal, data),
    )


def _pairs(asked: str | None, goal: Goal, data: Dataset) -> str | None:
    """The pair source of a run, checked against its data; None for recipes of single observations."""
    if not isinstance(goal, Objective) or goal.sharing is None:
        if asked is not None:
            raise DistaffError(
                f"pairs ({asked}) go with recipes that learn from them, such as ada_gvae: leave them out."
            )
        return None
    source = asked or ("random" if data.pairs is None else "given")
    source = str(Path(source).resolve()) if source.endswith(".npy") else source
    find_pairs(source, listed(source, data))
    if goal.sharing.known:
        unchanged(data, np.zeros((1, 2), np.int64))
    return source


def fitting(training: TrainingSettings, size: int) -> TrainingSettings:
    """The settings, with a default batch size lowered to fit a small data set."""
    usual = TrainingSettings().batch_size
    left = size - round(size * (held_out_share(training.hold_out) or 0))
    if not training.batch_size == usual > left >= 2:
        return training
    warn(f"there are {left} observations to train on, so batches hold {left} instead of {usual}.")
    return replace(training, batch_size=left)
