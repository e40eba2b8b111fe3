"""VAEs as ``run.yaml`` describes them: names and numbers in, a VAE out."""

from dataclasses import dataclass
from typing import Any

from distaff.calls import from_plain, to_plain
from distaff.data.dataset import Dataset
from distaff.errors import DistaffError
from distaff.models.latents import TEMPERATURE, LatentSpace, Uniform
from distaff.models.likelihoods import find_likelihood, likelihood_for
from distaff.models.network_calls import find_network, told_of
from distaff.models.priors.grammar import parse_prior
from distaff.models.vae import VAE
from distaff.objectives.objective import Objective
from distaff.objectives.schedules import Weight, weight_at

Calls = dict[str, Any]
AUTO = "auto"
LOOKED_AT = 1024
"""Observations that are checked to lie in [0, 1]."""


@dataclass(frozen=True)
class ModelOptions:
    """What ``train`` can be told of a model, as it was told."""

    latents: int | str = 10
    prior: str = "normal"
    temperature: Weight | str = TEMPERATURE
    network: str = AUTO
    likelihood: str = AUTO


def describe_model(objective: Objective, data: Dataset, options: ModelOptions) -> Calls:
    """The model's part of ``run.yaml``, checked, with every choice that was left open made for the data."""
    space = LatentSpace.parse(options.latents)
    if space.noise or any(isinstance(group, Uniform) for group in space.groups.values()):
        raise DistaffError(
            f"the latents {space} are for infogan and infowgan_gp: those of a VAE are gaussian, point, "
            "concrete or bernoulli, and there is no noise beside them."
        )
    parse_prior(options.prior, space)
    network, likelihood = options.network, options.likelihood
    calls = {
        "latents": str(space),
        "prior": options.prior,
        "temperature": to_plain(from_plain(options.temperature, Weight, "temperature")),
        "network": told_of(network_for(data.shape) if network == AUTO else network, data),
        "likelihood": likelihood_for(data.shape) if likelihood == AUTO else likelihood,
    }
    schedule = temperature_of(calls)
    for index in (0, 10**12):
        if not weight_at(schedule, index) > 0:
            raise DistaffError(f"the temperature must stay positive, not {calls['temperature']}.")
    find_likelihood(calls["likelihood"])
    if calls["likelihood"] == "bernoulli" and len(data.shape) == 1:
        some = data.images[: min(LOOKED_AT, len(data))]
        if some.min() < 0 or some.max() > 1:
            raise DistaffError(
                f"{data.name} runs from {some.min():g} to {some.max():g}, outside [0, 1], where a bernoulli "
                "likelihood has no meaning: use --likelihood gaussian."
            )
    return calls


def build_model(calls: Calls) -> VAE:
    """A new model as a run's calls describe it."""
    model, shape = calls["model"], tuple(calls["data"]["shape"])
    latents = LatentSpace.parse(model["latents"])
    likelihood = find_likelihood(model["likelihood"])
    make = find_network(model["network"])
    outputs = (likelihood.numbers * shape[0], *shape[1:])
    pair = make(shape, latents.parameters, latents.width, outputs=outputs)
    return VAE(pair, latents, parse_prior(model["prior"], latents), likelihood.read)


def network_for(shape: tuple[int, ...]) -> str:
    """A sensible network for observations of a shape."""
    if len(shape) == 1:
        return "pinwheel" if shape[0] == 2 else "mlp"
    return "hfvae_mlp" if shape[1:] == (28, 28) else "kim_mnih"


def temperature_of(model: Calls) -> Weight:
    """The temperature of discrete latents that a run's calls ask for, a number or a schedule."""
    temperature: Weight = from_plain(model["temperature"], Weight, "temperature")
    return temperature
