"""Bringing images to another size."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import interpolate

from distaff.data.dataset import Dataset
from distaff.data.images import ByteImages, Images
from distaff.foundation.errors import DistaffError
from distaff.foundation.progress import progress

ROWS = 1024


def resized(data: Dataset, side: int) -> Dataset:
    """``data`` with its images scaled to ``side`` × ``side``, in memory; grey levels are kept to 1/255."""
    if len(data.shape) != 3:
        raise DistaffError(f"{data.name} holds vectors of shape {data.shape}, which cannot be resized.")
    if data.shape[1:] == (side, side):
        return data
    images = ByteImages(resize_images(data.images, side))
    return Dataset(images, data.factors, data.names, data.sizes, data.factor_values, data.name)


def resize_images(images: Images, side: int) -> NDArray[np.uint8]:
    """(N, C, side, side) bytes: bilinear, averaged over the source pixels when images shrink."""
    scaled = np.empty((len(images), images.shape[0], side, side), np.uint8)
    for start in progress(range(0, len(images), ROWS), f"scaling to {side}×{side}"):
        batch = interpolate(images[start : start + ROWS], (side, side), mode="bilinear", antialias=True)
        levels = (batch.clamp(0, 1) * 255).round().to(torch.uint8)
        scaled[start : start + ROWS] = levels.numpy()
    return scaled
