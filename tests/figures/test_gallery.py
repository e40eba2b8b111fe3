"""What holds for every figure on realistic data: it fits a paper, its text is legible, nothing is cut off."""

import inspect
import warnings
from itertools import pairwise

import matplotlib.text
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from distaff import figures
from distaff.figures.style import PAGE
from tests.figures.gallery import GALLERY


def test_every_public_figure_is_in_the_gallery():
    public = {
        name
        for name, value in vars(figures).items()
        if inspect.isfunction(value) and inspect.signature(value).return_annotation is Figure
    }
    assert public <= set(GALLERY)
    assert len(public) >= 30


@pytest.fixture(scope="module", params=sorted(GALLERY))
def drawn(request):
    """A figure of the gallery laid out, with its renderer."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = GALLERY[request.param]()
        canvas = FigureCanvasAgg(figure)
        figure.draw_without_rendering()
    return figure, canvas.get_renderer()


def written(figure):
    return [
        text
        for text in figure.findobj(matplotlib.text.Text)
        if text.get_visible() and text.get_text().strip()
    ]


def test_it_fits_the_width_of_a_paper_and_its_text_is_legible(drawn):
    figure, _ = drawn
    assert figure.get_figwidth() <= PAGE + 0.01
    assert figure.get_figheight() <= 10
    assert all(text.get_fontsize() >= 5.5 for text in written(figure))


def test_nothing_is_cut_off(drawn):
    figure, renderer = drawn
    box = figure.get_tightbbox(renderer)
    width, height = figure.get_size_inches()
    assert min(box.x0, box.y0) >= -0.02
    assert box.x1 <= width + 0.02
    assert box.y1 <= height + 0.02


def test_tick_labels_do_not_run_into_each_other(drawn):
    figure, renderer = drawn
    for axes in figure.axes:
        low, high = sorted(axes.get_xlim())
        boxes = [
            text.get_window_extent(renderer)
            for text in axes.get_xticklabels()
            if low <= text.get_position()[0] <= high and text.get_text() and text.get_rotation() in (0, 90)
        ]
        boxes.sort(key=lambda box: box.x0)
        assert all(left.x1 <= right.x0 for left, right in pairwise(boxes)), axes.get_title()
