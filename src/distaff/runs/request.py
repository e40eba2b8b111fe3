"""``RunRequest``: a run as requested, before its data are opened; two equal requests are one run."""

import hashlib
import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from distaff.foundation.binding import bind, chosen, takes_list, to_plain
from distaff.foundation.errors import DistaffError, unknown
from distaff.objectives.schedules import in_proportion, shortened
from distaff.runs.calls import DataCall, RecipeCall, find_recipe
from distaff.runs.former_versions import first_data_name
from distaff.runs.openings import sooner
from distaff.runs.presets import find_preset
from distaff.runs.sections import TrainingSettings
from distaff.runs.settings import SETTINGS, Machine, ModelSettings

SHORT = 20
"""Largest length of an argument in the name of a folder."""
PREFIX_LENGTH, HASH_LENGTH = 60, 10
NO_MATTER = ("log_every", "checkpoint_every")
"""Settings that do not change the result of a run, and so are not part of its name."""
USUAL_SETTINGS = {name: to_plain(field.default) for name, field in SETTINGS.items()}


@dataclass(frozen=True)
class RunRequest:
    """A requested run."""

    recipe: RecipeCall
    data: DataCall
    model: ModelSettings
    training: TrainingSettings
    machine: Machine

    @classmethod
    def of(cls, settings: Mapping[str, Any], scale: float = 1.0) -> "RunRequest":
        """A request from flat settings: the arguments of the recipe and of ``distaff.train`` in one mapping.

        ``scale`` multiplies the number of steps, and the steps of every schedule, for shorter trials.
        """
        given = dict(settings)
        data, name, preset = DataCall.of(given.pop("data")), given.pop("recipe"), given.pop("preset", None)
        if preset is not None:
            given = find_preset(preset).fill(given, name, str(data.spec))
        recipe = find_recipe(name)
        own = inspect.signature(recipe).parameters
        for argument, value in given.items():
            if argument not in own and argument not in SETTINGS:
                raise unknown(f"argument of {name}, or of distaff.train,", argument, [*own, *SETTINGS])
            _refuse_grid(argument, value, own[argument].annotation if argument in own else None)
        if given.get("patience") is not None:
            raise DistaffError(
                "patience stops each run at a step of its own, and a study compares runs at one: omit it."
            )
        arguments = bind(recipe, {key: value for key, value in given.items() if key in own})
        model, asked = chosen(ModelSettings, given), chosen(TrainingSettings, given)
        steps = in_proportion(asked.steps, scale)
        scaled: dict[str, Any] = {
            "steps": steps,
            "learning_rate": shortened(asked.learning_rate, scale),
            "label_weight": shortened(asked.label_weight, scale),
        }
        scaled |= {} if asked.revive is None else {"revive": sooner(asked.revive, scale)}
        training = chosen(TrainingSettings, {**_cadence(steps), **given, **scaled})
        plain = {key: to_plain(shortened(value, scale)) for key, value in arguments.items()}
        return cls(
            RecipeCall(name, plain),
            data,
            replace(model, temperature=shortened(model.temperature, scale)),
            training,
            replace(chosen(Machine, given), progress=False),
        )

    def with_seed(self, seed: int) -> "RunRequest":
        """The same run from another seed."""
        return replace(self, training=replace(self.training, seed=seed))

    @cached_property
    def key(self) -> str:
        """The name of the run's folder.

        It does not depend on arguments at their defaults, so that an argument added in a later version does
        not rename every run.
        """
        recipe = self.recipe.name
        usual = _usual_arguments(find_recipe(recipe))
        arguments = {name: value for name, value in self.recipe.arguments.items() if value != usual[name]}
        settings = {name: value for name, value in self._settings.items() if value != USUAL_SETTINGS[name]}
        words = {"": recipe, **_weights(arguments), "seed": self.training.seed}
        data = {**vars(self.data), "spec": first_data_name(self.data.spec)}
        call = {"recipe": recipe, "arguments": arguments, "data": data, "training": settings}
        return folder_name(words, call)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Every setting by name, as in the columns of a table: ``recipe``, ``data``, ``gamma``, ``seed``.

        Nested settings have dots in their names (``critic.hidden``); lists are written as text.
        """
        options = {"file": self.data.file, **self.data.options}
        about_data = {f"data.{key}": value for key, value in options.items() if value is not None}
        named = {"recipe": self.recipe.name, "data": self.data.spec, **about_data}
        return {**named, **_flat(self.recipe.arguments), **_flat(self._settings)}

    @cached_property
    def _settings(self) -> dict[str, Any]:
        both = {**vars(self.training), **vars(self.model)}
        return {name: to_plain(value) for name, value in both.items() if name not in NO_MATTER}


@lru_cache(maxsize=64)
def _usual_arguments(recipe: Callable[..., Any]) -> dict[str, Any]:
    return {name: to_plain(p.default) for name, p in inspect.signature(recipe).parameters.items()}


def _refuse_grid(name: str, value: Any, hint: Any) -> None:
    """Raise an error if a setting that takes a list is a number: a plain list in a study is a grid."""
    hint = SETTINGS[name].type if name in SETTINGS else hint
    if value is not None and takes_list(hint) and not isinstance(value, list | tuple | str):
        raise DistaffError(
            f"{name} must be a list, not {value!r}: a list in a study is a grid, "
            f"so write {{value: [...]}} for one that is itself the value."
        )


def _cadence(steps: int) -> dict[str, int]:
    """Steps between log lines and checkpoints: often enough for short runs, the defaults for long ones."""
    return {"log_every": min(100, max(1, steps // 100)), "checkpoint_every": min(1000, max(100, steps // 10))}


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = ",".join(map(str, value)) if isinstance(value, list) else value
    return flat


def _weights(arguments: Mapping[str, Any]) -> dict[str, str]:
    """The arguments by which readers recognise a run: numbers and short texts, such as γ and the density."""
    texts = {name: f"{v:g}" if isinstance(v, float) else str(v) for name, v in arguments.items()}
    return {name: text for name, text in texts.items() if len(text) <= SHORT}


def folder_name(words: Mapping[str, Any], calls: Mapping[str, Any]) -> str:
    """A name such as ``factor_vae-gamma35-seed0-1f0c…``: the main settings, then a hash of all settings.

    The order of the settings does not matter.

    >>> folder_name({"": "vae", "seed": 0}, {})
    'vae-seed0-44136fa355'
    """
    prefix = "-".join(re.sub(r"[^A-Za-z0-9_.+]+", ".", f"{name}{value}") for name, value in words.items())
    text = json.dumps(calls, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return f"{prefix[:PREFIX_LENGTH]}-{hashlib.sha256(text.encode()).hexdigest()[:HASH_LENGTH]}"
