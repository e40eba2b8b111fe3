"""Networks for observations of any size: vectors, images of any sides, and signals, with their layers."""

import itertools
import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from distaff.foundation.errors import DistaffError
from distaff.models.networks.building_blocks import dense_pair, flat_end
from distaff.models.networks.halving import Networks, Shape, dense

SMALLEST = 4
"""Halving ends when no side is longer than this."""
GROUPS = 8


def halvings(sides: Sequence[int], least: int = 1) -> list[tuple[int, ...]]:
    """The sides after each halving, rounded up, until none exceeds ``SMALLEST``; at least ``least`` halvings.

    >>> halvings((50, 20))
    [(50, 20), (25, 10), (13, 5), (7, 3), (4, 2)]
    """
    sizes = [tuple(sides)]
    while max(sizes[-1]) > SMALLEST or len(sizes) <= least:
        sizes.append(tuple(-(-side // 2) for side in sizes[-1]))
    return sizes


def there_and_back(
    sides: Sequence[int], inputs: int, channels: int
) -> tuple[list[tuple[int, int]], tuple[int, ...], list[tuple[tuple[int, ...], int, int]]]:
    """The steps of networks that halve ``sides`` and go back; channels double up to four times as many.

    Args:
        sides: the sides of an observation.
        inputs: its channels.
        channels: channels after the first halving, and after the last doubling.

    Returns:
        The channels before and after each halving; channels and sides in the middle; and the sides after each
        doubling, with the channels before and after it.

    >>> there_and_back((9, 9), 3, 8)
    ([(3, 8), (8, 16)], (16, 3, 3), [((5, 5), 16, 8), ((9, 9), 8, 8)])
    """
    sizes = halvings(sides)
    widths = [channels * min(2**level, 4) for level in range(len(sizes) - 1)]
    doublings = zip(sizes[-2::-1], itertools.pairwise([*widths[::-1], channels]), strict=True)
    back = [(side, before, after) for side, (before, after) in doublings]
    return list(itertools.pairwise([inputs, *widths])), (widths[-1], *sizes[-1]), back


def image_sides(shape: Sequence[int], name: str) -> tuple[int, int]:
    """The sides of images; for other shapes, an error that suggests another network."""
    if len(shape) != 3:
        raise DistaffError(f"{name} networks need images (C, H, W), not {tuple(shape)}: use --network mlp.")
    return shape[1], shape[2]


class Resize(nn.Module):
    """Resize images or signals to fixed sides by nearest-neighbour interpolation."""

    def __init__(self, sides: Sequence[int]) -> None:
        super().__init__()
        self.sides = tuple(sides)

    def forward(self, x: Tensor) -> Tensor:
        """x (B, C, *any) → (B, C, *sides)."""
        return F.interpolate(x, self.sides, mode="nearest")


class Residual(nn.Module):
    """x + conv(ReLU(norm(conv(ReLU(norm(x)))))), with 3×3 convolutions (He et al. 2016, pre-activation)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.GroupNorm(math.gcd(GROUPS, channels), channels), nn.ReLU()),
            nn.Conv2d(channels, channels, 3, padding=1),
            *(nn.GroupNorm(math.gcd(GROUPS, channels), channels), nn.ReLU()),
            nn.Conv2d(channels, channels, 3, padding=1),
        )

    def forward(self, x: Tensor) -> Tensor:
        """x (B, channels, H, W), the same shape."""
        changed: Tensor = self.layers(x)
        return x + changed


class Broadcast(nn.Module):
    """Repeat a vector at every pixel and append the pixel's two coordinates, from −1 to 1."""

    def __init__(self, rows: int, columns: int) -> None:
        super().__init__()
        self.rows, self.columns = rows, columns
        sides = (torch.linspace(-1, 1, count) for count in (rows, columns))
        self.register_buffer(
            "places", torch.stack(torch.meshgrid(*sides, indexing="ij"))[None], persistent=False
        )

    def forward(self, z: Tensor) -> Tensor:
        """z (B, width) → (B, width + 2, rows, columns)."""
        places: Tensor = self.get_buffer("places")
        tiled = z[:, :, None, None].expand(-1, -1, self.rows, self.columns)
        return torch.cat([tiled, places.to(z.dtype).expand(z.shape[0], -1, -1, -1)], dim=1)


def mlp(
    shape: Shape,
    parameters: int,
    width: int,
    outputs: Shape | None = None,
    hidden: int = 256,
    layers: int = 2,
) -> Networks:
    """``layers`` dense layers of ``hidden`` units, for observations of any shape."""
    return dense_pair(shape, parameters, width, outputs, [hidden] * layers, [hidden] * layers)


def resnet(
    shape: Shape,
    parameters: int,
    width: int,
    outputs: Shape | None = None,
    channels: int = 32,
    hidden: int = 256,
) -> Networks:
    """Residual networks for images of any size (He et al. 2016), with one block per halving of the sides.

    Sides are halved, rounded up, until none exceeds 4; the channels double up to four times as many. The
    decoder goes back through the same sides. There is no BatchNorm, so batches may have any size.
    """
    there, middle, back = there_and_back(image_sides(shape, "resnet"), shape[0], channels)
    size = math.prod(middle)
    inside: list[nn.Module] = []
    for before, after in there:
        inside += [nn.Conv2d(before, after, 3, stride=2, padding=1), Residual(after)]
    outside: list[nn.Module] = []
    for side, before, after in back:
        outside += [Residual(before), Resize(side), nn.Conv2d(before, after, 3, padding=1), nn.ReLU()]
    return Networks(
        nn.Sequential(*inside, nn.ReLU(), *flat_end(size, hidden, parameters)),
        nn.Sequential(
            *dense([width, hidden, size]),
            nn.Unflatten(1, middle),
            *outside,
            nn.Conv2d(channels, (outputs or shape)[0], 3, padding=1),
        ),
    )


def broadcast(
    shape: Shape,
    parameters: int,
    width: int,
    outputs: Shape | None = None,
    channels: int = 64,
    layers: int = 4,
    hidden: int = 256,
) -> Networks:
    """The spatial broadcast decoder (Watters et al. 2019), for images of any size.

    The latents are repeated at every pixel beside the pixel's coordinates, and ``layers`` convolutions of
    stride 1 follow: positions become easy to represent. Kernels are 3×3, padded; the encoder has ``layers``
    convolutions that halve the sides.
    """
    rows, columns = image_sides(shape, "broadcast")
    rest = halvings((rows, columns), layers)[layers]
    inside, outside = [shape[0], *[channels] * layers], [width + 2, *[channels] * layers]
    down_again = [
        layer
        for pair in itertools.pairwise(inside)
        for layer in (nn.Conv2d(*pair, 3, stride=2, padding=1), nn.ReLU())
    ]
    flat = [
        layer for pair in itertools.pairwise(outside) for layer in (nn.Conv2d(*pair, 3, padding=1), nn.ReLU())
    ]
    size = channels * math.prod(rest)
    return Networks(
        nn.Sequential(*down_again, *flat_end(size, hidden, parameters)),
        nn.Sequential(
            Broadcast(rows, columns), *flat, nn.Conv2d(channels, (outputs or shape)[0], 3, padding=1)
        ),
    )


def conv1d(
    shape: Shape,
    parameters: int,
    width: int,
    outputs: Shape | None = None,
    channels: int = 32,
    hidden: int = 128,
) -> Networks:
    """Convolutions over time, for signals (C, T) or (T,) of any length.

    The length is halved, rounded up, until it is at most 4; the channels double up to four times as many.
    """
    if len(shape) not in (1, 2):
        raise DistaffError(f"conv1d networks need signals (C, T) or (T,), not {tuple(shape)}.")
    outputs = outputs or shape
    alone = len(shape) == 1
    parts, length = (1, shape[0]) if alone else shape
    if alone and outputs[0] % length:
        raise DistaffError(
            f"conv1d networks are for signals, not for columns of several kinds ({length} numbers in, "
            f"{outputs[0]} out): use --network mlp."
        )
    there, middle, back = there_and_back((length,), parts, channels)
    size = math.prod(middle)
    inside: list[nn.Module] = [nn.Unflatten(1, (1, length))] if alone else []
    for before, after in there:
        inside += [nn.Conv1d(before, after, 5, stride=2, padding=2), nn.ReLU()]
    outside: list[nn.Module] = []
    for side, before, after in back:
        outside += [Resize(side), nn.Conv1d(before, after, 5, padding=2), nn.ReLU()]
    last = nn.Conv1d(channels, outputs[0] // length if alone else outputs[0], 5, padding=2)
    return Networks(
        nn.Sequential(*inside, *flat_end(size, hidden, parameters)),
        nn.Sequential(
            *dense([width, hidden, size]),
            nn.Unflatten(1, middle),
            *outside,
            last,
            *([nn.Flatten()] if alone else []),
        ),
    )
