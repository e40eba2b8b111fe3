"""Many small images as one picture: far fewer artists than one axes per image, and even gaps."""

from collections.abc import Collection, Sequence
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.patches import Rectangle

from distaff.figures.checked_arrays import Array
from distaff.figures.style import COLUMN, INK, PAGE, SMALL

GAP = 0.06
"""White space between images, as a fraction of an image's side."""

TALLEST = 9.0
"""The height of a page in inches, which limits the height of grids."""


def montage(images: Array, breaks: Collection[int] = ()) -> Array:
    """Images (R, C, channels, H, W) as one picture (height, width, 3) on white; ``breaks`` get wide gaps."""
    high, wide = images.shape[-2:]
    tops, lefts = _offsets(len(images), high, wide, breaks), _offsets(images.shape[1], wide, wide)
    canvas = np.ones((tops[-1] + high, lefts[-1] + wide, 3))
    for row, top in zip(images, tops, strict=True):
        for image, left in zip(row, lefts, strict=True):
            canvas[top : top + high, left : left + wide] = image.transpose(1, 2, 0)
    return canvas


def show(
    axes: Axes,
    images: Array,
    row_labels: Sequence[str] | None = None,
    column_labels: Sequence[str] | None = None,
    breaks: Collection[int] = (),
) -> None:
    """Draw images (R, C, channels, H, W) on bare axes, with labels to the left and below."""
    high, wide = images.shape[-2:]
    picture = montage(images, breaks)
    axes.imshow(picture, vmin=0, vmax=1)
    tops, lefts = _offsets(len(images), high, wide, breaks), _offsets(images.shape[1], wide, wide)
    # The gaps are drawn over the picture, so that they take the background colour of a (dark) page.
    between = [
        Rectangle((-0.5, top + high - 0.5), picture.shape[1], after - top - high)
        for top, after in pairwise(tops)
    ]
    between += [
        Rectangle((left + wide - 0.5, -0.5), after - left - wide, picture.shape[0])
        for left, after in pairwise(lefts)
    ]
    axes.add_collection(
        PatchCollection(between, facecolor="white", linewidth=0, antialiased=False), autolim=False
    )
    axes.spines[:].set_visible(False)
    axes.grid(False)
    axes.tick_params(length=0, labelsize=SMALL, colors=INK)
    axes.set_yticks([])
    axes.set_xticks([])
    if row_labels is not None:
        axes.set_anchor("E")  # leave spare room to the labels
        axes.set_yticks([top + (high - 1) / 2 for top in tops], row_labels)
    if column_labels is not None:
        axes.set_xticks([left + (wide - 1) / 2 for left in lefts], column_labels)


def _offsets(count: int, side: int, wide: int, breaks: Collection[int] = ()) -> list[int]:
    """The start of each of ``count`` images of length ``side``, in pixels."""
    gap = max(1, round(GAP * wide))
    return [i * (side + gap) + 2 * gap * sum(at <= i for at in breaks) for i in range(count)]


def fitting_size(images: Array, beside: float = 0.0, breaks: int = 0) -> tuple[float, float]:
    """Width and height in inches of a grid of images (R, C, channels, H, W) with ``beside`` inches of labels.

    An image is at most 0.65 inches wide, and a grid at most one page high and one or two columns wide.
    """
    rows, columns, _, high, wide = images.shape
    width = COLUMN if columns * 0.6 + beside <= COLUMN else PAGE
    pitch = min((width - beside) / columns, 0.65)
    height = pitch * (rows * (high / wide + GAP) + 2 * GAP * breaks) / (1 + GAP)
    if height > TALLEST:
        pitch, height = pitch * TALLEST / height, TALLEST
    return max(pitch * columns + beside, 1.0), height
