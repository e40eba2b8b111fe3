"""A contact sheet of a data set: one row per factor, which varies while the others stay fixed."""

from pathlib import Path
from typing import Annotated

import numpy as np
from annotated_types import Ge, Le
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from distaff.codes import FloatArray
from distaff.data.arrangements import Table
from distaff.data.dataset import SAMPLE, Dataset
from distaff.data.images import IntArray
from distaff.data.opening import open_told
from distaff.data.pictures import Fit
from distaff.data.splits import some_rows
from distaff.foundation.colours import on_a_screen
from distaff.foundation.errors import DistaffError
from distaff.foundation.snippets import Cell, Curve, Strip, snippet
from distaff.foundation.text import told_options

ON_A_SHEET = 8
"""Number of observations per row in a notebook."""


def preview(data: Dataset, columns: int = 10, seed: int = 0) -> Figure:
    """One row of images or signals per factor; random ones if no factor is known; a scatter plot for vectors.

    On a grid, a row varies its factor from the first class to the last around one random combination;
    otherwise it shows a random observation of each class (for a real factor, in rising order).
    """
    if len(data.shape) == 1:
        return _scatter(data)
    rng = np.random.default_rng(seed)
    rows = _rows(data, columns, rng)
    figure = Figure(figsize=(0.8 * columns + 1.4, 0.8 * len(rows) + 0.4), layout="constrained")
    axes = figure.subplots(len(rows), columns, squeeze=False)
    for line, (label, indices) in zip(axes, rows.items(), strict=True):
        line[0].set_ylabel(label, rotation=0, ha="right", va="center")
        for place, observation in zip(line, data.images[indices], strict=False):
            _draw(place, observation.numpy())
        for place in line:
            place.set(xticks=[], yticks=[])
            place.set_frame_on(False)
    return figure


def _draw(place: Axes, observation: FloatArray) -> None:
    """An image (C, H, W), or the channels of a signal (C, T) as curves."""
    if observation.ndim == 2:
        place.plot(observation.T, linewidth=1)
        return
    picture = on_a_screen(observation).transpose(1, 2, 0)
    place.imshow(picture.squeeze(-1) if picture.shape[-1] == 1 else picture, cmap="gray", vmin=0, vmax=1)


def contact_sheet(data: Dataset) -> str:
    """The contact sheet as HTML for a notebook: rows of images or signals; for vectors, column statistics."""
    title, about = data.name, repr(data).removeprefix(f"{data.name}: ")
    if len(data.shape) == 1:
        how, some = data.arrangement, data.images[some_rows(len(data), SAMPLE)].numpy()
        if isinstance(how, Table):  # in the user's units
            widths = [column.width for column in how.columns]
            scales, means = (
                np.repeat([getattr(c, n) for c in how.columns], widths) for n in ("scale", "mean")
            )
            some = some * scales + means
        stats = (np.nanmean(some, 0), np.nanstd(some, 0), np.nanmin(some, 0), np.nanmax(some, 0))
        named = how.headings if isinstance(how, Table) else [f"{d}" for d in range(some.shape[1])]
        rows: list[list[Cell]] = [[name, *(float(stat[d]) for stat in stats)] for d, name in enumerate(named)]
        headers = ["column", "mean", "standard deviation", "least", "most"]
        notes = [f"Of {len(some):,} observations."]
        return snippet(title, about, headers=headers, rows=rows, notes=notes)
    shown = _rows(data, ON_A_SHEET, np.random.default_rng(0))
    drawn: list[list[Cell]] = []
    for row, indices in shown.items():
        images = data.images[indices].numpy()
        pictures = [Strip(images)] if len(data.shape) == 3 else [Curve(signal[0]) for signal in images[:4]]
        drawn.append([row if data.factors is not None else "", *pictures])
    return snippet(title, about, rows=drawn)


def save_preview(data: Dataset, out: str | Path, columns: int = 10, seed: int = 0) -> Path:
    """Draw the contact sheet of ``data`` into an image file and return its path."""
    path = Path(out)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        preview(data, columns, seed).savefig(path, dpi=150)
    except (OSError, ValueError) as problem:
        raise DistaffError(
            f"{path} cannot be drawn ({problem}): give the name of a .png, .pdf or .svg file."
        ) from problem
    return path


def draw_preview(
    name: str,
    *,
    out: str = "preview.png",
    resize: Annotated[int, Ge(1)] | None = None,
    fit: Fit | None = None,
    range: str | None = None,
    skip_bad: bool = False,
    data_options: str | None = None,
    columns: Annotated[int, Ge(1), Le(200)] = 10,
    seed: Annotated[int, Ge(0)] = 0,
) -> Path:
    """Draw a contact sheet of a data set: one row per factor, which varies while the others stay fixed.

    Args:
        name: name of a data set, a file or a folder.
        out: file of the picture.
        resize: side to which images are resized.
        fit: how images that are not square are resized: crop, pad or squash.
        range: the values that are black and white: min-max, percentiles, signed or 0:4095.
        skip_bad: leave out images that do not decode, instead of stopping at the first.
        data_options: further options of the data set's load function, such as part=test.
        columns: images per row.
        seed: seed of the choice of observations.
    """
    told = told_options(data_options, resize=resize, fit=fit, range=range, skip_bad=skip_bad)
    data = open_told(name, None, told)
    return save_preview(data, out, columns, seed)


def _rows(data: Dataset, columns: int, rng: np.random.Generator) -> dict[str, IntArray]:
    if data.factors is None:
        return {f"{row + 1}": rng.integers(0, len(data), columns) for row in range(5)}
    if data.is_grid:
        base = rng.integers(0, data.sizes)
        return {name: _varied(base, k, data.sizes, columns) for k, name in enumerate(data.names)}
    return {name: _spread(data.column(name), columns, rng) for name in data.names[:12]}


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


def _scatter(data: Dataset) -> Figure:
    if data.shape[0] < 2:
        raise DistaffError(f"{data.name} holds numbers of one dimension, which cannot be drawn.")
    points = data.images[:5000].numpy()
    colours = None if data.factors is None else data.factors[:5000, 0]
    figure = Figure(figsize=(5, 5), layout="constrained")
    axes = figure.subplots()
    axes.scatter(points[:, 0], points[:, 1], c=colours, s=6, cmap=None if colours is None else "tab10")
    axes.set(aspect="equal", title=data.name)
    return figure
