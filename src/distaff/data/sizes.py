"""Scale images to another size."""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import interpolate, pad

from distaff.data.dataset import Dataset
from distaff.data.images import ByteImages, FloatImages, Scaled
from distaff.data.pictures import Fit
from distaff.foundation.errors import DistaffError
from distaff.foundation.progress import progress

ROWS = 1024
LONGEST, LARGEST = 8192, 64 << 30
"""Maximum side in pixels of scaled images, and maximum size in bytes of all of them."""


def check_side(side: int) -> None:
    """Raise an error for an unreasonable image size."""
    if not 1 <= side <= LONGEST:
        raise DistaffError(f"resize is a number of pixels per side from 1 to {LONGEST:,}, not {side}.")


def resized(data: Dataset, side: int | tuple[int, int], fit: Fit = "squash", levels: bool = True) -> Dataset:
    """A data set with its images scaled, in memory; grey levels are kept to 1/255.

    ``side`` is in pixels, or (height, width). Without ``levels``, images are stored as floats.
    """
    if len(data.shape) != 3:
        held = "signals" if len(data.shape) == 2 else f"rows of {data.shape[0]} numbers"
        raise DistaffError(f"{data.name} holds {held}, and only images can be scaled: leave out --resize.")
    size = (side, side) if isinstance(side, int) else side
    for length in size:
        check_side(length)
    if data.shape[1:] == size:
        how = data.arrangement
        return replace(data, arrangement=replace(how, fit=fit)) if isinstance(how, Scaled) else data
    kind = np.dtype(np.uint8 if levels else np.float32)
    taken = len(data) * data.shape[0] * size[0] * size[1] * kind.itemsize
    if taken > LARGEST:
        raise DistaffError(
            f"{data.name} at {size[0]}×{size[1]} pixels would take {taken:,} bytes: resize it less."
        )
    scaled = np.empty((len(data), data.shape[0], *size), kind)
    for start in progress(range(0, len(data), ROWS), f"scaling to {size[0]}×{size[1]}"):
        batch = _fitted(data.images[start : start + ROWS], size, fit).clamp(0, 1)
        kept = (batch * 255).round().to(torch.uint8) if levels else batch
        scaled[start : start + ROWS] = kept.numpy()
    how = data.arrangement
    if isinstance(how, Scaled):
        how = replace(how, shape=scaled.shape[1:], fit=fit)
    return replace(data, images=ByteImages(scaled) if levels else FloatImages(scaled), arrangement=how)


def _fitted(batch: Tensor, size: tuple[int, int], fit: Fit) -> Tensor:
    (height, width), (tall, wide) = batch.shape[2:], size
    inner = size
    if fit != "squash":
        choose = max if fit == "crop" else min
        scale = choose(tall / height, wide / width)
        inner = (max(1, round(height * scale)), max(1, round(width * scale)))
    # Bilinear, averaging over source pixels if images shrink.
    batch = interpolate(batch, inner, mode="bilinear", antialias=True)
    top, left = (inner[0] - tall) // 2, (inner[1] - wide) // 2
    # Negative padding crops.
    return pad(batch, (-left, wide - inner[1] + left, -top, tall - inner[0] + top))
