"""Figures: arrays in, a matplotlib ``Figure`` out; nothing here needs a model or a run.

- functions that make a whole figure, such as ``traversals``, ``trade_off`` or ``information_matrix``;
- ``save`` and ``render``: any figure as a PNG, PDF or SVG file, or as its bytes;
- ``style`` and the drawing functions ``band``, ``histogram`` and ``show`` (a grid of images): for your own
  figures in the same style.

To add a figure, write one function here that checks its arrays (``checked_arrays.py``), draws with
``style`` and returns a ``Figure``: it is found automatically, as ``distaff.figures.NAME``. The imports below
are for editors and type checkers. A figure that only one paper needs belongs next to that paper's study.
>>> from distaff import figures
>>> figure = figures.kl_bars([2.3, 0.01, 1.1])
>>> [axes.get_ylabel() for axes in figure.axes]
['KL to the prior (nats)']
"""

from collections.abc import Callable

from matplotlib.figure import Figure

from distaff.figures import style
from distaff.figures.bars import informativeness_bars, kl_bars, scores_by_factor
from distaff.figures.comparison import agreement, scores_by_setting, trade_off
from distaff.figures.curves import band, curves_by_setting, training_curves
from distaff.figures.histograms import histogram, marginals
from distaff.figures.image_rows import image_grid, reconstructions, samples
from distaff.figures.matrices import (
    correlation_matrices,
    information_matrix,
    match_latents,
    matched_latents,
    misjed_map,
)
from distaff.figures.montage import show
from distaff.figures.plane import plane
from distaff.figures.score_ranges import scores_and_nulls
from distaff.figures.sensitivity import metric_sensitivity
from distaff.figures.style import render, save
from distaff.figures.traversal import side_by_side, top_latents, traversals
from distaff.foundation.binding import functions_of_files

__all__ = [
    "agreement",
    "band",
    "correlation_matrices",
    "curves_by_setting",
    "histogram",
    "image_grid",
    "information_matrix",
    "informativeness_bars",
    "kl_bars",
    "marginals",
    "match_latents",
    "matched_latents",
    "metric_sensitivity",
    "misjed_map",
    "plane",
    "reconstructions",
    "render",
    "samples",
    "save",
    "scores_and_nulls",
    "scores_by_factor",
    "scores_by_setting",
    "show",
    "side_by_side",
    "style",
    "top_latents",
    "trade_off",
    "training_curves",
    "traversals",
]


def names() -> tuple[str, ...]:
    """The names of all figures: the public functions in the files of this room that return a ``Figure``."""
    return tuple(sorted(_found()))


def __getattr__(name: str) -> Callable[..., Figure]:
    """A figure in this room that is not among the imports above."""
    found = {} if name.startswith("_") else _found()
    if name not in found:
        raise AttributeError(f"module 'distaff.figures' has no attribute {name!r}")
    return found[name]


def _found() -> dict[str, Callable[..., Figure]]:
    found: dict[str, Callable[..., Figure]] = {
        name: function
        for name, function in functions_of_files(__name__, __path__)
        if function.__annotations__.get("return") is Figure and function.__module__ != style.__name__
    }
    # Importing a module has set it under its own name, which belongs to the figure of the same name.
    globals().update(found)
    return found


def __dir__() -> list[str]:
    return __all__
