"""InfoGANs as ``run.yaml`` describes them: names and numbers in, networks out."""

from dataclasses import replace
from typing import Any

from distaff.data.dataset import Dataset
from distaff.errors import DistaffError
from distaff.models import infogan_networks
from distaff.models.infogan import InfoGAN
from distaff.models.latents import Discrete, LatentSpace, Uniform
from distaff.models.network_calls import find_network
from distaff.objectives.games import Game
from distaff.training.model import AUTO, ModelOptions

Calls = dict[str, Any]
NOISE = 62
"""Noise variables unless told: those of Chen et al. 2016 on MNIST."""


def describe_gan(game: Game, data: Dataset, options: ModelOptions) -> Calls:
    """The model's part of ``run.yaml``, checked, with every choice that was left open made for the data."""
    usual = ModelOptions()
    for name in ("prior", "temperature", "likelihood"):
        if str(getattr(options, name)) != str(getattr(usual, name)):
            raise DistaffError(f"a GAN has no {name}: that is for VAEs, leave it out.")
    space = LatentSpace.parse(options.latents, real=Uniform)
    for name, group in space.groups.items():
        if not isinstance(group, Uniform | Discrete):
            raise DistaffError(
                f"{name}={group} is for VAEs: the codes of a GAN are uniform, concrete or bernoulli, "
                "such as digit=concrete:10,style=uniform:2,noise:62."
            )
    return {
        "kind": "infogan",
        "latents": str(replace(space, noise=space.noise or NOISE)),
        "network": network_for(data.shape) if options.network == AUTO else options.network,
        "norm": game.norm,
    }


def build_gan(calls: Calls) -> InfoGAN:
    """New networks as a run's calls describe them."""
    model = calls["model"]
    latents = LatentSpace.parse(model["latents"])
    make = find_network(model["network"], infogan_networks)
    width = latents.width + latents.noise
    players = make(tuple(calls["data"]["shape"]), latents.parameters, width, norm=model["norm"])
    return InfoGAN(players, latents)


def network_for(shape: tuple[int, ...]) -> str:
    """Sensible networks for observations of a shape."""
    if len(shape) == 3 and not (shape[1] % 16 or shape[2] % 16):
        return "infogan_shapes"
    return "infogan_mnist" if len(shape) == 3 and not (shape[1] % 4 or shape[2] % 4) else "infogan_mlp"
