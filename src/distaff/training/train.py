"""``train`` and ``resume``: from a call to a trained model in a run folder."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from distaff.foundation.binding import bind
from distaff.foundation.text import named_values
from distaff.models.representation import Representation
from distaff.runs.config import Goal, RecipeCall, RunConfig, resolved
from distaff.runs.data_call import Data, open_data
from distaff.runs.folder import RunFolder
from distaff.runs.model_config import describe
from distaff.runs.settings import (
    GROUPS,
    SETTINGS,
    Machine,
    ModelSettings,
    TrainingSettings,
    chosen,
    takes_settings,
)
from distaff.training.launch import Job, launch


@takes_settings(*GROUPS)
def train(
    recipe: str | Callable[..., Goal],
    data: Data = "dsprites",
    *,
    out: str | Path | None = None,
    file: str | Path | None = None,
    resize: int | None = None,
    skip_bad: bool = False,
    data_options: str | Mapping[str, Any] | None = None,
    **settings: Any,
) -> Representation:
    """Train a recipe on a data set; resumes the run in ``out``, if any.

    Args:
        recipe: a name from ``distaff recipes``, ``module:function``, or the function itself.
        data: a data set's name, an npz file, a folder of images, an array or a Dataset.
        out: the run folder; without one, nothing is written and nothing can be resumed.
        file: the official file of a named data set, instead of the built-in one.
        resize: the side that images are brought to, where the data set can.
        skip_bad: leave out images that do not decode, instead of stopping at the first.
        data_options: what the data set's load takes beside, such as part=test.
        **settings: the recipe's own weights and settings.

    Returns:
        The trained model.
    """
    own = {name: value for name, value in settings.items() if name not in SETTINGS}
    model, training = chosen(ModelSettings, settings), chosen(TrainingSettings, settings)
    machine = chosen(Machine, settings)
    call, goal = RecipeCall.of(recipe, own)
    options = named_values(data_options) if isinstance(data_options, str) else dict(data_options or {})
    options |= {} if resize is None else {"resize": resize}
    options |= {"skip_bad": True} if skip_bad else {}
    dataset, opened = open_data(data, file, options)
    config = RunConfig(call, opened, describe(model, dataset, goal), resolved(training, goal))
    return launch(Job(config, goal, dataset, None if out is None else RunFolder(Path(out)), machine))


@takes_settings(Machine)
def resume(
    folder: str | Path, data: Data | None = None, *, steps: int | None = None, **settings: Any
) -> Representation:
    """Resume the run in a folder, exactly where its last checkpoint is.

    Args:
        folder: the run folder.
        data: the data set, for runs that were started on one given in Python.
        steps: a new number of steps in all, to train longer than first planned.
        **settings: none beside these.

    Returns:
        The trained model.
    """
    machine = Machine(**bind(Machine, settings))
    run = RunFolder(Path(folder))
    config = run.read()
    dataset = config.data.reopen(data)
    if steps is not None and steps != config.training.steps:
        training = TrainingSettings(**bind(TrainingSettings, {**vars(config.training), "steps": steps}))
        config = replace(config, training=training)
        run.write(config)
    return launch(Job(config, config.recipe.goal(), dataset, run, machine))
