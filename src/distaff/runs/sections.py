"""Sections of ``run.yaml``: the model, which is built from its description, and the training.

To add a training setting, write one field of ``TrainingSettings`` and its line in the docstring.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import torch
from annotated_types import Ge, Gt, Lt
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from distaff.foundation.binding import ADDED_LATER, find_function
from distaff.foundation.errors import DistaffError, unknown
from distaff.foundation.files import named_path
from distaff.models import infogan_networks, networks
from distaff.models.by_name import find_network, split_call
from distaff.models.column_likelihood import ColumnLikelihood
from distaff.models.encoders import check_pair
from distaff.models.infogan import InfoGAN
from distaff.models.latents import LatentSpace
from distaff.models.likelihoods import KINDS, find_likelihood
from distaff.models.networks.halving import Networks
from distaff.models.priors.parsing import STANDARD, parse_prior
from distaff.models.vae import VAE, Likelihood, Prior, front_of, outputs_of
from distaff.objectives.schedules import Schedule, Weight
from distaff.runs.openings import Openings

ZOO = "zoo:"
"""What the names of models that come with distaff begin with."""
AtLeastOne = Annotated[int, Ge(1)]
FromZero = Annotated[int, Ge(0)]
BetweenZeroAndOne = Annotated[float, Ge(0), Lt(1)]


@dataclass(frozen=True)
class VAEConfig:
    """A VAE with every choice made; the fields are those of ``ModelSettings``."""

    latents: LatentSpace
    prior: str
    temperature: Weight
    network: str
    likelihood: str

    def build(self, shape: tuple[int, ...], steps: int = 0, download: bool = True) -> VAE:
        """A new model for observations of a shape, at its temperature after ``steps`` steps.

        Without ``download``, a pretrained network starts without its weights.
        """
        likelihood = KINDS.get(self.likelihood) or find_likelihood(self.likelihood)
        usual = self.prior in STANDARD
        prior = Prior.standard(self.latents) if usual else parse_prior(self.prior, self.latents)
        pair = self._networks(shape, likelihood, download)
        read = cast(
            Callable[[Tensor], Likelihood], likelihood.read
        )  # Columns are a Likelihood except for ``read``
        model = VAE(pair, self.latents, prior, read)
        warmth = self.temperature
        model.temperature = warmth(max(steps - 1, 0)) if isinstance(warmth, Schedule) else warmth
        return model

    def _networks(
        self, shape: tuple[int, ...], likelihood: type[Likelihood] | ColumnLikelihood, download: bool
    ) -> Networks:
        front, outputs = front_of(likelihood), outputs_of(likelihood, shape)
        inputs = likelihood.inputs(shape) if isinstance(likelihood, ColumnLikelihood) else shape
        own = ":" in self.network  # arguments, or a network that is not the library's
        plain = None if own else find_function("network", self.network, networks)
        make = plain or find_network(self.network, download=download)
        pair: Networks = make(inputs, self.latents.parameters, self.latents.width, outputs=outputs)
        initialise(pair.encoder, inputs)
        initialise(pair.decoder, (self.latents.width,))
        if own and ":" in split_call(self.network)[0]:
            check_pair(pair, inputs, self.latents.parameters, self.latents.width, outputs, self.network)
        return pair if front is None else Networks(nn.Sequential(front, pair.encoder), pair.decoder)


@dataclass(frozen=True)
class GANConfig:
    """An InfoGAN with every choice made.

    Args:
        latents: codes and noise.
        network: name from ``distaff.models.infogan_networks``, or ``module:function``.
        norm: normalisation of the discriminator, which the game determines.
        kind: kind of model in ``run.yaml``; a model without one is a VAE.
    """

    latents: LatentSpace
    network: str
    norm: Literal["batch", "layer"]
    kind: Literal["infogan"] = "infogan"

    def build(self, shape: tuple[int, ...], steps: int = 0, download: bool = True) -> InfoGAN:
        """New networks for observations of a shape; ``steps`` and ``download`` are not used."""
        make = find_network(self.network, infogan_networks)
        width = self.latents.width + self.latents.noise
        return InfoGAN(make(shape, self.latents.parameters, width, norm=self.norm), self.latents)


ModelConfig = VAEConfig | GANConfig


def initialise(network: nn.Module, inputs: tuple[int, ...]) -> None:
    """Initialise lazy layers, such as ``nn.LazyLinear``, which take their sizes from their first input."""
    if any(isinstance(weight, UninitializedParameter) for weight in network.parameters()):
        with torch.no_grad():
            network(torch.zeros(2, *inputs))


def model_config(section: Mapping[str, Any]) -> type[ModelConfig]:
    """The kind of model that a section of ``run.yaml`` describes."""
    kinds: dict[str, type[ModelConfig]] = {"vae": VAEConfig, "infogan": GANConfig}
    kind = str(section.get("kind", "vae"))
    if kind not in kinds:
        raise unknown("kind of model in run.yaml", kind, kinds)
    return kinds[kind]


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
        revive: step at which closed latents are reinitialised, at the end of a tight bottleneck; for VAEs. Or
            STEP:LATENTS, several of them, such as 1550:1,2150:1,2650, to open a few latents at a time.
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
    revive: AtLeastOne | Openings | None = None
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
            located = start if in_zoo(start) else str(named_path(start).resolve())
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


def in_zoo(place: str | Path) -> bool:
    """Whether a place names a model that comes with distaff."""
    return str(place).startswith(ZOO)
