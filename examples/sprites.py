"""A world small enough for seconds of training: a bright square of four sizes somewhere on 16 × 16 pixels."""

import numpy as np

from distaff.data import Dataset, from_array

SIDE = 16
SIZES, PLACES = 4, 9


def sprites() -> Dataset:
    """All 4 × 9 × 9 combinations of size, x and y, the last changing fastest."""
    size, x, y = np.indices((SIZES, PLACES, PLACES)).reshape(3, -1, 1, 1)
    rows, columns = np.indices((SIDE, SIDE))
    reach = 1.5 + 0.75 * size
    inside = (abs(rows - y - 3.5) < reach) & (abs(columns - x - 3.5) < reach)
    factors = np.stack([size, x, y], axis=-1).reshape(-1, 3)
    return from_array(inside, factors, ["size", "x", "y"], name="sprites")
