"""Bringing images to another size."""

from dataclasses import replace

import numpy as np
import torch
from torch.nn.functional import interpolate

from distaff.data.dataset import Dataset
from distaff.data.images import ByteImages
from distaff.foundation.errors import DistaffError
from distaff.foundation.progress import progress

ROWS = 1024
LONGEST, LARGEST = 8192, 64 << 30
"""Pixels per side that images may be brought to, and bytes that all of them may take then."""


def check_side(side: int) -> None:
    """Refuse sides that no image should have."""
    if not 1 <= side <= LONGEST:
        raise DistaffError(f"resize is a number of pixels per side from 1 to {LONGEST:,}, not {side}.")


def resized(data: Dataset, side: int) -> Dataset:
    """A data set with its images scaled, in memory; grey levels are kept to 1/255.

    Args:
        data: images (C, H, W).
        side: their height and width in pixels from now on.

    Returns:
        Images (C, side, side) with the same factors.
    """
    if len(data.shape) != 3:
        raise DistaffError(f"{data.name} holds vectors of shape {data.shape}, which cannot be resized.")
    check_side(side)
    if data.shape[1:] == (side, side):
        return data
    size = len(data) * data.shape[0] * side * side
    if size > LARGEST:
        raise DistaffError(f"{data.name} at {side}×{side} pixels would take {size:,} bytes: resize it less.")
    scaled = np.empty((len(data), data.shape[0], side, side), np.uint8)
    for start in progress(range(0, len(data), ROWS), f"scaling to {side}×{side}"):
        batch = data.images[start : start + ROWS]
        # Bilinear, averaged over the source pixels when images shrink.
        batch = interpolate(batch, (side, side), mode="bilinear", antialias=True)
        scaled[start : start + ROWS] = (batch.clamp(0, 1) * 255).round().to(torch.uint8).numpy()
    return replace(data, images=ByteImages(scaled))
