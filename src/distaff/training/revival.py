"""Reinitialise closed latents and dead units, which do not recover from a tight bottleneck by themselves."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError
from distaff.metrics.active_latents import kl_to_nearest_prior
from distaff.models.groups import Gaussian
from distaff.models.latent_kinds import Point
from distaff.models.latents import LatentSpace
from distaff.models.vae import VAE

CLOSED = 0.1
"""Information about x in nats below which a latent counts as closed."""
LOGVAR = -3.0
"""Initial log-variance of a revived latent: little noise, so that the decoder uses it."""
LOUDNESS = 0.5
"""Standard deviation of the decoder's weights for a revived latent, relative to those for open latents."""
Layer = nn.Linear | nn.Conv2d


class Revival:
    """Reinitialises a VAE's closed latents and the dead units of its encoder.

    A latent whose posterior is the same for all x is a saddle of the ELBO: the encoder learns nothing through
    a decoder that ignores it, and the decoder learns nothing from noise. Left alone it stays closed for
    thousands of steps, whatever the weight of the KL. A ReLU that is 0 for all x learns nothing either, and a
    tight bottleneck leaves many of them. Both are reinitialised, as dead units are in "The dormant neuron
    phenomenon in deep reinforcement learning" (Sokar et al. 2023):

    * a dead unit gets new weights, and the next layer gets weights of 0 for it: only its gradient changes;
    * a closed latent gets as its mean a random projection of the encoder's last features, with mean 0 and
      variance 1 over the batch; a log-variance of −3 for all x; and random weights in the decoder, half as
      large as those of open latents, whose weights are not changed.

    Args:
        model: VAE whose encoder ends, and whose decoder begins, with a dense layer.
    """

    def __init__(self, model: VAE) -> None:
        self.model = model
        heads = [m for m in model.encoder.modules() if isinstance(m, nn.Linear)]
        stems = [m for m in model.decoder.modules() if isinstance(m, nn.Linear)]
        self.places = list(_places(model.latents))
        if not self.places:
            raise DistaffError(f"revive opens real latents with a variance, and {model.latents} has none.")
        if not (heads and heads[-1].out_features == model.latents.parameters):
            raise DistaffError("revive needs an encoder that ends with a dense layer.")
        if not (stems and stems[0].in_features == model.latents.width):
            raise DistaffError("revive needs a decoder that begins with a dense layer.")
        self.head, self.stem = heads[-1], stems[0]

    @torch.no_grad()
    def __call__(self, x: Tensor, gather: Callable[[Tensor], Tensor], seed: tuple[int, ...]) -> list[int]:
        """Reinitialise the units that are dead, and the latents that are closed, on a batch.

        Args:
            x: (B, *shape) the process's share of a batch.
            gather: function from (B, ...) of each process to (all B, ...).
            seed: seed of the new weights, the same on every process.

        Returns:
            The columns of z that were closed.
        """
        rng = np.random.default_rng(seed)
        self.wake_units(x, gather, rng)
        features, parameters = self.read(x, gather)
        # Earlier versions sampled z here: without this draw, the noise of the step and the run would differ.
        self.model.latents.posterior(parameters, self.model.temperature).rsample()
        closed = self.closed(parameters)
        loudness = self.loudness(closed)
        for place in closed:
            self.open(place, features, drawn(rng, self.head.weight[place.mean]), loudness, rng)
        return [place.column for place in closed]

    def wake_units(self, x: Tensor, gather: Callable[[Tensor], Tensor], rng: np.random.Generator) -> None:
        """Reinitialise the encoder's units that are 0 for a whole batch (B, *shape)."""
        for layer, following in _stacked(self.model.encoder):
            outputs = _through(self.model.encoder, layer, x)[1]
            highest = gather(outputs.transpose(0, 1).flatten(1).amax(1)[None]).amax(0)
            _draw_units(layer, following, highest <= 0, rng)

    def read(self, x: Tensor, gather: Callable[[Tensor], Tensor]) -> tuple[Tensor, Tensor]:
        """The encoder's last features (B, H) and its outputs (B, parameters), of all processes."""
        features, parameters = _through(self.model.encoder, self.head, x)
        return gather(features), gather(parameters)

    def closed(self, parameters: Tensor) -> list["Place"]:
        """The closed latents, by the encoder's outputs (B, parameters)."""
        made = parameters.float().cpu().numpy()
        means = made[:, [place.mean for place in self.places]]
        logvars = made[:, [place.logvar for place in self.places]]
        told = kl_to_nearest_prior(Codes(means, logvars))
        return [place for place, nats in zip(self.places, told, strict=True) if nats < CLOSED]

    def loudness(self, closed: Sequence["Place"]) -> Tensor:
        """The standard deviation of the decoder's weights for latents that are opened."""
        columns = [place.column for place in closed]
        everything = range(self.model.latents.width)
        others = [column for column in everything if column not in columns] or list(everything)
        return LOUDNESS * self.stem.weight[:, others].std()

    def open(
        self, place: "Place", features: Tensor, projection: Tensor, loudness: Tensor, rng: np.random.Generator
    ) -> None:
        """Open a latent: its mean is a projection (H,) of the features (B, H), with mean 0 and variance 1."""
        values = features @ projection
        scale = values.std().clamp(min=1e-6)
        self.head.weight[place.mean] = projection / scale
        self.head.bias[place.mean] = -values.mean() / scale
        self.head.weight[place.logvar] = 0
        self.head.bias[place.logvar] = LOGVAR
        self.stem.weight[:, place.column] = loudness * drawn(rng, self.stem.weight[:, place.column])

    def shut(self, place: "Place") -> None:
        """Set the posterior of one latent to N(0, 1) for all x, and the decoder's weights for it to 0."""
        outputs = [place.mean, place.logvar]
        self.head.weight[outputs] = 0
        self.head.bias[outputs] = 0
        self.stem.weight[:, place.column] = 0


