"""``RunConfig``: the complete description of a run in typed values, stored in ``run.yaml``."""

import platform
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from importlib.metadata import version
from typing import Any

import torch

from distaff._version import __version__
from distaff.data.dataset import Dataset
from distaff.data.pairs import listed
from distaff.data.splits import split
from distaff.foundation.binding import CODE, bind, find_function, names_code, public_functions, to_plain
from distaff.foundation.errors import DistaffError, shown, told_if_it_fails
from distaff.foundation.files import yaml_text
from distaff.models.by_name import split_call
from distaff.models.encoders import TIMM
from distaff.models.priors.parsing import kinds_named
from distaff.objectives import recipes
from distaff.objectives.games import Game
from distaff.objectives.labels import LOSSES
from distaff.objectives.objective import Objective
from distaff.runs.data_config import DataConfig, renamed_data
from distaff.runs.former_versions import FIRST, in_todays_words
from distaff.runs.model_config import GANConfig, ModelConfig, VAEConfig, model_config
from distaff.runs.settings import ModelSettings, TrainingSettings, held_out_share

Goal = Objective | Game
"""The return type of recipes: an ``Objective`` for VAEs, or a ``Game`` for GANs."""
LIBRARIES = ("torch", "numpy", "lightning-fabric", "safetensors")


@dataclass(frozen=True)
class RecipeCall:
    """A recipe and its arguments.

    Args:
        name: name of a recipe of the library, or ``module:function``.
        arguments: all arguments, as plain values.
    """

    name: str
    arguments: Mapping[str, Any]

    @classmethod
    def of(cls, recipe: str | Callable[..., Goal], arguments: Mapping[str, Any]) -> tuple["RecipeCall", Goal]:
        """The call with its defaults filled in, and its result."""
        function = find_recipe(recipe)
        if isinstance(recipe, str):
            name = recipe
        else:
            own = public_functions(recipes).get(recipe.__qualname__) is recipe
            # The library's recipes have one name, in whichever file they are written.
            name = f"{recipes.__name__ if own else recipe.__module__}:{recipe.__qualname__}"
        bound = bind(function, arguments)
        with told_if_it_fails("recipe", function):
            goal = function(**bound)
        if not isinstance(goal, Goal):
            raise DistaffError(
                f"the recipe {name} returns {type(goal).__name__}, not an Objective or a Game."
            )
        return cls(name, to_plain(bound)), goal

    def with_defaults(self) -> "RecipeCall":
        """The call with defaults for arguments that the library's recipe has gained since."""
        function = public_functions(recipes).get(self.name)
        return self if function is None else RecipeCall(self.name, to_plain(bind(function, self.arguments)))

    def goal(self) -> Goal:
        """The objective or game that the recipe returns."""
        return self.of(self.name, self.arguments)[1]


def find_recipe(recipe: str | Callable[..., Goal]) -> Callable[..., Goal]:
    """A recipe by its name, as ``module:function``, or as the function itself."""
    if isinstance(recipe, str):
        return find_function("recipe", recipe, recipes)
    if not hasattr(recipe, "__qualname__"):
        what = f"the objective {recipe}" if isinstance(recipe, Goal) else shown(recipe)
        raise DistaffError(
            f"a recipe is a name, such as vae, or a function that returns an objective, not {what}."
        )
    return recipe


def labelled_goal(goal: Goal, training: TrainingSettings) -> Goal:
    """A recipe's goal, with the label loss added if there are labels."""
    if training.labels is None:
        return goal
    if isinstance(goal, Game):
        raise DistaffError("labels go with recipes of VAEs: leave them out for a GAN.")
    return goal + training.label_weight * LOSSES[training.label_loss]


