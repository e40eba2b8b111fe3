"""One style for every figure: the column widths of a paper, colours for any colour vision, legible text.

Everything is set on the artists themselves and never through matplotlib's global ``rcParams`` or ``pyplot``,
so figures can be drawn in several threads and no global state changes.
"""

import threading
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import EngFormatter, MaxNLocator

from distaff.foundation.errors import unknown
from distaff.foundation.files import atomic_file

COLUMN, PAGE = 3.25, 6.75
"""Widths in inches: one column of a two-column paper, and both."""

TEXT, SMALL, TITLE = 8.0, 7.0, 8.5
"""Font sizes in points: axis labels; ticks, legends and notes; titles."""

INK, MUTED, FAINT = "#222222", "#666666", "#dddddd"
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colours, distinct for any colour vision, without their yellow, too faint on white."""

ON_LIGHT_CELL, ON_DARK_CELL = "#212121", "#fefefe"
"""Text and frames over the cells of a heat map, the same on dark pages."""

HALO = [withStroke(linewidth=2.0, foreground="white")]
"""Keeps text legible over lines."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":")
ORDERED, AMOUNT, SIGNED = "viridis", "Blues", "PuOr"
"""Colour maps, uniform in lightness: ordered values and densities; amounts from white; values around zero."""

DPI = 200
_ON_SCREEN = 110
"""Pixels per inch in a notebook."""
FORMATS = ("png", "pdf", "svg")

_saving = threading.Lock()


class _ShownFigure(Figure):
    """A figure that notebooks display, which otherwise works only for figures of ``pyplot``."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        width, height = (round(_ON_SCREEN * side) for side in self.get_size_inches())
        return render(self, "png"), {"width": width, "height": height}


def bare_figure(size: tuple[float, float]) -> Figure:
    """An empty white figure of (width, height) in inches, with automatic layout."""
    return _ShownFigure(size, dpi=DPI, layout="constrained", facecolor="white")


def panels(
    rows: int = 1,
    columns: int = 1,
    *,
    width: float = COLUMN,
    height: float = 2.1,
    share_x: bool | Literal["row", "col"] = False,
    share_y: bool | Literal["row", "col"] = False,
) -> tuple[Figure, list[list[Axes]]]:
    """A figure ``width`` inches wide with rows × columns of styled axes, each row ``height`` inches high."""
    figure = bare_figure((width, height * rows))
    axes = figure.subplots(rows, columns, squeeze=False, sharex=share_x, sharey=share_y)
    for one in axes.flat:
        dress(one)
    return figure, axes.tolist()


def small_multiples(
    count: int, columns: int, *, width: float | None = None, height: float
) -> tuple[Figure, list[Axes]]:
    """A figure with ``count`` styled axes, at most ``columns`` per row; a single one is a column wide."""
    columns = max(1, min(columns, count))
    width = width or (COLUMN if columns == 1 else PAGE)
    figure, grid = panels(-(-count // columns), columns, width=width, height=height)
    axes = [one for row in grid for one in row]
    for unused in axes[count:]:
        unused.remove()
    return figure, axes[:count]


def dress(axes: Axes) -> None:
    """Apply the common style to axes."""
    axes.set_facecolor("white")
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(MUTED)
    axes.tick_params(labelsize=SMALL, colors=INK, color=MUTED, length=2.5)
    axes.grid(axis="y", color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)


def label(axes: Axes, x: str | None = None, y: str | None = None, title: str | None = None) -> None:
    """Write the labels and the title of axes in the common font sizes."""
    if x is not None:
        axes.set_xlabel(x, fontsize=TEXT, color=INK)
    if y is not None:
        axes.set_ylabel(y, fontsize=TEXT, color=INK)
    if title is not None:
        axes.set_title(title, fontsize=TITLE, color=INK)


def heading(figure: Figure, title: str | None) -> None:
    """Write a title above the whole figure, if there is one."""
    if title is not None:
        figure.suptitle(title, fontsize=TITLE, color=INK)


LEGEND: dict[str, Any] = {
    "title_fontsize": SMALL,
    "fontsize": SMALL,
    "labelcolor": INK,
    "facecolor": "white",
    "edgecolor": "none",
    "handlelength": 1.4,
    "columnspacing": 1.0,
    "borderaxespad": 0.2,
}
"""The style of every legend."""


def legend(axes: Axes, title: str | None = None, columns: int = 1) -> None:
    """Draw a legend of the labelled artists where it hides least."""
    drawn = axes.legend(title=title, ncols=columns, framealpha=0.8, **LEGEND)
    drawn.get_title().set_color(INK)


def legend_beside(figure: Figure, *axes: Axes, title: str | None = None, columns: int = 1) -> None:
    """Draw a legend for some panels below the whole figure, outside the panels, ``columns`` wide."""
    labelled = [pair for one in axes for pair in zip(*one.get_legend_handles_labels(), strict=True)]
    handles, names = zip(*labelled, strict=True)
    drawn = figure.legend(handles, names, loc="outside lower center", title=title, ncols=columns, **LEGEND)
    drawn.get_title().set_color(INK)


def count_axis(axes: Axes) -> None:
    """Format a horizontal axis of step or sample counts as 50 k, 0.3 M."""
    axes.xaxis.set_major_formatter(EngFormatter(sep=" "))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))


Colour = str | tuple[float, float, float, float]


def colours_for(values: Iterable[object]) -> dict[object, Colour]:
    """A colour for each value: dark to light for numbers such as β, from the palette for names.

    The palette repeats after seven names: combine it with MARKERS or DASHES if there may be more.
    """
    keys = list(dict.fromkeys(values))
    if keys and all(isinstance(key, int | float) for key in keys):
        shades = np.linspace(0, 0.85, len(keys))
        return {key: mpl.colormaps[ORDERED](shade) for key, shade in zip(keys, shades, strict=True)}
    return {key: PALETTE[i % len(PALETTE)] for i, key in enumerate(keys)}


def render(figure: Figure, kind: str) -> bytes:
    """The figure as the bytes of a file, which are the same every time.

    Args:
        figure: any matplotlib figure.
        kind: ``"png"``, ``"pdf"`` or ``"svg"``.

    Returns:
        The file's content.
    """
    if kind not in FORMATS:
        raise unknown("figure format", kind, FORMATS)
    dates = {"png": {"Software": None}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}
    # Type 42 keeps text selectable and is accepted by publishers; rcParams are global, hence the lock.
    with _saving, mpl.rc_context({"pdf.fonttype": 42, "svg.hashsalt": "distaff"}), BytesIO() as buffer:
        figure.savefig(buffer, format=kind, dpi=DPI, metadata=dates[kind])
        return buffer.getvalue()


def save(figure: Figure, path: str | Path) -> Path:
    """Write the figure to a file atomically.

    Args:
        figure: any matplotlib figure.
        path: ending in .png, .pdf or .svg; its folder is created if needed.

    Returns:
        The path.
    """
    path = Path(path)
    content = render(figure, path.suffix.removeprefix(".").lower())
    with atomic_file(path) as temporary:
        temporary.write_bytes(content)
    return path
