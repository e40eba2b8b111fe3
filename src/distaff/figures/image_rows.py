"""Images: grids, originals with reconstructions, samples from the prior."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from distaff.codes import as_array
from distaff.figures.checked_arrays import Array, named, pictures
from distaff.figures.montage import fitting_size, show
from distaff.figures.style import SMALL, bare_figure, dress, heading
from distaff.foundation.errors import DistaffError


def image_grid(
    images: Any,
    *,
    columns: int | None = None,
    row_labels: Sequence[str] | None = None,
    column_labels: Sequence[str] | None = None,
    breaks: Collection[int] = (),
    title: str | None = None,
) -> Figure:
    """Images in rows and columns, as in the FactorVAE paper's Fig. 26 (reconstructions under varied noise).

    Args:
        images: (R, C, channels, H, W), or (N, channels, H, W), which is arranged in ``columns``.
        columns: images per row if ``images`` is a list of N; by default the grid is about square.
        row_labels: one text per row, to its left.
        column_labels: one text per column, below it.
        breaks: rows with a wider gap above them.
        title: title above the figure.

    Returns:
        A figure of R × C images.

    See also: ``samples``, ``reconstructions`` and ``traversals``, grids for a specific purpose.

    >>> figure = image_grid(np.random.default_rng(0).random((2, 5, 3, 16, 16)), row_labels=["a", "b"])
    """
    if as_array(images).ndim == 4:
        images = wrap(pictures("images", images, "N"), columns)
    elif columns is not None:
        raise DistaffError("columns is for a list of images (N, C, H, W); these are in rows already.")
    grid = pictures("images", images, "rows columns")
    if row_labels is not None:
        row_labels = named("row_labels", row_labels, grid.shape[0])
    if column_labels is not None:
        column_labels = named("column_labels", column_labels, grid.shape[1])
    margin = 0.22 * (title is not None) + 0.2 * (column_labels is not None)
    figure, _ = grid_axes(grid, row_labels, column_labels, breaks, margin)
    heading(figure, title)
    return figure


def samples(images: Any, *, columns: int | None = None, title: str | None = None) -> Figure:
    """Images decoded from samples of the prior, as in the FactorVAE paper's Fig. 19 to 22.

    Args:
        images: (N, C, H, W) in [0, 1].
        columns: images per row; by default the grid is about square.
        title: title above the figure.

    Returns:
        A figure of N images.

    See also: ``reconstructions``, images decoded from data.

    >>> figure = samples(np.random.default_rng(0).random((12, 1, 16, 16)))
    """
    return image_grid(pictures("samples", images, "N"), columns=columns, title=title)


def reconstructions(
    originals: Any, reconstructions: Any, *, columns: int = 10, title: str | None = None
) -> Figure:
    """Originals with their reconstructions below: the first two rows of the FactorVAE paper's Fig. 3 and 6.

    Args:
        originals: (n, C, H, W) in [0, 1].
        reconstructions: (n, C, H, W) reconstructions of the originals.
        columns: pairs per row.
        title: title above the figure.

    Returns:
        A figure of n pairs.

    See also: ``traversals``, which shows them above the rows of the latents.

    >>> images = np.random.default_rng(0).random((4, 1, 16, 16))
    >>> figure = reconstructions(images, images / 2)
    """
    above, below = paired(originals, reconstructions)
    above, below = wrap(above, min(columns, len(above))), wrap(below, min(columns, len(below)))
    rows = np.stack([above, below], axis=1).reshape(-1, *above.shape[1:])
    labels = ["original", "reconstruction"] * len(above)
    return image_grid(rows, row_labels=labels, breaks=range(2, len(rows), 2), title=title)


def grid_axes(
    images: Array,
    row_labels: Sequence[str] | None = None,
    column_labels: Sequence[str] | None = None,
    breaks: Collection[int] = (),
    margin: float = 0.0,
) -> tuple[Figure, Axes]:
    """A figure with images (R, C, channels, H, W) and their labels, with ``margin`` inches for other text."""
    width, height = fitting_size(images, label_width(row_labels or ()), len(breaks))
    figure = bare_figure((width, height + margin))
    axes = figure.subplots()
    dress(axes)
    show(axes, images, row_labels, column_labels, breaks)
    return figure, axes


def paired(originals: Any, reconstructions: Any) -> tuple[Array, Array]:
    """Both as image arrays of the same shape, or an error that says how they differ."""
    above = pictures("originals", originals, "n")
    below = pictures("reconstructions", reconstructions, "n")
    if above.shape != below.shape:
        raise DistaffError(f"originals have the shape {above.shape} but reconstructions {below.shape}.")
    return above, below


def wrap(images: Array, columns: int | None = None) -> Array:
    """Images (N, C, H, W) as rows (R, columns, C, H, W), with the last row filled up with white."""
    if columns is None:
        columns = min(len(images), max(1, round(np.sqrt(1.6 * len(images)))))
    if columns < 1:
        raise DistaffError(f"columns must be 1 or more, not {columns}.")
    missing = -len(images) % columns
    white = np.ones((missing, *images.shape[1:]))
    return np.concatenate([images, white]).reshape(-1, columns, *images.shape[1:])


def label_width(labels: Sequence[str]) -> float:
    """The approximate width in inches of the longest of ``labels`` in small type."""
    return 0.1 + max((len(text) for text in labels), default=0) * SMALL * 0.55 / 72
