"""One self-contained HTML page from facts, tables, figures, code and text: no network, no other files.

>>> html = page("A run", [Facts({"recipe": "factor_vae", "FactorVAE score": 0.82})])
>>> "<dt>FactorVAE score</dt><dd>0.82</dd>" in html
True
"""

import base64
import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any, Literal

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from matplotlib.figure import Figure

from distaff._version import __version__
from distaff.figures.dark import svg_for_both_schemes
from distaff.figures.style import render
from distaff.foundation.errors import DistaffError

SCREEN = 130.0
"""Pixels per inch of a figure on the page: small print for paper is larger on a screen."""


ASSETS = ("page.css", "page.js")
WIDE = 600
"""Pictures wider than this many pixels scroll sideways on a small screen instead of becoming unreadable."""


@dataclass(frozen=True)
class Link:
    """A table cell with a link: to a file next to the page, or to an http(s) address."""

    text: str
    address: str


@dataclass(frozen=True)
class Short:
    """A table cell or fact in short, with its full text for those who point at it."""

    text: str
    full: str


Cell = str | int | float | bool | None | Link | Short | tuple[float, float, float]
"""A value, or (value, low, high) for one with an interval; ``None`` and NaN are missing and sort last."""


@dataclass(frozen=True)
class Facts:
    """The key facts, as labelled tiles."""

    facts: Mapping[str, Cell]
    title: str | None = None


@dataclass(frozen=True)
class Table:
    """A table that sorts by a column when its header is clicked; a numeric column has only numbers."""

    headers: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    title: str | None = None
    caption: str | None = None


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure, with ``alt`` as its description in words.

    SVG follows the reader's colour scheme; PNG, always on white, is smaller for tens of thousands of lines.
    """

    figure: Figure
    alt: str
    title: str | None = None
    caption: str | None = None
    kind: Literal["svg", "png"] = "svg"


@dataclass(frozen=True)
class Code:
    """Commands or settings, verbatim; ``folded`` shows only the title until it is clicked."""

    code: str
    title: str | None = None
    folded: bool = False


@dataclass(frozen=True)
class Text:
    """Paragraphs, separated by empty lines."""

    text: str
    title: str | None = None


Block = Facts | Table | Picture | Code | Text


def page(title: str, blocks: Sequence[Block], reload: int | None = None) -> str:
    """The HTML of a page: title, links to titled blocks, and the blocks; neighbouring pictures share rows.

    A browser loads it again after ``reload`` seconds, if it is updated.

    Returns:
        A complete document, whose policy allows only its own style and script.
    """
    style, script = ((files("distaff.figures") / "assets" / name).read_text("utf-8") for name in ASSETS)
    parts = [(f"part-{i}", block) for i, block in enumerate(blocks, 1)]
    groups = groupby(parts, lambda part: isinstance(part[1], Picture))
    return _template().render(
        title=title,
        contents=[(anchor, block) for anchor, block in parts if block.title],
        groups=[(pictures, list(group)) for pictures, group in groups],
        style=style,
        script=script,
        policy=content_policy(style, script),
        version=__version__,
        wide=WIDE,
        reload=reload,
    )


def content_policy(style: str, script: str) -> str:
    """A Content-Security-Policy that allows only this style, this script and images inside the page."""
    hashes = (
        f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"
        for source in (style, script)
    )
    return (
        "default-src 'none'; img-src data:; style-src {}; script-src {}; base-uri 'none'; form-action 'none'"
    ).format(*hashes)


@cache
def _template() -> Template:
    """The page's template, which escapes everything inserted into it."""
    environment = Environment(
        loader=PackageLoader("distaff.figures", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    for kind in (Facts, Table, Code, Link, Short):
        environment.tests[kind.__name__.lower()] = lambda block, kind=kind: isinstance(block, kind)
    environment.tests["missing"] = _missing
    environment.filters |= {
        "columns": _columns,
        "paragraphs": lambda text: filter(None, map(str.strip, text.split("\n\n"))),
        "pixels": lambda picture: [round(SCREEN * side) for side in picture.figure.get_size_inches()],
        "safe_address": _safe_address,
        "sort_key": _sort_key,
        "source": _source,
        "text": _text,
    }
    return environment.get_template("page.html")


@dataclass(frozen=True)
class _Column:
    """A column of a table: whether it is numeric, and the format of its numbers."""

    header: str
    numeric: bool
    form: str


def _columns(table: Table) -> list[_Column]:
    for i, row in enumerate(table.rows):
        if len(row) != len(table.headers):
            raise DistaffError(f"row {i} of the table has {len(row)} cells for {len(table.headers)} headers.")
    columns = []
    for c, header in enumerate(table.headers):
        known = [cell for row in table.rows if not _missing(cell := _plain(row[c]))]
        numeric = bool(known) and all(
            isinstance(cell, int | float | tuple) and not isinstance(cell, bool) for cell in known
        )
        columns.append(_Column(header, numeric, _number_format(known)))
    return columns


def _source(picture: Picture) -> str:
    """The figure as a data URL."""
    if picture.kind == "png":
        return f"data:image/png;base64,{base64.b64encode(render(picture.figure, 'png')).decode()}"
    return f"data:image/svg+xml;base64,{base64.b64encode(svg_for_both_schemes(picture.figure)).decode()}"


def _plain(cell: Any) -> Cell:
    """Convert numbers of numpy and pandas to Python's."""
    plain: Cell = cell.item() if isinstance(cell, np.generic) else cell
    return plain


def _missing(cell: Cell) -> bool:
    value = _plain(cell[0] if isinstance(cell, tuple) else cell)
    return value is None or (isinstance(value, float) and math.isnan(value))


def _sort_key(cell: Cell) -> str:
    """The key by which the page's script sorts a cell."""
    value = _plain(cell[0] if isinstance(cell, tuple) else cell)
    if isinstance(value, Link | Short):
        return value.text
    return str(value).replace("inf", "Infinity") if isinstance(value, float) else str(value)


def _number_format(column: Iterable[Cell]) -> str:
    """A format that gives all numbers of a column the same decimals, enough for four digits of each."""
    numbers = [part for cell in column if isinstance(cell, float | tuple) for part in np.atleast_1d(cell)]
    texts = [f"{number:.4g}" for number in numbers]
    decimals = max((len(text.partition(".")[2]) for text in texts), default=0)
    return ".4g" if decimals > 4 or any("e" in text for text in texts) else f".{decimals}f"


def _text(cell: Cell, form: str) -> str:
    """The text of a cell: floats in the given format, with a true minus sign."""
    cell = _plain(cell)
    if _missing(cell):
        return "–"
    match cell:
        case bool():
            return "yes" if cell else "no"
        case float():
            return f"{cell:{form}}".replace("-", "−")
        case int():
            return f"{cell:,}".replace("-", "−").replace(",", "\N{NARROW NO-BREAK SPACE}")
        case Link() | Short():
            return cell.text
        case tuple():
            value, low, high = (_text(part, form) for part in cell)
            return f"{value} [{low}, {high}]"
        case _:
            return str(cell)


def _safe_address(address: str) -> str:
    """The address, or an error if a click on it could run code."""
    scheme, colon, _ = address.partition(":")
    if colon and "/" not in scheme and scheme.lower() not in ("http", "https"):
        raise DistaffError(
            f"links lead to files beside the page or to http(s) addresses, not to {address!r}."
        )
    return address
