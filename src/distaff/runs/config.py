"""``RunConfig``: a whole run in typed values, as ``train`` fills it and ``run.yaml`` holds it."""

import platform
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import SkipValidation
from torch.utils.data import Dataset as TorchDataset

from distaff._version import __version__
from distaff.data import names, open_dataset
from distaff.data.dataset import Dataset
from distaff.data.frameworks import from_object
from distaff.data.labels import Labels
from distaff.data.pairs import find_pairs, unchanged
from distaff.data.sizes import resized
from distaff.foundation.binding import bind, find_function, public_functions, to_plain
from distaff.foundation.errors import DistaffError
from distaff.foundation.files import yaml_text
from distaff.objectives import recipes
from distaff.objectives.games import Game
from distaff.objectives.labels import LOSSES
from distaff.objectives.objective import Objective
from distaff.runs.former_versions import in_todays_words, renamed_data
from distaff.runs.model_config import ModelConfig, VAEConfig, model_config
from distaff.runs.named_code import named_code
from distaff.runs.settings import TrainingSettings

Data = str | Path | Dataset | np.ndarray[Any, Any] | TorchDataset[Any]
"""What can be trained on: a name, a file, a folder, or data in Python."""
Goal = Objective | Game
"""What a recipe returns: what a VAE minimises, or what a GAN plays for."""
LIBRARIES = ("torch", "numpy", "lightning-fabric", "safetensors")


@dataclass(frozen=True)
class RecipeCall:
    """A recipe and its arguments.

    Args:
        name: of a recipe of the library, or ``module:function``.
        arguments: all of them, in plain values.
    """

    name: str
    arguments: Mapping[str, Any]

    @classmethod
    def of(cls, recipe: str | Callable[..., Goal], arguments: Mapping[str, Any]) -> tuple["RecipeCall", Goal]:
        """A call with its defaults filled in, and what it returns."""
        if isinstance(recipe, str):
            name, function = recipe, find_recipe(recipe)
        else:
            name, function = f"{recipe.__module__}:{recipe.__qualname__}", recipe
        bound = bind(function, arguments)
        goal = function(**bound)
        if not isinstance(goal, Goal):
            raise DistaffError(
                f"the recipe {name} returns {type(goal).__name__}, not an Objective or a Game."
            )
        return cls(name, to_plain(bound)), goal

    def with_defaults(self) -> "RecipeCall":
        """The call with the arguments that a recipe of the library has come to take since."""
        function = public_functions(recipes).get(self.name)
        return self if function is None else RecipeCall(self.name, to_plain(bind(function, self.arguments)))

    def goal(self) -> Goal:
        """What to train for."""
        return self.of(self.name, self.arguments)[1]


@dataclass(frozen=True)
class DataCall:
    """Which data set to open.

    Args:
        spec: a known name, a file, a folder, an array, a ``Dataset``, or another library's (``from_object``).
        file: the official file of a named data set.
        options: what its ``load`` takes beside.
    """

    spec: Annotated[Data, SkipValidation]
    file: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Any) -> "DataCall":
        """``dsprites``, or ``{spec: mnist, part: test}``."""
        given = dict(data) if isinstance(data, Mapping) else {"spec": data}
        spec = renamed_data(given.pop("spec", None))
        if not isinstance(spec, str):
            raise DistaffError(
                f"data is a name, a path, or a mapping with a spec such as {{spec: mnist}}, not {data!r}."
            )
        return cls(spec, given.pop("file", None), given)

    def open(self) -> tuple[Dataset, "DataConfig"]:
        """The data set, and the call that opens it again: paths are absolute; data in memory have none."""
        spec = None
        if isinstance(self.spec, str | Path):
            here = str(self.spec) not in names() and Path(self.spec).exists()
            spec = str(Path(self.spec).resolve()) if here else str(self.spec)
            dataset = open_dataset(spec, self.file, **self.options)
        else:
            dataset = self._in_memory(self.spec)
        file = None if self.file is None else str(Path(self.file).resolve())
        found = (dataset.name, len(dataset), dataset.shape, dataset.fingerprint)
        return dataset, DataConfig(spec, file, self.options, *found)

    def _in_memory(self, data: Any) -> Dataset:
        dataset = data if isinstance(data, Dataset) else from_object(data)
        if wrong := self.options.keys() - {"resize"}:
            raise DistaffError(f"{', '.join(wrong)} go with files, not with data in memory.")
        return resized(dataset, int(self.options["resize"])) if "resize" in self.options else dataset


@dataclass(frozen=True)
class DataConfig:
    """How a data set is opened, and what was found there.

    Args:
        spec: its name or absolute path; None for data given in Python.
        file: the official file of a named data set.
        options: what its ``load`` was told beside.
        name: what it calls itself.
        size: observations.
        shape: of one.
        fingerprint: of its content.
    """

    spec: str | None
    file: str | None
    options: Mapping[str, Any] = field(hash=False)
    name: str
    size: int
    shape: tuple[int, ...]
    fingerprint: str

    def reopen(self, data: Data | None = None) -> Dataset:
        """The data set again, or ``data`` in its place; its content must be the same as then."""
        if data is None and self.spec is None:
            raise DistaffError("the run was trained on data given in Python: pass the same data again.")
        call = DataCall(data) if data is not None else DataCall(self.spec or "", self.file, self.options)
        dataset, _ = call.open()
        if dataset.fingerprint != self.fingerprint:
            raise DistaffError(f"{dataset.name} is not what the run was trained on: its content has changed.")
        return dataset


