"""Heat maps: information about factors, and dependence, correlation and matching of latents."""

import math
from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from scipy.optimize import linear_sum_assignment

from distaff.figures import style
from distaff.figures.checked_arrays import Array, filled, named, numbers
from distaff.figures.style import label, small_multiples
from distaff.foundation.errors import DistaffError

CELL = 0.3
"""The side of a cell in inches, if there is room."""

LETTERS = 11
"""Number of characters of a run's name per inch of the figure, excluding labels and margins."""

WRITTEN = 12
"""With up to this many columns, numbers are written in the cells."""


def information_matrix(
    matrices: Mapping[str, Any],
    factors: Sequence[str],
    latents: Sequence[str] | None = None,
    *,
    unit: str = "I(z; y) (nats)",
) -> Figure:
    """Latents × factors: mutual information or importances, a panel per version: Do & Tran's Fig. 23.

    Args:
        matrices: title → (D, K).
        factors: K names.
        latents: D names; z0 … by default.
        unit: the meaning of the colours.

    Returns:
        A figure with one panel of D × K cells per version.

    See also: ``misjed_map``, latents against latents; ``top_latents``, the images behind the numbers.

    >>> figure = information_matrix({"": [[1.5, 0.1], [0.0, 2.6]]}, ["scale", "x position"])
    """
    arrays = {title: numbers(title or "matrix", matrix, "D K") for title, matrix in matrices.items()}
    return _maps(arrays, latents, factors, unit, limits=(0, None))


def misjed_map(
    misjed: Mapping[str, Any], names: Sequence[str] | None = None, *, informativeness: Any = None
) -> Figure:
    """MISJED of all pairs of latents, a panel per model: Do & Tran's Fig. 11 and 15.

    Args:
        misjed: model → (D, D) normalised scores; low for separated and informative pairs.
        names: D names; z0 … by default.
        informativeness: model → (D,), to order the latents from most to least informative.

    Returns:
        A figure with one panel of D × D cells per model.

    See also: ``correlation_matrices``; ``distaff.metrics.misjed``, which computes the values.

    >>> figure = misjed_map({"AAE": [[0.1, 0.4], [0.4, 0.2]]}, informativeness={"AAE": [0.5, 0.9]})
    """
    arrays = {model: _square(model, matrix) for model, matrix in misjed.items()}
    if informativeness is None:
        return _maps(arrays, names, names, "MISJED (normalised)", limits=(0, None))
    if informativeness.keys() != arrays.keys():
        raise DistaffError(f"informativeness is for {list(informativeness)} but MISJED for {list(arrays)}.")
    order = {
        model: np.argsort(-numbers(model, informativeness[model], "D"), kind="stable") for model in arrays
    }
    for model, matrix in arrays.items():
        if len(order[model]) != len(matrix):
            raise DistaffError(
                f"{model}: {len(order[model])} informativeness values for {len(matrix)} latents."
            )
    ordered = {model: matrix[np.ix_(order[model], order[model])] for model, matrix in arrays.items()}
    rows = {model: [named("names", names, len(order[model]))[i] for i in order[model]] for model in arrays}
    return _maps(ordered, rows, rows, "MISJED (normalised)", limits=(0, None))


def correlation_matrices(correlations: Mapping[str, Any], names: Sequence[str] | None = None) -> Figure:
    """Correlations of latents, such as those of samples and of means side by side: Do & Tran's Fig. 20.

    Args:
        correlations: title → (D, D) in [−1, 1].
        names: D names, such as latents or metrics; z0 … by default.

    Returns:
        A figure with one panel of D × D cells per matrix.

    See also: ``agreement``, the points behind one cell; ``matched_latents``, the latents of two runs.

    >>> figure = correlation_matrices({"of means": [[1.0, -0.2], [-0.2, 1.0]]})
    """
    arrays = {title: _square(title, matrix) for title, matrix in correlations.items()}
    return _maps(arrays, names, names, "correlation", limits=(-1, 1))


def match_latents(similarity: Any) -> list[tuple[int, int]]:
    """The one-to-one pairs (row, column) of latents with the largest total |similarity|, best first.

    Args:
        similarity: (D, E) similarity of the latents of two runs.

    Returns:
        min(D, E) pairs.

    >>> match_latents([[0.1, -0.9], [0.8, 0.3]])
    [(0, 1), (1, 0)]
    """
    strength = np.abs(numbers("similarity", similarity, "D E", finite=True))
    rows, columns = linear_sum_assignment(strength, maximize=True)
    pairs = [(int(i), int(j)) for i, j in zip(rows, columns, strict=True)]
    return sorted(pairs, key=lambda pair: -strength[pair])


