"""One self-contained HTML page from facts, tables, figures, code and text: no network, no other files.

>>> html = page("A run", [Facts({"recipe": "factor_vae", "FactorVAE score": 0.82})])
"""

import base64
import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from itertools import groupby
from typing import Any, Literal

import numpy as np
from matplotlib.figure import Figure

from distaff._version import __version__
from distaff.figures.style import render
from distaff.foundation.errors import DistaffError

SCREEN = 130.0
"""Pixels an inch of a figure takes on the page: a paper's small type is larger on a screen."""


WIDE = 600
"""Pictures of more pixels than this scroll sideways on a small screen instead of shrinking beyond reading."""


@dataclass(frozen=True)
class Link:
    """A table's cell that leads somewhere: to a file beside the page, or to an http(s) address."""

    text: str
    address: str


Cell = str | int | float | bool | None | Link | tuple[float, float, float]
"""A value, or (value, low, high) for one with its interval; ``None`` and NaN are missing and sort last."""


@dataclass(frozen=True)
class Facts:
    """What a reader wants to know first, as labelled tiles."""

    facts: Mapping[str, Cell]
    title: str | None = None


@dataclass(frozen=True)
class Table:
    """A table that sorts by any column when its header is clicked; a column of numbers is one throughout."""

    headers: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    title: str | None = None
    caption: str | None = None


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure, which ``alt`` describes in words; PNG is smaller than SVG for figures made of many images."""

    figure: Figure
    alt: str
    title: str | None = None
    caption: str | None = None
    kind: Literal["svg", "png"] = "svg"


@dataclass(frozen=True)
class Code:
    """Commands or settings, word for word; ``folded`` shows only the title until it is clicked."""

    code: str
    title: str | None = None
    folded: bool = False


@dataclass(frozen=True)
class Text:
    """Paragraphs, parted by empty lines."""

    text: str
    title: str | None = None


Block = Facts | Table | Picture | Code | Text


def page(title: str, blocks: Sequence[Block]) -> str:
    """The HTML of a page: its title, links to titled blocks, the blocks; neighbouring pictures share rows."""
    assets = files("distaff.figures") / "assets"
    style, script = ((assets / name).read_text("utf-8") for name in ("page.css", "page.js"))
    policy = (
        f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = [(f"part-{i}", block) for i, block in enumerate(blocks, 1)]
    entries = [f'<li><a href="#{at}">{escape(one.title)}</a></li>' for at, one in parts if one.title]
    contents = f'<nav aria-label="Contents"><ul>{"".join(entries)}</ul></nav>' if len(entries) > 2 else ""
    body = ""
    for pictures, group in groupby(parts, lambda part: isinstance(part[1], Picture)):
        inner = "".join(_block(block, anchor) + "\n" for anchor, block in group)
        body += f'<div class="pictures">\n{inner}</div>\n' if pictures else inner
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="distaff {__version__}">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
{contents}
{body}<footer>Made by distaff {__version__}.</footer>
</main>
<script>{script}</script>
</body>
</html>
"""


def _block(block: Block, anchor: str) -> str:
    heading = f'<h2 id="{anchor}">{escape(block.title)}</h2>\n' if block.title else ""
    match block:
        case Facts(facts):
            tiles = (
                f"<div><dt>{escape(name)}</dt><dd>{_text(value)}</dd></div>" for name, value in facts.items()
            )
            return f"{heading}<dl>{''.join(tiles)}</dl>"
        case Table():
            return heading + _table(block)
        case Picture():
            return _picture(block, heading)
        case Code(code, title, folded):
            listing = f'<pre tabindex="0"><code>{escape(code)}</code></pre>'
            if folded:
                listing = f"<details><summary>Show {escape(title or 'code')}</summary>{listing}</details>"
            return heading + listing
        case Text(text):
            paragraphs = (part.strip() for part in text.split("\n\n"))
            return heading + "\n".join(f"<p>{escape(part)}</p>" for part in paragraphs if part)


