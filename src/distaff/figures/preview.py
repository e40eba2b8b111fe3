"""A contact sheet of a data set: one row for each factor, varied while the others stay."""

import numpy as np
from matplotlib.figure import Figure

from distaff.data.dataset import Dataset
from distaff.data.images import IntArray
from distaff.figures.image_rows import image_grid
from distaff.figures.plane import plane
from distaff.foundation.errors import DistaffError

MOST_POINTS, MOST_CLASSES = 5000, 10
"""Vectors that are drawn as points, and classes that these still tell apart."""

MOST_FACTORS, RANDOM_ROWS = 12, 5


def preview(data: Dataset, columns: int = 10, seed: int = 0) -> Figure:
    """One row of images per factor; random images where no factor is known; points of the plane for vectors.

    On a grid a row varies its factor from the first class to the last around one random combination;
    elsewhere it shows a random observation of each class (or, of a real factor, in rising order).

    Args:
        data: images (C, H, W), or vectors (D,) of which the first two numbers are drawn.
        columns: images per row, at most.
        seed: of the random choice.

    Returns:
        A figure with one row per factor.

    See also: ``image_grid``, for images of your own choice.

    >>> from distaff.data import pinwheel
    >>> figure = preview(pinwheel.load())
    """
    if len(data.shape) == 1:
        return _points(data)
    rows = _rows(data, columns, np.random.default_rng(seed))
    channels = data.shape[0] if data.shape[0] in (1, 3) else 1
    sheet = np.ones((len(rows), columns, channels, *data.shape[1:]))
    for line, indices in zip(sheet, rows.values(), strict=True):
        images = data.images[indices].numpy()
        line[: len(images)] = images if channels == data.shape[0] else images.mean(axis=1, keepdims=True)
    return image_grid(sheet, row_labels=list(rows))


def _rows(data: Dataset, columns: int, rng: np.random.Generator) -> dict[str, IntArray]:
    if data.factors is None:
        return {f"{row + 1}": rng.integers(0, len(data), columns) for row in range(RANDOM_ROWS)}
    if data.is_grid:
        base = rng.integers(0, data.sizes)
        return {name: _varied(base, k, data.sizes, columns) for k, name in enumerate(data.names)}
    return {name: _spread(data.column(name), columns, rng) for name in data.names[:MOST_FACTORS]}


def _varied(base: IntArray, factor: int, sizes: tuple[int, ...], columns: int) -> IntArray:
    count = min(columns, sizes[factor])
    combinations = np.tile(base, (count, 1))
    combinations[:, factor] = np.linspace(0, sizes[factor] - 1, count).round()
    rows: IntArray = np.ravel_multi_index(tuple(combinations.T), sizes)
    return rows


def _spread(column: IntArray, columns: int, rng: np.random.Generator) -> IntArray:
    """A random row of each of ``columns`` classes or values, from the lowest to the highest."""
    present = np.unique(column)
    shown = present[np.linspace(0, len(present) - 1, min(columns, len(present))).round().astype(int)]
    return np.array([rng.choice(np.flatnonzero(column == value)) for value in shown])


def _points(data: Dataset) -> Figure:
    if data.shape[0] < 2:
        raise DistaffError(f"{data.name} holds numbers of one dimension, which make no picture.")
    few = data.factors is not None and 0 < data.sizes[0] <= MOST_CLASSES
    classes = data.column(data.names[0])[:MOST_POINTS] if few else None
    return plane(data.images[:MOST_POINTS].numpy()[:, :2], classes)