def find_recipe(name: str) -> Callable[..., Goal]:
    """A recipe by its name, or by ``module:function``."""
    return find_function("recipe", name, recipes)


def resolved(training: TrainingSettings, goal: Goal, data: Dataset) -> TrainingSettings:
    """The settings with what was left open filled in for what is trained, and on what."""
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
    """The pair source of a run, which fits its data; None for recipes that learn from single observations."""
    if not isinstance(goal, Objective) or goal.sharing is None:
        if asked is not None:
            raise DistaffError(
                f"pairs ({asked}) go with recipes that learn from them, such as ada_gvae: leave them out."
            )
        return None
    source = asked or ("random" if data.pairs is None else "given")
    source = str(Path(source).resolve()) if source.endswith(".npy") else source
    find_pairs(source, data)
    if goal.sharing.known:
        unchanged(data, np.zeros((1, 2), np.int64))
    return source


def labelled_goal(goal: Goal, training: TrainingSettings) -> Goal:
    """What a recipe trains for, and the label loss beside it if there are labels."""
    if training.labels is None:
        return goal
    if isinstance(goal, Game):
        raise DistaffError("labels go with recipes of VAEs: leave them out for a GAN.")
    return goal + training.label_weight * LOSSES[training.label_loss]


@dataclass(frozen=True)
class RunConfig:
    """All that makes a run, so that it can be made again.

    Args:
        recipe: what it is trained for.
        data: what it is trained on.
        model: what is trained.
        training: how.
        made_with: versions of the libraries, threads and commit.
    """

    recipe: RecipeCall
    data: DataConfig
    model: ModelConfig
    training: TrainingSettings
    made_with: Mapping[str, Any] = field(default_factory=lambda: surroundings())

    @classmethod
    def from_plain(cls, content: Any) -> "RunConfig":
        """The run that a mapping of plain values describes; a file of this version holds every field."""
        sections = content if isinstance(content, Mapping) else {}
        parts = {name: s if isinstance(s := sections.get(name), Mapping) else {} for name in PARTS}
        kinds = {**PARTS, "model": model_config(parts["model"])}
        made_with = dict(m) if isinstance(m := sections.get("made_with"), Mapping) else {}
        made_by = made_with.get("distaff", __version__)
        parts = in_todays_words(parts, made_by)
        if made_by == __version__:
            lacking = [
                f"{n}.{f.name}"
                for n, kind in kinds.items()
                for f in fields(kind)
                if f.name not in parts[n] and not f.metadata.get("added_later")
            ]
            if lacking:
                raise DistaffError(f"it lacks {', '.join(lacking)}")
        read = {name: kind(**bind(kind, parts[name])) for name, kind in kinds.items()}
        return cls(**read, made_with=made_with)

    def to_plain(self) -> dict[str, Any]:
        """As ``run.yaml`` holds it."""
        plain: dict[str, Any] = {name: to_plain(vars(getattr(self, name))) for name in PARTS}
        return {**plain, "made_with": dict(self.made_with)}

    def goal(self) -> Goal:
        """What the run is trained for: that of its recipe, and its labels if it has any."""
        return labelled_goal(self.recipe.goal(), self.training)

    @property
    def code(self) -> dict[str, str]:
        """The code outside the library that it names, such as ``mine:net``, and what each is the name of."""
        return named_code(self.recipe, self.model)

    @property
    def title(self) -> str:
        """What the run is called on pages."""
        return f"{self.recipe.name} on {self.data.name}"

    def to_yaml(self) -> str:
        """The text of ``run.yaml``."""
        return yaml_text(self.to_plain())

    def differences(self, other: "RunConfig") -> list[str]:
        """What another run has otherwise, in words; what either was made with does not count."""
        both = (replace(config, recipe=config.recipe.with_defaults()).to_plain() for config in (self, other))
        mine, others = both
        return [d for name in PARTS for d in _differences(name, mine[name], others[name])]


PARTS: dict[str, type] = {
    "recipe": RecipeCall,
    "data": DataConfig,
    "model": VAEConfig,
    "training": TrainingSettings,
}
"""The sections of ``run.yaml``; that of a model may be a ``GANConfig`` instead."""


def surroundings() -> dict[str, Any]:
    """What a run is made with."""
    libraries = {library: version(library) for library in LIBRARIES}
    return {
        "distaff": __version__,
        "python": platform.python_version(),
        **libraries,
        "threads": torch.get_num_threads(),
        "git": _commit(),
    }


def _differences(prefix: str, held: Any, asked: Any) -> list[str]:
    if isinstance(held, dict) and isinstance(asked, dict):
        keys = [*held, *(key for key in asked if key not in held)]
        return [d for key in keys for d in _differences(str(key), held.get(key), asked.get(key))]
    return [] if held == asked else [f"{prefix} is {held} there, not {asked}"]


def _commit() -> str | None:
    command = ["git", "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except OSError:
        return None
    return done.stdout.strip() or None