class Place(NamedTuple):
    """The position of a latent with a mean and a variance.

    Args:
        column: column of z.
        mean: number of the encoder output that is the mean.
        logvar: number of the encoder output that is the log-variance.
    """

    column: int
    mean: int
    logvar: int


def _places(latents: LatentSpace) -> Iterator[Place]:
    first = 0
    for name, group in latents.groups.items():
        if isinstance(group, Gaussian) and not isinstance(group, Point):
            columns = latents.group_columns[name]
            for d in range(group.dims):
                yield Place(columns.start + d, first + d, first + group.dims + d)
        first += group.parameters


def drawn(rng: np.random.Generator, like: Tensor) -> Tensor:
    """Standard normal numbers in the shape of a tensor."""
    return torch.from_numpy(rng.standard_normal(like.shape, dtype=np.float32)).to(like)


def _stacked(encoder: nn.Module) -> Iterator[tuple[Layer, Layer]]:
    """The layers of a plain stack that are followed by a ReLU, each with the next layer."""
    if not isinstance(encoder, nn.Sequential):
        return
    modules = [module for module in encoder if not isinstance(module, nn.Flatten)]
    for layer, activation, following in zip(modules, modules[1:], modules[2:], strict=False):
        if isinstance(activation, nn.ReLU) and isinstance(layer, Layer) and isinstance(following, Layer):
            yield layer, following


def _through(encoder: nn.Module, layer: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
    """The input of a layer, and a copy of its output, since ReLUs may work in place."""
    seen: list[tuple[Tensor, Tensor]] = []
    with layer.register_forward_hook(lambda layer, given, made: seen.append((given[0], made.clone()))):
        encoder(x)
    return seen[-1]


def _draw_units(layer: Layer, following: Layer, dead: Tensor, rng: np.random.Generator) -> None:
    """New weights, of He's variance 2 / inputs, for the dead units of a layer; 0 in the following layer."""
    if not dead.any():
        return
    new = drawn(rng, layer.weight)[dead]
    layer.weight[dead] = new * (2 / layer.weight[0].numel()) ** 0.5
    if layer.bias is not None:
        layer.bias[dead] = 0
    read = following.weight.view(len(following.weight), len(dead), -1)  # a dense layer reads flattened maps
    read[:, dead] = 0
