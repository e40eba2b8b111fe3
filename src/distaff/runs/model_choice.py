"""The model of a run: what the request leaves open is chosen for the data and the objective."""

from dataclasses import replace

import torch

from distaff.data.arrangements import Table
from distaff.data.dataset import Dataset
from distaff.data.signals import Signals
from distaff.foundation.binding import find_function
from distaff.foundation.errors import DistaffError
from distaff.models import infogan_networks, networks
from distaff.models.by_name import find_network, told_of
from distaff.models.column_likelihood import ColumnLikelihood
from distaff.models.latent_kinds import Discrete, Quantized, Uniform
from distaff.models.latents import LatentSpace
from distaff.models.likelihoods import COUNTED, KINDS, find_likelihood
from distaff.models.vae import likelihood_for
from distaff.objectives.games import Game
from distaff.objectives.labels import LOSSES, check_labels
from distaff.objectives.objective import Objective
from distaff.objectives.schedules import Schedule
from distaff.runs.sections import GANConfig, ModelConfig, VAEConfig
from distaff.runs.settings import AUTO, ModelSettings

NOISE = 62
"""Default number of noise variables, as in Chen et al. 2016 on MNIST."""
LOOKED_AT = 1024
"""Number of observations that are checked to lie in [0, 1]."""
SMALL = 32
"""Images that fit no paper's network get a residual network from this side on, and a dense one below."""
LATE = 10**12
"""A step at which every schedule has ended."""


def describe(asked: ModelSettings, data: Dataset, goal: Objective | Game) -> ModelConfig:
    """The model for a goal, with every choice made for the data."""
    if isinstance(goal, Game):
        return _gan(asked, data, goal)
    config = _vae(asked, data, goal)
    if goal.sharing is not None:
        goal.sharing.check(config.latents, len(data.names))
    if any(weighted.term in LOSSES.values() for weighted in goal.terms):
        check_labels(len(data.names), sum(not v.classes for v in config.latents.variables))
    return config


def _vae(asked: ModelSettings, data: Dataset, goal: Objective) -> VAEConfig:
    """The requested model, with open choices made for the data and the objective."""
    space = LatentSpace.parse(asked.latents, real=goal.usual.latents)
    if space.noise or any(isinstance(group, Uniform) for group in space.groups.values()):
        raise DistaffError(
            f"the latents {space} are for infogan and infowgan_gp: those of a VAE are gaussian, point, "
            "quantized, concrete or bernoulli, and there is no noise beside them."
        )
    kinds = {type(group) for group in space.groups.values()}
    if goal.usual.latents is Quantized and Quantized not in kinds:
        raise DistaffError(
            f"qlae needs quantized latents, not {space}: give their number alone, or write "
            "quantized:12:10 for 12 latents of 10 values."
        )
    warmth = asked.temperature
    ends = (warmth(0), warmth(LATE)) if isinstance(warmth, Schedule) else (warmth,)
    if not all(end > 0 for end in ends):
        raise DistaffError(f"the temperature must stay positive, not {asked.temperature}.")
    network = network_for(data.shape) if asked.network == AUTO else asked.network
    if data.is_grey or ":" in network:
        network = told_of(network, data)
    else:  # the library's networks take images for black and white by default
        find_function("network", network, networks)
    likelihood = _likelihood(asked.likelihood, data)
    if likelihood not in KINDS:
        find_likelihood(likelihood)
    if likelihood == "bernoulli" and len(data.shape) == 1:
        some = data.images[: min(LOOKED_AT, len(data))]
        if some.min() < 0 or some.max() > 1:
            raise DistaffError(
                f"{data.name} runs from {some.min():g} to {some.max():g}, outside [0, 1], where a "
                "bernoulli likelihood has no meaning: use --likelihood gaussian."
            )
    if likelihood in COUNTED and len(data.shape) == 1:
        some = data.images[: min(LOOKED_AT, len(data))]
        if some.min() < 0 or (some != some.floor()).any():
            raise DistaffError(
                f"{data.name} holds other numbers than counts 0, 1, 2 …, which a {likelihood} likelihood "
                "is for: leave --likelihood out, or name the columns that are counts."
            )
    return VAEConfig(space, asked.prior, asked.temperature, network, likelihood)


def _gan(asked: ModelSettings, data: Dataset, game: Game) -> GANConfig:
    """The requested model, with open choices made for the data."""
    usual = ModelSettings()
    for name in ("prior", "temperature", "likelihood"):
        if getattr(asked, name) != getattr(usual, name):
            raise DistaffError(f"a GAN has no {name}: that is for VAEs, leave it out.")
    space = LatentSpace.parse(asked.latents, real=game.usual.latents)
    for name, group in space.groups.items():
        if not isinstance(group, Uniform | Discrete):
            raise DistaffError(
                f"{name}={group} is for VAEs: the codes of a GAN are uniform, concrete or bernoulli, "
                "such as digit=concrete:10,style=uniform:2,noise:62."
            )
    network = generator_for(data.shape) if asked.network == AUTO else asked.network
    return GANConfig(replace(space, noise=space.noise or NOISE), network, game.norm)


def _likelihood(asked: str, data: Dataset) -> str:
    """The requested likelihood; by default one that suits the columns of a table, or the shape."""
    table = data.arrangement.likelihood if isinstance(data.arrangement, Table) else ""
    if isinstance(data.arrangement, Signals) and asked == AUTO:
        return "unit_gaussian"
    by_column = table.startswith(ColumnLikelihood.WORD)
    if asked == AUTO:
        return table or likelihood_for(data.shape)
    if not by_column or asked.startswith(ColumnLikelihood.WORD) or ":" in asked:
        return asked
    if asked in COUNTED:
        alone = table == f"{ColumnLikelihood.WORD}counts={data.shape[0]}"
        return asked if alone else f"{table},counted={asked}"
    raise DistaffError(
        f"{data.name} has columns of classes or counts, or missing values, which --likelihood {asked} does "
        "not model: leave it out."
    )


def network_for(shape: tuple[int, ...]) -> str:
    """The default network for observations of a shape."""
    if len(shape) == 1:
        return "pinwheel" if shape[0] == 2 else "mlp"
    if len(shape) == 2:
        return "conv1d"
    if shape[1:] == (28, 28):
        return "hfvae_mlp"
    if not any(side % 16 for side in shape[1:]):
        return "kim_mnih"
    return "resnet" if min(shape[1:]) >= SMALL else "mlp"


def check_words(asked: ModelSettings, goal: Objective | Game) -> None:
    """Raise an error for unknown latents and likelihoods, before the data are decoded."""
    LatentSpace.parse(asked.latents, real=goal.usual.latents)
    if asked.likelihood not in (AUTO, *KINDS):
        find_likelihood(asked.likelihood)


def check_fit(asked: ModelSettings, shape: tuple[int, ...], goal: Objective | Game) -> None:
    """Raise an error if the network does not fit the shape, before the data are decoded."""
    with torch.random.fork_rng(devices=[]):
        if isinstance(goal, Game):
            network = generator_for(shape) if asked.network == AUTO else asked.network
            find_network(network, infogan_networks)(shape, 2, 2, norm=goal.norm)
        else:
            find_network(network_for(shape) if asked.network == AUTO else asked.network)(shape, 2, 2)


def generator_for(shape: tuple[int, ...]) -> str:
    """The default networks of a GAN for observations of a shape."""
    if len(shape) == 3 and not (shape[1] % 16 or shape[2] % 16):
        return "infogan_shapes"
    return "infogan_mnist" if len(shape) == 3 and not (shape[1] % 4 or shape[2] % 4) else "infogan_mlp"
