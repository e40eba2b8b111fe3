"""Notebook views of objects: a title and a small table whose cells may be bars, images and curves.

>>> html = snippet("mig 0.25", "locatello19", rows=[("scale", Bar(0.5)), ("shape", Bar(0.0))])
>>> html.count("<tr>"), "width:50%" in html
(2, True)
"""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from jinja2 import Template

MOST_ROWS = 24
"""Maximum number of rows in a snippet; it says how many more there are."""
TALL = 56
"""Height of images on the screen, in pixels."""
POINTS = 200
"""Number of points of a curve."""


@dataclass(frozen=True)
class Bar:
    """A number with a bar, which is full if the number is at least ``full``."""

    value: float
    full: float = 1.0

    @property
    def text(self) -> str:
        """The number with three decimals and a true minus sign."""
        return f"{self.value:.3f}".replace("-", "−")

    @property
    def percent(self) -> int:
        """The length of the bar."""
        share = self.value / self.full if self.full > 0 and np.isfinite(self.value) else 0.0
        return round(100 * min(max(share, 0.0), 1.0))


@dataclass(frozen=True, eq=False)
class Strip:
    """Images side by side.

    Args:
        images: (n, C, H, W) with values in [0, 1]; one, three or four channels are shown directly, others as
            their mean; NaN is transparent.
    """

    images: NDArray[Any]

    @property
    def count(self) -> int:
        """The number of images."""
        return len(self.images)

    @property
    def height(self) -> int:
        """The height on the screen, in pixels."""
        return max(TALL, min(int(self.images.shape[-2]), 2 * TALL))

    @property
    def source(self) -> str:
        """All images as one PNG, as a data URL."""
        from PIL import Image

        images = self.images if self.images.shape[1] in (1, 3, 4) else self.images.mean(1, keepdims=True)
        framed = np.pad(images, ((0, 0), (0, 0), (0, 0), (0, 2)), constant_values=np.nan)
        picture = np.concatenate(list(framed), axis=-1).transpose(1, 2, 0)
        clear = np.isnan(picture[..., :1])
        solid = picture[..., 3:] if picture.shape[-1] == 4 else np.ones_like(picture[..., :1])
        colours = np.broadcast_to(picture[..., :3], (*picture.shape[:2], 3))
        pixels = np.concatenate([colours, np.where(clear, 0, solid)], axis=-1)
        with io.BytesIO() as file:
            Image.fromarray((255 * np.nan_to_num(pixels).clip(0, 1)).round().astype(np.uint8)).save(
                file, "PNG"
            )
            return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


@dataclass(frozen=True, eq=False)
class Curve:
    """A signal as a small line."""

    values: NDArray[Any]

    @property
    def points(self) -> str:
        """The points of the line within 100 × 24."""
        values = np.nan_to_num(self.values[:: max(1, len(self.values) // POINTS)])
        low, high = float(values.min()), float(values.max())
        heights = 23 - 22 * (values - low) / ((high - low) or 1.0)
        across = np.linspace(0, 100, len(values))
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, heights, strict=True))


Cell = str | int | float | Bar | Strip | Curve | None


def snippet(
    title: str,
    about: str = "",
    *,
    headers: Sequence[str] = (),
    rows: Sequence[Sequence[Cell]] = (),
    notes: Sequence[str] = (),
) -> str:
    """The HTML of an object for ``_repr_html_``; every text is escaped.

    Args:
        title: the title.
        about: text next to the title.
        headers: the names of the columns.
        rows: the rows of the table; the first 24 are shown.
        notes: sentences below the table.
    """
    left = len(rows) - MOST_ROWS
    more = [f"… and {left:,} more."] if left > 0 else []
    return _template().render(
        title=title, about=about, headers=headers, rows=rows[:MOST_ROWS], notes=[*more, *notes]
    )


@cache
def _template() -> "Template":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("distaff.foundation", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    for kind in (Bar, Strip, Curve):
        environment.tests[kind.__name__.lower()] = lambda cell, kind=kind: isinstance(cell, kind)
    environment.filters["text"] = _text
    return environment.get_template("snippet.html")


def _text(cell: Cell) -> str:
    match cell:
        case None:
            return "–"
        case bool():
            return "yes" if cell else "no"
        case float():
            return f"{cell:.4g}".replace("-", "−")
        case int():
            return f"{cell:,}"
        case _:
            return str(cell)
