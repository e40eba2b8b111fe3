"""Building blocks of several networks: dense pairs, the ends of encoders, heads side by side."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from distaff.models.networks.halving import RELU_IN_PLACE, Networks, Shape, dense


def level(
    inputs: int, outputs: int, norm: bool = False, activation: Callable[[], nn.Module] = RELU_IN_PLACE
) -> list[nn.Module]:
    """4×4 convolution of stride 1, which keeps the sides; a transposed one of stride 1 would be the same."""
    convolution = nn.Conv2d(inputs, outputs, 4, bias=not norm)
    normed = [nn.BatchNorm2d(outputs)] if norm else []
    return [nn.ZeroPad2d((1, 2, 1, 2)), convolution, *normed, activation()]


def flat_end(size: int, hidden: int, outputs: int) -> list[nn.Module]:
    """The layers that end an encoder, from ``size`` numbers of any shape through ``hidden`` units."""
    return [nn.Flatten(), *dense([size, hidden]), nn.Linear(hidden, outputs)]


class SideBySide(nn.Module):
    """Networks with the same input (B, …), whose outputs (B, n) are concatenated."""

    def __init__(self, *heads: nn.Module) -> None:
        super().__init__()
        self.heads = nn.ModuleList(heads)

    def forward(self, x: Tensor) -> Tensor:
        """(B, Σ n)."""
        return torch.cat([head(x) for head in self.heads], 1)


def dense_pair(
    shape: Shape,
    parameters: int,
    width: int,
    outputs: Shape | None,
    encoder: list[int],
    decoder: list[int],
    activation: Callable[[], nn.Module] = nn.ReLU,
) -> Networks:
    """Dense networks for observations of any shape, given the sizes of their hidden layers.

    ``activation`` is the decoder's.
    """
    outputs = outputs or shape
    inside = [math.prod(shape), *encoder]
    outside = [width, *decoder]
    return Networks(
        nn.Sequential(nn.Flatten(), *dense(inside), nn.Linear(inside[-1], parameters)),
        nn.Sequential(
            *dense(outside, activation),
            nn.Linear(outside[-1], math.prod(outputs)),
            nn.Unflatten(1, outputs),
        ),
    )