def _table(table: Table) -> str:
    for i, row in enumerate(table.rows):
        if len(row) != len(table.headers):
            raise DistaffError(f"row {i} of the table has {len(row)} cells for {len(table.headers)} headers.")
    rows = [[_plain(cell) for cell in row] for row in table.rows]
    numeric = [
        any(_is_number(row[c]) for row in rows)
        and all(_is_number(row[c]) or _missing(row[c]) for row in rows)
        for c in range(len(table.headers))
    ]
    kinds = [' class="number"' if one else "" for one in numeric]
    header = "".join(
        f'<th scope="col"{kind}><button type="button">{escape(name)}</button></th>'
        for name, kind in zip(table.headers, kinds, strict=True)
    )
    forms = [_number_format(row[c] for row in rows) for c in range(len(table.headers))]
    lines = "".join(
        "<tr>"
        + "".join(
            f"<td{kind}{_sort_key(cell)}>{_text(cell, form)}</td>"
            for cell, kind, form in zip(row, kinds, forms, strict=True)
        )
        + "</tr>\n"
        for row in rows
    )
    name = escape(table.title or table.caption or "table")
    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{name}"><table>{caption}'
        f"<thead><tr>{header}</tr></thead>\n<tbody>\n{lines}</tbody></table></div>"
    )


def _picture(picture: Picture, heading: str) -> str:
    content = base64.b64encode(render(picture.figure, picture.kind)).decode()
    media = {"svg": "image/svg+xml", "png": "image/png"}[picture.kind]
    width, height = (round(SCREEN * side) for side in picture.figure.get_size_inches())
    image = (
        f'<img src="data:{media};base64,{content}" alt="{escape(picture.alt)}" '
        f'width="{width}" height="{height}">'
    )
    if width > WIDE:
        image = (
            f'<div class="wide" role="region" tabindex="0" aria-label="{escape(picture.alt)}">{image}</div>'
        )
    caption = f"<figcaption>{escape(picture.caption)}</figcaption>" if picture.caption else ""
    return f"<figure>{heading}{image}{caption}</figure>"


def _plain(cell: Any) -> Cell:
    """Numbers of numpy and pandas as Python's own."""
    plain: Cell = cell.item() if isinstance(cell, np.generic) else cell
    return plain


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, int | float | tuple) and not isinstance(cell, bool) and not _missing(cell)


def _missing(cell: Cell) -> bool:
    value = cell[0] if isinstance(cell, tuple) else cell
    return value is None or (isinstance(value, float) and math.isnan(value))


def _sort_key(cell: Cell) -> str:
    """What the page's script sorts a cell by; a missing value has none."""
    if _missing(cell):
        return ""
    value = cell[0] if isinstance(cell, tuple) else cell.text if isinstance(cell, Link) else cell
    key = str(value).replace("inf", "Infinity") if isinstance(value, float) else str(value)
    return f' data-sort="{escape(key)}"'


def _number_format(column: Iterable[Cell]) -> str:
    """A format that writes a column's numbers with the same decimals, as many as four digits of each need."""
    numbers = [part for cell in column if isinstance(cell, float | tuple) for part in np.atleast_1d(cell)]
    texts = [f"{number:.4g}" for number in numbers]
    decimals = max((len(text.partition(".")[2]) for text in texts), default=0)
    return ".4g" if decimals > 4 or any("e" in text for text in texts) else f".{decimals}f"


def _text(cell: Cell, form: str = ".4g") -> str:
    """A cell's HTML: floats in the given format, with a true minus sign."""
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
        case tuple():
            value, low, high = (_text(part, form) for part in cell)
            return f"{value} [{low}, {high}]"
        case Link(text, address):
            return f'<a href="{escape(_safe(address))}">{escape(text)}</a>'
        case _:
            return escape(str(cell))


def _safe(address: str) -> str:
    """The address, unless a click on it could run something."""
    scheme, colon, _ = address.partition(":")
    if colon and "/" not in scheme and scheme.lower() not in ("http", "https"):
        raise DistaffError(
            f"links lead to files beside the page or to http(s) addresses, not to {address!r}."
        )
    return address


def _hash(source: str) -> str:
    digest = hashlib.sha256(source.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
