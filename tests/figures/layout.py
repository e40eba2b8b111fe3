"""What holds for every figure: it fits a paper, its text is legible, nothing is cut off, no labels touch."""

import warnings
from itertools import pairwise

import matplotlib.text
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_agg import RendererAgg as Renderer
from matplotlib.figure import Figure

from distaff.figures.style import PAGE


def laid_out(figure: Figure) -> Renderer:
    """Lay the figure out; any warning of matplotlib's is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        canvas = FigureCanvasAgg(figure)
        figure.draw_without_rendering()
    return canvas.get_renderer()


def fits_a_paper_and_is_legible(figure: Figure) -> None:
    assert figure.get_figwidth() <= PAGE + 0.01
    assert figure.get_figheight() <= 10
    written = [
        text
        for text in figure.findobj(matplotlib.text.Text)
        if text.get_visible() and text.get_text().strip()
    ]
    assert all(text.get_fontsize() >= 5.5 for text in written)


def is_not_cut_off(figure: Figure, renderer: Renderer) -> None:
    box = figure.get_tightbbox(renderer)
    width, height = figure.get_size_inches()
    assert min(box.x0, box.y0) >= -0.02
    assert box.x1 <= width + 0.02
    assert box.y1 <= height + 0.02


def ticks_do_not_touch(figure: Figure, renderer: Renderer) -> None:
    for axes in figure.axes:
        low, high = sorted(axes.get_xlim())
        boxes = [
            text.get_window_extent(renderer)
            for text in axes.get_xticklabels()
            if low <= text.get_position()[0] <= high and text.get_text() and text.get_rotation() in (0, 90)
        ]
        boxes.sort(key=lambda box: box.x0)
        assert all(left.x1 <= right.x0 for left, right in pairwise(boxes)), axes.get_title()
