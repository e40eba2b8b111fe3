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
from distaff.data import names, open_dataset, tables
from distaff.data.arrangements import Arrangement, Table, read_arrangement
from distaff.data.bringing_in import bring_in
from distaff.data.dataset import Dataset
from distaff.data.few_labels import Labels
from distaff.data.folders import shape_of
from distaff.data.frameworks import from_object
from distaff.data.pairs import find_pairs, unchanged
from distaff.data.signals import Signals
from distaff.data.sizes import resized
from distaff.foundation.binding import ADDED_LATER, bind, find_function, public_functions, to_plain
from distaff.foundation.errors import DistaffError, unknown
from distaff.foundation.files import yaml_text
from distaff.models.likelihoods import COUNTED
from distaff.objectives import recipes
from distaff.objectives.games import Game
from distaff.objectives.labels import LOSSES
from distaff.objectives.objective import Objective
from distaff.runs.former_versions import in_todays_words, renamed_data
from distaff.runs.model_config import ModelConfig, VAEConfig, model_config
from distaff.runs.named_code import named_code
from distaff.runs.settings import AUTO, DataSettings, TrainingSettings

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
    def told(cls, data: Data, how: DataSettings) -> "DataCall":
        """The data that ``train`` was given, brought in as it was told."""
        return cls(data, None if how.file is None else str(how.file), how.options)

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

    def open(self, likelihood: str = AUTO, standardise: bool = True) -> tuple[Dataset, "DataConfig"]:
        """The data set, and the call that opens it again: paths are absolute; data in memory have none.

        Args:
            likelihood: that the model is asked to have: rows under one of counts or of bits stay as they are.
            standardise: bring vectors of files and arrays to mean 0 and variance 1; those of data sets known
                by name, and of a ``Dataset``, stay as they are.
        """
        spec, own = None, _ways(likelihood, standardise)
        if isinstance(self.spec, str | Path):
            here = str(self.spec) not in names() and Path(self.spec).exists()
            spec = str(Path(self.spec).resolve()) if here else str(self.spec)
            known = own if here and _may_hold_vectors(Path(spec)) else {}
            dataset = open_dataset(spec, self.file, **{**known, **self.options})
        else:
            dataset = self._in_memory(self.spec, own)
        file = None if self.file is None else str(Path(self.file).resolve())
        found = (dataset.name, len(dataset), dataset.shape, dataset.fingerprint)
        how = None if dataset.arrangement is None else dataset.arrangement.plain()
        return dataset, DataConfig(spec, file, self.options, *found, arrangement=how)

    def shape(self) -> tuple[int, ...] | None:
        """The shape that images will have, if it can be said before they are decoded."""
        spec = self.spec
        if not isinstance(spec, str | Path) or str(spec) in names():
            return None
        if not Path(spec).is_dir() and Path(spec).suffix not in (".zip", ".tar", ".tgz", ".gz"):
            return None
        if "resize" in self.options:
            return (3, int(self.options["resize"]), int(self.options["resize"]))
        return shape_of(spec, **self.options)

    def _in_memory(self, data: Any, own: Mapping[str, Any]) -> Dataset:
        options = dict(self.options)
        side, fit = options.pop("resize", None), options.pop("fit", "squash")
        if isinstance(data, Dataset):
            if options:
                raise DistaffError(f"{', '.join(options)} go with files, not with a Dataset.")
            dataset = data
        else:
            for name in options:
                if name not in IN_MEMORY:
                    raise unknown("option of data in memory", name, IN_MEMORY)
            dataset = from_object(data, **{**own, **options})
        return dataset if side is None else resized(dataset, int(side), fit, "range" not in options)


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
        arrangement: how its observations were made of what was given, with all that was learnt from them
            (ranges, means and scales, classes), in plain values; None if they are as they were given.
    """

    spec: str | None
    file: str | None
    options: Mapping[str, Any] = field(hash=False)
    name: str
    size: int
    shape: tuple[int, ...]
    fingerprint: str
    arrangement: Mapping[str, Any] | None = field(default=None, metadata=ADDED_LATER, hash=False)

    def reopen(self, data: Data | None = None) -> Dataset:
        """The data set again, or ``data`` in its place; its content must be the same as then."""
        if data is None and self.spec is None:
            raise DistaffError("the run was trained on data given in Python: pass the same data again.")
        options = self.options if data is None else {}
        if isinstance(self.made_of, Table | Signals):
            dataset = self.bring_in(self.spec if data is None else data, **options)
        else:
            given = {} if self.spec is not None else self.options
            call = (
                DataCall(self.spec or "", self.file, options) if data is None else DataCall(data, None, given)
            )
            dataset, _ = call.open(standardise=False)
        if dataset.fingerprint != self.fingerprint:
            raise DistaffError(f"{dataset.name} is not what the run was trained on: its content has changed.")
        return dataset

    @property
    def made_of(self) -> Arrangement | None:
        """How the observations were made of what was given."""
        return read_arrangement(self.arrangement)

    def bring_in(self, data: Any, **options: Any) -> Dataset:
        """Other data, brought in as those of the run were.

        Args:
            data: anything that could have been trained on: a folder, a file, an array, a photograph.
            **options: what its reader takes beside, in place of what the run's was told; labels in a file
                are those of the run's own data, and must be given anew.
        """
        told = {key: value for key, value in self.options.items() if key != "labels" or value == "folders"}
        found = bring_in(data, self.shape, self.made_of, **{**told, **options})
        if found.shape != self.shape:
            raise DistaffError(
                f"{found.name} holds observations of shape {found.shape}, but the run was trained on "
                f"{self.shape}."
            )
        return found


IN_MEMORY = ("categorical", "columns", "counts", "factors", "range", "signals", "standardise")
"""What data in memory can be told beside ``resize`` and ``fit``."""


def _ways(likelihood: str, standardise: bool) -> dict[str, Any]:
    counted = {"counts": "all"} if likelihood in COUNTED else {}
    return {"standardise": standardise and likelihood != "bernoulli", **counted}


def _may_hold_vectors(path: Path) -> bool:
    return path.suffix in (*tables.SUFFIXES, ".npz", ".npy", ".h5", ".hdf5")


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
        plain: dict[str, Any] = {name: to_plain(getattr(self, name)) for name in PARTS}
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
