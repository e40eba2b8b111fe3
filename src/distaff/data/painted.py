"""Images painted over those of another store: each with its own random numbers, always the same."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from distaff.data.images import Images, Indices, as_rows, is_single

Paint = Callable[[NDArray[np.float32], np.random.Generator], NDArray[np.float32]]
"""(a mask (1, H, W) of 0 and 1, random generator) → an image (3, H, W)."""


class PaintedImages:
    """White shapes on black, painted when read: image n uses the random numbers of (seed, n)."""

    def __init__(self, shapes: Images, paint: Paint, seed: int = 0) -> None:
        self.shapes, self.paint, self.seed = shapes, paint, seed
        self.shape = (3, *shapes.shape[1:])

    def __len__(self) -> int:
        return len(self.shapes)

    def __getitem__(self, indices: Indices) -> Tensor:
        rows = as_rows(indices, len(self))
        masks = self.shapes[rows].numpy()
        batch = np.empty((len(rows), *self.shape), np.float32)
        for image, mask, row in zip(batch, masks, rows.tolist(), strict=True):
            image[:] = self.paint(mask, np.random.default_rng((self.seed, row)))
        painted = torch.from_numpy(batch)
        return painted[0] if is_single(indices) else painted