def matched_latents(
    similarity: Any,
    *,
    runs: tuple[str, str] = ("run A", "run B"),
    names: tuple[Sequence[str] | None, Sequence[str] | None] = (None, None),
    unit: str = "correlation",
) -> Figure:
    """The latents of two runs in matching order, with the pairs framed on the diagonal: Do & Tran's A.18.

    Args:
        similarity: (D, E), such as the correlation of the first run's latents with the second's.
        runs: the names of the runs.
        names: the names of the latents in each run.
        unit: the meaning of the colours; signed values lie in [−1, 1].

    Returns:
        A figure of D × E cells.

    See also: ``match_latents``, the pairs as numbers; ``side_by_side``, their traversals.

    >>> figure = matched_latents([[0.1, -0.9], [0.8, 0.3]], runs=("seed 0", "seed 1"))
    """
    matrix = numbers("similarity", similarity, "D E")
    pairs = match_latents(matrix)
    rows = _matched_first([i for i, _ in pairs], matrix.shape[0])
    columns = _matched_first([j for _, j in pairs], matrix.shape[1])
    first, second = (named("names", given, count) for given, count in zip(names, matrix.shape, strict=True))
    figure = _maps(
        {"": matrix[np.ix_(rows, columns)]},
        [first[i] for i in rows],
        [second[j] for j in columns],
        unit,
        limits=(-1, 1) if matrix.min() < 0 else (0, None),
    )
    axes = figure.axes[0]
    for k in range(len(pairs)):
        axes.add_patch(
            Rectangle((k - 0.5, k - 0.5), 1, 1, fill=False, edgecolor=style.ON_LIGHT_CELL, linewidth=1.4)
        )
    tallest, widest = (LETTERS * side for side in reversed(figure.get_size_inches()))
    label(axes, x=fill(runs[1], max(8, int(widest))), y=fill(runs[0], max(8, int(tallest))))
    return figure


Names = Sequence[str] | Mapping[str, Sequence[str]] | None


def _maps(
    matrices: Mapping[str, Array], rows: Names, columns: Names, unit: str, limits: tuple[float, float | None]
) -> Figure:
    """Heat maps with a common colour scale and one colour bar."""
    filled("matrices", matrices)
    low, high = limits
    if high is None:
        high = max(float(np.nanmax(matrix)) for matrix in matrices.values()) or 1.0
    high_cells, wide_cells = (max(matrix.shape[axis] for matrix in matrices.values()) for axis in (0, 1))
    across = min(len(matrices), 3)
    margin, bar_width = 0.45, 0.65
    cell = min((style.PAGE - bar_width) / across - margin, CELL * wide_cells) / wide_cells
    width = across * (cell * wide_cells + margin) + bar_width
    figure, axes = small_multiples(len(matrices), 3, width=width, height=cell * high_cells + 0.6)
    for one, (title, matrix) in zip(axes, matrices.items(), strict=True):
        names = [names[title] if isinstance(names, Mapping) else names for names in (rows, columns)]
        image = _heat(one, matrix, low, high)
        texts = named("rows", names[0], matrix.shape[0]), named("columns", names[1], matrix.shape[1])
        every = math.ceil((style.SMALL + 1) / (72 * cell))
        one.set_yticks(range(0, matrix.shape[0], every), texts[0][::every])
        one.set_xticks(range(0, matrix.shape[1], every), texts[1][::every])
        if max(map(len, texts[1])) * 0.65 * style.SMALL > 72 * cell:
            one.tick_params(axis="x", rotation=90)
        label(one, title=title)
    bar = figure.colorbar(image, ax=axes, shrink=0.8, pad=0.02)
    bar.set_label(unit, fontsize=style.TEXT, color=style.INK)
    bar.ax.tick_params(labelsize=style.SMALL, colors=style.INK)
    bar.outline.set_visible(False)
    return figure


def _heat(axes: Axes, matrix: Array, low: float, high: float) -> AxesImage:
    signed = low < 0
    image = axes.imshow(matrix, cmap=style.SIGNED if signed else style.AMOUNT, vmin=low, vmax=high)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    if matrix.shape[1] <= WRITTEN:
        for (row, column), value in np.ndenumerate(matrix):
            part = (value - low) / (high - low)
            dark = abs(part - 0.5) > 0.35 if signed else part > 0.6
            text = axes.text(column, row, _cell(value), ha="center", va="center")
            text.set(fontsize=style.SMALL - 1.5, color=style.ON_DARK_CELL if dark else style.ON_LIGHT_CELL)
    return image


def _cell(value: float) -> str:
    """Two decimals without the leading zero, to keep cells narrow: .07, −.30, 1.25; empty for NaN."""
    if np.isnan(value):
        return ""
    text = f"{value:.2f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.2f}"
    return text.replace("-", "−")


def _square(what: str, matrix: Any) -> Array:
    array = numbers(what or "matrix", matrix, "D D")
    if array.shape[0] != array.shape[1]:
        raise DistaffError(f"{what} must be a square matrix, not {array.shape}.")
    return array


def _matched_first(matched: list[int], count: int) -> list[int]:
    return [*matched, *(i for i in range(count) if i not in matched)]
