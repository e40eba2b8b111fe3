"""Settings of ``train`` beside the recipe's own arguments and those of training, which ``run.yaml`` holds.

There is one field per setting, described once. The fields, like those of ``TrainingSettings``, automatically
become arguments of ``distaff.train``, flags, and keys of ``run.yaml`` and studies.
"""

import dataclasses
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import docstring_parser

from distaff.data.pictures import Fit
from distaff.models.relaxed import TEMPERATURE
from distaff.objectives.schedules import Weight
from distaff.runs.sections import AtLeastOne, TrainingSettings

AUTO: Final = "auto"
"""A choice left to the data."""
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class DataSettings:
    """How the data are prepared.

    Args:
        file: official file of a named data set, instead of the built-in one.
        resize: side to which images are resized, if the data set supports it.
        fit: how images that are not square are resized: crop keeps the middle, pad adds black borders, squash
            (the default) stretches them.
        range: values of black and white in 16-bit and float images: min-max, percentiles:1:99, signed (−1 to
            1) or two numbers such as 0:4095.
        skip_bad: leave out images that do not decode, instead of stopping at the first.
        correlate: correlate two factors, as in scale,posX:0.4: p(a, b) ∝ exp(−(a − b)²/2·0.4²).
        leave_out: combinations of factors to leave out of training: recombination_to_element,
            recombination_to_range, composition, interpolation or extrapolation; for the last three, factors
            may be named, as in extrapolation:posX,posY.
        data_options: further options of the data set's load function, such as part=test.
    """

    file: str | Path | None = None
    resize: AtLeastOne | None = None
    fit: Fit | None = None
    range: str | None = None
    skip_bad: bool = False
    correlate: str | None = None
    leave_out: str | None = None
    data_options: str | Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """The requested model.

    Args:
        latents: number of real latents, or groups such as style=gaussian:10,digit=concrete:10; for GANs
            style=uniform:2,digit=concrete:10,noise:62; quantized:12:10 means 12 latents of 10 values.
        prior: prior of the latents, such as student_t:5 or style=student_t:5,digit=learned_classes, or
            module:function; in Python also the function itself.
        temperature: temperature of discrete latents, a number or a schedule such as linear:1:0.5:10000.
        network: name from distaff.models.networks (for GANs infogan_networks), module:function, or timm:NAME
            for a timm encoder; in Python also the function, or an encoder, itself.
        likelihood: bernoulli, gaussian, unit_gaussian, laplace, discretised_logistic, poisson or
            negative_binomial; auto means bernoulli for images, gaussian for vectors, and for a table a
            likelihood that suits each column.
    """

    latents: int | str = 10
    prior: str = "normal"
    temperature: Weight = TEMPERATURE
    network: str = AUTO
    likelihood: str = AUTO


def names_of_trackers(track: str | None) -> list[str]:
    """The names in ``track``.

    >>> names_of_trackers("wandb, mine:tracker")
    ['wandb', 'mine:tracker']
    """
    return [name.strip() for name in (track or "").split(",") if name.strip()]


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Hardware and display settings, which do not affect the result and are not part of ``run.yaml``.

    Args:
        accelerator: cpu, cuda, or auto for the best one available.
        devices: number of devices.
        strategy: ddp for several devices.
        progress: show a progress bar.
        track: experiment trackers that also receive the log: wandb, mlflow, comet or module:function, or
            several separated by commas; a resumed run keeps its trackers unless this is none.
    """

    accelerator: Literal["auto", "cpu", "cuda", "gpu", "mps", "tpu"] = AUTO
    devices: AtLeastOne = 1
    strategy: Literal["auto", "ddp", "ddp_spawn", "ddp_fork", "ddp_notebook"] = AUTO
    progress: bool = True
    track: str | None = None


Settings = DataSettings | ModelSettings | TrainingSettings | Machine


GROUPS = (TrainingSettings, ModelSettings, Machine)
DATA_SETTINGS = tuple(field.name for field in dataclasses.fields(DataSettings))
SETTINGS = {field.name: field for group in GROUPS for field in dataclasses.fields(group)}
"""All settings that every recipe takes, by name."""


def takes_settings(*groups: type[Settings]) -> Callable[[Function], Function]:
    """Decorator that replaces ``**settings`` of a function by the fields of ``groups``.

    The function's signature, type hints and docstring then name each field, so that editors, ``help`` and the
    command line show them.
    """

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        rest = [p for p in signature.parameters.values() if p.kind is p.VAR_KEYWORD]
        hints = typing.get_type_hints(function, include_extras=True)
        lines = []
        for group in groups:
            hints |= typing.get_type_hints(group, include_extras=True)
            own += inspect.signature(group).parameters.values()
            described = docstring_parser.parse(group.__doc__ or "").params
            lines += [f"{p.arg_name}: {' '.join((p.description or '').split())}" for p in described]
        vars(function)["__signature__"] = signature.replace(parameters=[*own, *rest])
        function.__annotations__ = hints
        before, mark, after = (function.__doc__ or "").partition("**settings:")
        function.__doc__ = before + "\n        ".join([*lines, mark + after])
        return function

    return decorate
