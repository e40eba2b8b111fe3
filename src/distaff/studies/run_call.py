"""One run of a study: the call of ``distaff.train`` that makes it, in plain values, defaults filled in."""

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from distaff.calls import find_function, from_plain, to_plain
from distaff.errors import DistaffError, unknown
from distaff.objectives import recipes
from distaff.objectives.schedules import Linear
from distaff.studies.keys import folder_name
from distaff.training.train import train

ELSEWHERE = ("recipe", "data", "out", "file", "resize", "skip_bad", "data_options", "progress")
"""Arguments of ``distaff.train`` that a study says otherwise: by its data, its folder, its display."""
SHORT = 20
"""Letters of an argument that still fit into the name of a folder."""
MACHINERY = ("log_every", "checkpoint_every", "accelerator", "devices", "strategy")
"""Arguments that change how a run is made but not what comes out: no part of its key."""


@dataclass(frozen=True)
class RunCall:
    """What to train, on what, and how; two equal calls are one run.

    Args:
        recipe: a recipe's name or ``module:function``.
        arguments: the recipe's arguments.
        data: ``spec``, ``file`` and ``options`` of the data set, as the study writes them.
        training: all other arguments of ``distaff.train``: ``steps``, ``seed``, ``latents`` …
    """

    recipe: str
    arguments: Mapping[str, Any]
    data: Mapping[str, Any]
    training: Mapping[str, Any]

    @classmethod
    def make(cls, settings: Mapping[str, Any], scale: float = 1.0) -> "RunCall":
        """The call of one point of a grid: a recipe's arguments and those of ``distaff.train`` side by side.

        ``scale`` multiplies the steps, and those of every schedule, so that a trial keeps the run's shape.
        """
        given = dict(settings)
        data = data_call(given.pop("data"))
        name = given.pop("recipe")
        recipe = _recipe(name)
        own, training = inspect.signature(recipe).parameters, training_parameters()
        for argument in given:
            if argument not in own and argument not in training:
                raise unknown(f"argument of {name}, or of distaff.train,", argument, [*own, *training])
        bound = _bind(recipe, own, given)
        common = _bind(train, training, given)
        common["steps"] = _shortened(common["steps"], scale)
        common |= {key: value for key, value in _cadence(common["steps"]).items() if key not in given}
        return cls(name, _plain(bound, scale), data, _plain(common, scale))

    @cached_property
    def key(self) -> str:
        """The name of the run's folder.

        Arguments at their defaults are no part of it: one that a later version adds should not make every
        run a new one.
        """
        arguments = _chosen(self.arguments, inspect.signature(_recipe(self.recipe)).parameters)
        words = {"": self.recipe, **_weights(arguments), "seed": self.training["seed"]}
        calls = {
            "recipe": self.recipe,
            "arguments": arguments,
            "data": self.data,
            "training": _chosen(self.training, training_parameters()),
        }
        return folder_name(words, calls)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Every setting by name, as a table's columns hold them: ``recipe``, ``data``, ``gamma``, ``seed``.

        Settings inside others have dots in their names (``critic.hidden``); lists are written as text.
        """
        options = {"file": self.data["file"], **self.data["options"]}
        about_data = {f"data.{key}": value for key, value in options.items() if value is not None}
        named = {"recipe": self.recipe, "data": self.data["spec"], **about_data}
        training = {name: value for name, value in self.training.items() if name not in MACHINERY}
        return {**named, **_flat(self.arguments), **_flat(training)}

    @property
    def steps(self) -> int:
        """Training steps in all."""
        return int(self.training["steps"])

    def train(self, out: Path) -> None:
        """Train into a folder, or go on with what is there."""
        train(
            self.recipe,
            self.data["spec"],
            out=out,
            file=self.data["file"],
            data_options=self.data["options"],
            progress=False,
            **self.training,
            **self.arguments,
        )


def training_parameters() -> dict[str, inspect.Parameter]:
    """The parameters of ``distaff.train`` that a study may set, by name."""
    return {
        name: parameter
        for name, parameter in inspect.signature(train).parameters.items()
        if name not in ELSEWHERE and parameter.kind is not inspect.Parameter.VAR_KEYWORD
    }


def data_call(data: Any) -> dict[str, Any]:
    """``dsprites`` or ``{spec: mnist, part: test}`` as spec, file and options of ``open_dataset``."""
    given = dict(data) if isinstance(data, Mapping) else {"spec": data}
    spec = given.pop("spec", None)
    if not isinstance(spec, str):
        raise DistaffError(
            f"data is a name, a path, or a mapping with a spec such as {{spec: mnist}}, not {data!r}."
        )
    return {"spec": spec, "file": given.pop("file", None), "options": given}


def _recipe(name: str) -> Callable[..., Any]:
    return find_function("recipe", name, recipes)


def _chosen(values: Mapping[str, Any], parameters: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
    """The arguments that are not at their defaults and that change what comes out of a run."""
    return {
        name: value
        for name, value in values.items()
        if name not in MACHINERY and value != to_plain(parameters[name].default)
    }


def _bind(
    function: Callable[..., Any], parameters: Mapping[str, inspect.Parameter], given: Mapping[str, Any]
) -> dict[str, Any]:
    """The function's arguments, those not given by their defaults; wrong kinds of values are refused."""
    hints = typing.get_type_hints(function)
    bound = {}
    for name, parameter in parameters.items():
        value = given.get(name, parameter.default)
        if value is inspect.Parameter.empty:
            raise DistaffError(f"{function.__name__} needs the argument {name!r}.")
        bound[name] = _checked(name, value, hints.get(name, Any))
    return bound


def _checked(name: str, value: Any, hint: Any) -> Any:
    if hint is int and not (isinstance(value, int) and not isinstance(value, bool)):
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = 0.5
        if not number.is_integer():
            raise DistaffError(f"{name} must be a whole number, not {value!r}.")
        return int(number)
    options = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    takes_list = any(typing.get_origin(option) is tuple for option in options)
    if takes_list and value is not None and not isinstance(value, list | tuple):
        raise DistaffError(
            f"{name} must be a list, not {value!r}: a list in a study is a grid, "
            f"so write {{value: [...]}} for one that is itself the value."
        )
    if hint is str and not isinstance(value, str):
        raise DistaffError(f"{name} must be text, not {value!r}.")
    made = from_plain(value, hint, name)
    if float in options and isinstance(made, bool | list | Mapping):
        raise DistaffError(f"{name} must be a number, not {value!r}.")
    return made


def _shortened(steps: int, scale: float) -> int:
    return max(1, round(steps * scale))


def _cadence(steps: int) -> dict[str, int]:
    """Log lines and checkpoints often enough for a short run, at the usual steps of a long one."""
    return {"log_every": min(100, max(1, steps // 100)), "checkpoint_every": min(1000, max(100, steps // 10))}


def _plain(bound: Mapping[str, Any], scale: float) -> dict[str, Any]:
    return {name: to_plain(_scaled(value, scale)) for name, value in bound.items()}


def _scaled(value: Any, scale: float) -> Any:
    if isinstance(value, Linear):
        return dataclasses.replace(value, steps=_shortened(value.steps, scale))
    return value


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = ",".join(map(str, value)) if isinstance(value, list) else value
    return flat


def _weights(arguments: Mapping[str, Any]) -> dict[str, str]:
    """The arguments that a reader knows a run by: numbers and short texts, such as γ and the density."""
    texts = {name: f"{v:g}" if isinstance(v, float) else str(v) for name, v in arguments.items()}
    return {name: text for name, text in texts.items() if len(text) <= SHORT}
