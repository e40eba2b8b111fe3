"""Layers of networks that take images and signals of any size, not only multiples of 16."""

import itertools
import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from distaff.foundation.errors import DistaffError

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
