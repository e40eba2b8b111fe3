"""Settings of ``train`` beside the recipe's own arguments: one field per setting, described once.

The fields automatically become arguments of ``distaff.train``, flags, and keys of ``run.yaml`` and studies.
"""

import dataclasses
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

import docstring_parser
from annotated_types import Ge, Gt, Lt

from distaff.data.pictures import Fit
from distaff.foundation.binding import ADDED_LATER, bind
from distaff.foundation.errors import DistaffError
from distaff.foundation.files import named_path
from distaff.foundation.text import told_options
from distaff.models.relaxed import TEMPERATURE
from distaff.objectives.schedules import Schedule, Weight

ZOO = "zoo:"
"""What the names of models that come with distaff begin with."""
AUTO: Final = "auto"
"""A choice left to the data."""
AtLeastOne = Annotated[int, Ge(1)]
FromZero = Annotated[int, Ge(0)]
BetweenZeroAndOne = Annotated[float, Ge(0), Lt(1)]
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

    @property
    def options(self) -> dict[str, Any]:
        """Options for the data set's ``load``: all except the file, if they are not at their defaults."""
        names = ("resize", "fit", "range", "skip_bad", "correlate", "leave_out")
        flags = {name: getattr(self, name) for name in names}
        given = {name: value for name, value in flags.items() if value is not None and value is not False}
        return told_options(self.data_options, **given) if self.data_options else given


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


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """How a model is trained.

    Args:
        steps: total number of training steps.
        batch_size: observations per step, over all devices.
        seed: seed of weights, noise and the order of data.
        learning_rate: the optimiser's step size, a number or a schedule such as
            linear:0:1e-3:500,cosine:1e-3:1e-5:9500; by default 1e-4, and 1e-3 for the generator of a GAN and
            for qlae and ae.
        optimizer: name of an optimiser of torch.optim in lower case, such as adam, adamw or sgd; by default
            adam, and adamw for qlae and ae.
        betas: decay rates of Adam and similar optimisers; by default 0.9 0.999, and 0.5 0.999 for a GAN's
            generator.
        amsgrad: use Adam's AMSGrad variant.
        weight_decay: the optimiser's weight decay: decoupled in adamw, added to the gradient in adam; by
            default 0, for qlae 0.1 and for ae 0.001. Biases, gains and codebooks of quantized latents do not
            decay.
        clip: largest norm of the model's gradient; larger gradients are scaled down to it.
        average: decay of a moving average of the weights, such as 0.999; the average is then the trained
            model, and the weights themselves are kept beside it.
        start: run folder, hub folder or zoo:NAME whose weights training begins with, on the same data or
            others of the same size; model settings that are not given are taken from it.
        revive: step at which closed latents are reinitialised, at the end of a tight bottleneck; for VAEs.
        precision: precision of the forward pass.
        log_every: steps between log lines.
        checkpoint_every: steps between checkpoints.
        snapshots: number of permanent snapshots of the model, equally spaced over training.
        pairs: source of pairs for recipes that learn from them: k=1 (that many factors differ), random (1 to
            K-1 differ), sequence (neighbours), given (the data set's own), a file of rows (P, 2) such as
            mine.npy, or module:function. By default given if the data set has pairs, else random; batch_size
            counts pairs.
        labels: number of observations, chosen at random, that have labels to learn from, or all; a label loss
            beside the recipe's own terms then pulls latent k towards factor k.
        label_weight: weight of the label loss, which is a mean over labelled observations and a sum over
            factors.
        label_loss: bce is the cross-entropy of the latent's sigmoid against the factor scaled to 0-1, l2 the
            squared distance.
        hold_out: fraction of the data set that is held out of training, such as 0.1, drawn by the seed; or a
            file or folder of other data, prepared in the same way. Its ELBO and terms are logged beside those
            of training.
        hold_out_by: factor, such as a subject, whose groups are held out entirely or not at all.
        validate_every: steps between evaluations of the held-out data.
        patience: stop when the ELBO of the held-out data has not risen for that many evaluations; the best
            checkpoint is then the trained model.
    """

    steps: AtLeastOne = 300_000
    batch_size: AtLeastOne = 64
    seed: FromZero = 0
    learning_rate: Weight | None = None
    optimizer: str | None = None
    betas: tuple[BetweenZeroAndOne, BetweenZeroAndOne] | None = None
    amsgrad: bool = False
    weight_decay: Annotated[float, Ge(0)] | None = None
    clip: Annotated[float, Gt(0)] | None = None
    average: Annotated[float, Gt(0), Lt(1)] | None = None
    revive: AtLeastOne | None = None
    precision: Literal["32-true", "bf16-mixed"] = "32-true"
    log_every: AtLeastOne = 100
    checkpoint_every: AtLeastOne = 1000
    snapshots: AtLeastOne | None = None
    pairs: str | None = dataclasses.field(default=None, metadata=ADDED_LATER)
    labels: AtLeastOne | Literal["all"] | None = dataclasses.field(default=None, metadata=ADDED_LATER)
    label_weight: Weight = dataclasses.field(default=4.0, metadata=ADDED_LATER)
    label_loss: Literal["bce", "l2"] = dataclasses.field(default="bce", metadata=ADDED_LATER)
    hold_out: float | str | None = field(default=None, metadata=ADDED_LATER)
    hold_out_by: str | None = field(default=None, metadata=ADDED_LATER)
    validate_every: AtLeastOne = field(default=500, metadata=ADDED_LATER)
    patience: AtLeastOne | None = field(default=None, metadata=ADDED_LATER)
    start: str | Path | None = field(default=None, metadata=ADDED_LATER)

    def __post_init__(self) -> None:
        if self.learning_rate is not None:
            rate = self.learning_rate
            lowest, highest = rate.range if isinstance(rate, Schedule) else (rate, rate)
            if lowest < 0 or not highest > 0:
                raise DistaffError(f"--learning-rate must be positive, not {self.learning_rate}.")
        share = held_out_share(self.hold_out)
        if share is not None and not 0 < share < 1:
            raise DistaffError(f"--hold-out is a share between 0 and 1, or a file or folder, not {share:g}.")
        if share is not None:
            object.__setattr__(self, "hold_out", share)
        elif self.hold_out is not None and (place := named_path(str(self.hold_out))).exists():
            object.__setattr__(self, "hold_out", str(place.resolve()))
        if self.start is not None:
            start = str(self.start)
            located = start if start.startswith(ZOO) else str(named_path(start).resolve())
            object.__setattr__(self, "start", located)
        for name in ("patience", "hold_out_by"):
            if getattr(self, name) is not None and self.hold_out is None:
                flag = f"--{name.replace('_', '-')}"
                raise DistaffError(f"{flag} needs data to look at: give --hold-out 0.1 beside it.")
        if self.hold_out_by is not None and share is None:
            raise DistaffError("--hold-out-by goes with a share to hold out, such as --hold-out 0.1.")


def held_out_share(hold_out: float | str | None) -> float | None:
    """The fraction to hold out, or None for a file or folder.

    >>> held_out_share("0.1"), held_out_share("photos/test")
    (0.1, None)
    """
    try:
        return None if hold_out is None else float(hold_out)
    except ValueError:
        return None


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
Group = TypeVar("Group", DataSettings, ModelSettings, TrainingSettings, Machine)


GROUPS = (TrainingSettings, ModelSettings, Machine)
DATA_SETTINGS = tuple(field.name for field in dataclasses.fields(DataSettings))
SETTINGS = {field.name: field for group in GROUPS for field in dataclasses.fields(group)}
"""All settings that every recipe takes, by name."""


def chosen(group: type[Group], given: Mapping[str, Any]) -> Group:
    """The settings of a group from those given by name, checked."""
    names = [field.name for field in dataclasses.fields(group)]
    return group(**bind(group, {name: given[name] for name in names if name in given}))


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


def in_zoo(place: str | Path) -> bool:
    """Whether a place names a model that comes with distaff."""
    return str(place).startswith(ZOO)
