"""What holds for every figure on realistic data: it fits a paper, its text is legible, nothing is cut off."""

import doctest
import importlib
import sys

import pytest
from matplotlib.figure import Figure

from distaff import figures
from tests.figures import layout
from tests.figures.gallery import GALLERY


def test_every_figure_is_in_the_gallery_and_can_be_imported_by_name():
    assert set(figures.names()) <= set(GALLERY)
    assert len(figures.names()) >= 20
    assert set(figures.names()) <= set(figures.__all__), "what is there and what type checkers see"


@pytest.mark.parametrize("name", figures.names())
def test_every_figure_has_shapes_an_example_that_runs_and_a_see_also(name):
    function = getattr(figures, name)
    for part in ("Args:", "Returns:", "See also:", ">>> "):
        assert part in function.__doc__, f"{name} lacks {part!r}"
    module = importlib.import_module(function.__module__)
    (example,) = doctest.DocTestFinder(recurse=False).find(function, name, module)
    assert doctest.DocTestRunner().run(example).failed == 0


def test_a_figure_in_a_new_file_is_found_by_being_there(tmp_path, monkeypatch):
    (tmp_path / "dial.py").write_text(
        "from matplotlib.figure import Figure\n"
        "from distaff.figures.style import panels\n\n"
        "def dial(value: float) -> Figure:\n"
        "    figure, _ = panels()\n"
        "    return figure\n"
    )
    monkeypatch.setattr(figures, "__path__", [*figures.__path__, str(tmp_path)])
    try:
        assert isinstance(figures.dial(0.5), Figure)
        assert "dial" in figures.names()
        assert isinstance(figures.dial(0.5), Figure), "the figure, not its file"
        with pytest.raises(AttributeError, match="no attribute 'dail'"):
            _ = figures.dail
    finally:
        vars(figures).pop("dial", None)
        sys.modules.pop("distaff.figures.dial", None)


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
