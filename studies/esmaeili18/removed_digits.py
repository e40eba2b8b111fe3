"""The digits that a model of Fig. 9 never saw, with measurements of their strokes."""

from dataclasses import replace

import numpy as np

from distaff import Dataset
from distaff.data import measure_strokes, mnist


def load() -> Dataset:
    """The thick 7s and narrow 0s of MNIST, with ``digit``, ``thickness`` and ``width`` of each."""
    removed = mnist.load(zero_shot="removed")
    factors = np.column_stack([removed.column("digit"), measure_strokes(removed.images)])
    return replace(
        removed, factors=factors, names=("digit", "thickness", "width"), sizes=(10, 0, 0), factor_values=None
    )
