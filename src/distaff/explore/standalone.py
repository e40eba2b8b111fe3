"""The page as one file with precomputed traversals, for readers without Python or the run."""

import io
from pathlib import Path

import numpy as np
from PIL import Image

from distaff._version import __version__
from distaff.explore.loaded_run import LoadedRun
from distaff.explore.render import Pixels
from distaff.explore.server import asset
from distaff.explore.session import Json, Session, text
from distaff.figures.html import content_policy
from distaff.foundation.files import json_text, write_text

STARTS = 6
"""Number of observations to start from."""

STEPS = 13
"""Number of positions of a slider."""

COLUMNS = 16
"""Number of pictures per row of a sheet."""


def export_page(session: Session, path: Path) -> Path:
    """Write the explorer of a session to ``path``, with each latent's traversals of some observations.

    The page looks like the live one, but moves one latent at a time.
    """
    write_text(path, _inlined(json_text(frozen(session))))
    return path


def frozen(session: Session) -> Json:
    """Everything that the page shows, including pictures."""
    data = session.runs[0].data
    chosen = np.random.default_rng(0).choice(len(data), min(STARTS, len(data)), replace=False)
    starts = [session.start_at(int(index)) for index in np.sort(chosen)]
    for start in starts:
        together = zip(session.runs, start["values"], strict=True)
        start["sheets"] = [_sheet(run, values) for run, values in together]
    return {
        **session.describe(STEPS),
        "starts": starts,
        "columns": COLUMNS,
        "factors": [run.factors() for run in session.runs],
        "version": __version__,
    }


def _sheet(run: LoadedRun, values: list[float]) -> str:
    """A PNG as a data URL: every latent's steps one after another, then the reconstruction."""
    cells = np.concatenate([run.traverse(values, STEPS), run.decode([values])])
    return f"data:image/png;base64,{text(_png(tiled(cells, COLUMNS)))}"


def tiled(cells: Pixels, columns: int) -> Pixels:
    """Pictures (N, h, w, C) in a grid (rows · h, columns · w, C), with empty cells black."""
    count, height, width, channels = cells.shape
    rows = -(-count // columns)
    filled = np.zeros((rows * columns, height, width, channels), np.uint8)
    filled[:count] = cells
    grid = filled.reshape(rows, columns, height, width, channels).transpose(0, 2, 1, 3, 4)
    return grid.reshape(rows * height, columns * width, channels)


def _png(pixels: Pixels) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _inlined(content: str) -> str:
    """The page with its style, scripts and content inside, and a policy that forbids everything else."""
    style, script = asset("explorer.css"), asset("charts.js") + asset("frozen.js") + asset("explorer.js")
    policy = content_policy(style, script)
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>'
    # "</script>" inside a name would end the element early; JSON may write "<" as an escape.
    data = content.replace("<", "\\u003c")
    body = f'<script type="application/json" id="frozen">{data}</script>\n<script>{script}</script>'
    return _between(_between(asset("index.html"), "STYLE", head), "SCRIPTS", body)


def _between(page: str, mark: str, content: str) -> str:
    """The page with the part between two comments replaced."""
    before, _, rest = page.partition(f"<!-- {mark} -->")
    return before + content + rest.partition(f"<!-- /{mark} -->")[2]
