"""Generators, discriminators and Q of GANs: one function per table, selected by ``--network NAME``.

Each function takes
    shape: shape of an observation, (C, H, W) or (D,);
    parameters: number of outputs of Q for all codes;
    width: number of inputs of the generator, codes and noise together;
    norm: the discriminator's normalisation: "batch", or "layer" under a gradient penalty, which is defined
        for each image by itself: then convolutions have no normalisation, and the dense layer has LayerNorm.

The tables print the activation before batchnorm; here it comes after, as in Chen et al.'s code.
"""

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Literal

from torch import nn

from distaff.models.infogan import Players
from distaff.models.networks.building_blocks import level
from distaff.models.networks.halving import RELU_IN_PLACE, Shape, divided, down, last_up, up

Norm = Literal["batch", "layer"]
LEAKY = partial(nn.LeakyReLU, 0.1, inplace=True)
"""Leaky ReLU with the slope of Chen et al. 2016; the tables do not give one."""
NORMS: dict[Norm, Callable[[int], nn.Module]] = {"batch": nn.BatchNorm1d, "layer": nn.LayerNorm}
Q_HIDDEN = 128


def infogan_mnist(shape: Shape, parameters: int, width: int, norm: Norm = "batch") -> Players:
    """FactorVAE's Table 4 (MNIST), for images whose sides are divisible by 4."""
    rows, columns = divided(shape, 4, "infogan_mnist", instead="infogan_mlp")
    trunk = [
        *down(shape[0], 64, activation=LEAKY),
        *down(64, 128, norm == "batch", LEAKY),
        nn.Flatten(),
        *_dense(128 * rows * columns, 1024, norm, LEAKY),
    ]
    generator = [
        *_dense(width, 1024),
        *_dense(1024, 128 * rows * columns),
        nn.Unflatten(1, (128, rows, columns)),
        *up(128, 64, norm=True),
        last_up(64, shape[0]),
        nn.Sigmoid(),
    ]
    return _players(generator, trunk, 1024, parameters)


def infogan_shapes(shape: Shape, parameters: int, width: int, norm: Norm = "batch") -> Players:
    """FactorVAE's Table 5 (2D Shapes), for images whose sides are divisible by 16."""
    rows, columns = divided(shape, 16, "infogan_shapes", instead="infogan_mlp")
    size = 64 * rows * columns
    trunk = [
        *down(shape[0], 32, activation=LEAKY),
        *_stack(down, [32, 32, 64, 64], norm == "batch"),
        nn.Flatten(),
        *_dense(size, 128, norm, LEAKY),
    ]
    generator = [
        *_dense(width, 128),
        *_dense(128, size),
        nn.Unflatten(1, (64, rows, columns)),
        *_stack(up, [64, 64, 32, 32], norm=True),
        last_up(32, shape[0]),
        nn.Sigmoid(),
    ]
    return _players(generator, trunk, 128, parameters)


def infogan_shapes_bigger(shape: Shape, parameters: int, width: int, norm: Norm = "batch") -> Players:
    """FactorVAE's Table 6 (2D Shapes, bigger), for images whose sides are divisible by 8.

    The table prints 136 inputs; there are 135: 4 codes, 3 classes and 128 of noise.
    """
    rows, columns = divided(shape, 8, "infogan_shapes_bigger", instead="infogan_mlp")
    size = 256 * rows * columns
    trunk = [
        *down(shape[0], 64, activation=LEAKY),
        *_stack(down, [64, 128, 256], norm == "batch"),
        *_stack(level, [256, 256, 256], norm == "batch"),
        nn.Flatten(),
        *_dense(size, 1024, norm, LEAKY),
    ]
    generator = [
        *_dense(width, 1024),
        *_dense(1024, size),
        nn.Unflatten(1, (256, rows, columns)),
        *_stack(level, [256, 256, 256], norm=True),
        *_stack(up, [256, 128, 64], norm=True),
        last_up(64, shape[0]),
        nn.Sigmoid(),
    ]
    return _players(generator, trunk, 1024, parameters)


def infogan_mlp(
    shape: Shape, parameters: int, width: int, norm: Norm = "batch", hidden: int = 256
) -> Players:
    """Two dense layers of ``hidden`` units each way, for observations of any shape; vectors are unbounded."""
    trunk = [
        nn.Flatten(),
        nn.Linear(math.prod(shape), hidden),
        LEAKY(),
        *_dense(hidden, hidden, norm, LEAKY),
    ]
    generator = [
        *_dense(width, hidden),
        *_dense(hidden, hidden),
        nn.Linear(hidden, math.prod(shape)),
        nn.Unflatten(1, shape),
        *([nn.Sigmoid()] if len(shape) == 3 else []),
    ]
    return _players(generator, trunk, hidden, parameters)


def _players(generator: list[nn.Module], trunk: list[nn.Module], features: int, parameters: int) -> Players:
    return Players(
        generator=nn.Sequential(*generator),
        trunk=nn.Sequential(*trunk),
        verdict=nn.Linear(features, 1),
        reader=nn.Sequential(*_dense(features, Q_HIDDEN, "batch", LEAKY), nn.Linear(Q_HIDDEN, parameters)),
    )


def _dense(
    inputs: int, outputs: int, norm: Norm = "batch", activation: Callable[[], nn.Module] = RELU_IN_PLACE
) -> list[nn.Module]:
    # BatchNorm would subtract a bias before it again.
    return [nn.Linear(inputs, outputs, bias=norm == "layer"), NORMS[norm](outputs), activation()]


def _stack(layer: Callable[..., list[nn.Module]], channels: list[int], norm: bool) -> list[nn.Module]:
    return [part for pair in itertools.pairwise(channels) for part in layer(*pair, norm, LEAKY)]
