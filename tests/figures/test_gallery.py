"""What holds for every figure on realistic data: it fits a paper, its text is legible, nothing is cut off."""

import inspect

import pytest
from matplotlib.figure import Figure

from distaff import figures
from tests.figures import layout
from tests.figures.gallery import GALLERY


def test_every_public_figure_is_in_the_gallery():
    public = {
        name
        for name, value in vars(figures).items()
        if inspect.isfunction(value) and inspect.signature(value).return_annotation is Figure
    }
    assert public <= set(GALLERY)
    assert len(public) >= 20


@pytest.fixture(scope="module", params=sorted(GALLERY))
def drawn(request):
    """A figure of the gallery laid out, with its renderer."""
    figure = GALLERY[request.param]()
    return figure, layout.laid_out(figure)


def test_it_fits_the_width_of_a_paper_and_its_text_is_legible(drawn):
    layout.fits_a_paper_and_is_legible(drawn[0])


def test_nothing_is_cut_off(drawn):
    layout.is_not_cut_off(*drawn)


def test_tick_labels_do_not_run_into_each_other(drawn):
    layout.ticks_do_not_touch(*drawn)