@dataclass(frozen=True)
class RunConfig:
    """Everything needed to repeat a run.

    Args:
        recipe: the recipe and its arguments.
        data: the data set.
        model: the model.
        training: training settings.
        made_with: versions of the libraries, threads and commit.
    """

    recipe: RecipeCall
    data: DataConfig
    model: ModelConfig
    training: TrainingSettings
    made_with: Mapping[str, Any] = field(default_factory=lambda: surroundings())

    @classmethod
    def from_plain(cls, content: Any) -> "RunConfig":
        """Read a run from a mapping of plain values; files of this version have every field."""
        sections = content if isinstance(content, Mapping) else {}
        parts = {name: s if isinstance(s := sections.get(name), Mapping) else {} for name in PARTS}
        kinds = {**PARTS, "model": model_config(parts["model"])}
        made_with = dict(m) if isinstance(m := sections.get("made_with"), Mapping) else {}
        made_by = made_with.get("distaff", __version__)
        data = parts["data"]
        parts["data"] = {**data, **{key: renamed_data(data[key]) for key in ("spec", "name") if key in data}}
        if made_by == FIRST:
            parts = in_todays_words(parts)
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
        """Plain values, as stored in ``run.yaml``."""
        plain: dict[str, Any] = {name: to_plain(getattr(self, name)) for name in PARTS}
        return {**plain, "made_with": dict(self.made_with)}

    def goal(self) -> Goal:
        """The recipe's goal, with the label loss if the run has labels."""
        return labelled_goal(self.recipe.goal(), self.training)

    def parts(self, data: Dataset) -> tuple[Dataset, Dataset | None]:
        """The training part of the run's data set, and the held-out part, if any.

        If another file or folder is held out, it is prepared in the same way as the data set.
        """
        hold_out, pairs = self.training.hold_out, self.training.pairs
        if pairs is not None:
            data = listed(pairs, data)
        if hold_out is None:
            return data, None
        share = held_out_share(hold_out)
        if share is None:
            other = self.data.bring_in(hold_out)
            return data, listed(pairs, other) if pairs == "sequence" else other
        return split(data, share, self.training.seed, self.training.hold_out_by)

    @property
    def code(self) -> dict[str, str]:
        """Names of code outside the library, such as ``mine:net``, and the kind of thing that each names."""
        return named_code(self.recipe, self.model, self.data.spec, self.training)

    @property
    def title(self) -> str:
        """The run's title on pages."""
        return f"{self.recipe.name} on {self.data.name}"

    def to_yaml(self) -> str:
        """The text of ``run.yaml``."""
        return yaml_text(self.to_plain())

    def differences(self, other: "RunConfig", found: bool = True) -> list[str]:
        """The differences from another run, in words; ``made_with`` is ignored.

        Args:
            other: the other run.
            found: whether to include what was found in the data, such as their size.
        """
        both = [replace(config, recipe=config.recipe.with_defaults()).to_plain() for config in (self, other)]
        if not found:
            both = [{**plain, "data": {name: plain["data"].get(name) for name in ASKED}} for plain in both]
        mine, others = both
        if not (mine["data"].get("others") and others["data"].get("others")):  # former versions have none
            for plain in both:
                plain["data"].pop("others", None)
        return [d for name in PARTS for d in _differences(name, mine[name], others[name])]


def named_code(
    recipe: RecipeCall,
    model: ModelConfig | ModelSettings,
    data: object,
    training: TrainingSettings,
) -> dict[str, str]:
    """Every name that the run would import, and the kind of thing that it names.

    A recipe may look up any text among its arguments, so every argument that could be a name counts as one.

    Args:
        recipe: the recipe and its arguments.
        model: the model, as requested or with every choice made.
        data: the data set, which may be a name.
        training: training settings, which may name a pair source and held-out data.

    >>> from distaff.runs.config import RecipeCall
    >>> model = ModelSettings(network="mine:net:depth=2", prior="mine:laplace:0.7")
    >>> named_code(RecipeCall("vae", {}), model, "dsprites", TrainingSettings(pairs="mine:neighbours"))
    {'mine:net': 'network', 'mine:laplace': 'prior', 'mine:neighbours': 'pair source'}
    """
    texts = [("recipe", recipe.name)]
    texts += [("argument of the recipe", found) for text in _texts(recipe.arguments) for found in _in(text)]
    texts += [("kind of latent", found) for found in _in(str(model.latents))]
    if ":" in model.network and not model.network.startswith(TIMM):  # timm's are not the run author's code
        texts.append(("network", split_call(model.network)[0]))
    if not isinstance(model, GANConfig):
        texts += [("prior", name) for name in (kinds_named(model.prior) if ":" in model.prior else ())]
        texts.append(("likelihood", model.likelihood))
    texts += [("pair source", found) for found in _in(training.pairs or "")]
    files = [data, training.hold_out]
    texts += [("data set", text) for text in files if isinstance(text, str) and names_code(text)]
    return {text: kind for kind, text in texts if ":" in text}


def _in(text: str) -> list[str]:
    return CODE.findall(text)


def _texts(value: Any) -> Iterator[str]:
    """Every string within mappings and lists."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


ASKED = ("spec", "file", "options")
"""Fields of ``data`` that the user gives; the others are found in the data."""
PARTS: dict[str, type] = {
    "recipe": RecipeCall,
    "data": DataConfig,
    "model": VAEConfig,
    "training": TrainingSettings,
}
"""The sections of ``run.yaml``; a model's section may be a ``GANConfig`` instead."""


def surroundings() -> dict[str, Any]:
    """The value of ``made_with`` for a new run."""
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
    if held == asked:
        return []
    if held is None:
        return [f"{prefix} is not set there, but {asked} here"]
    return [f"{prefix} is {held} there, " + ("but not set here" if asked is None else f"not {asked}")]


def _commit() -> str | None:
    command = ["git", "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except OSError:
        return None
    return done.stdout.strip() or None
