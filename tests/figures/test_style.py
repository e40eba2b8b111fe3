import threading

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from distaff.figures import style
from distaff.figures.bars import kl_bars
from distaff.figures.checked_arrays import mean_interval, named, numbers, pictures, seeds
from distaff.foundation.errors import DistaffError


@pytest.mark.parametrize(
    ("suffix", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml"), ("PNG", b"\x89PNG")]
)
def test_save_writes_the_format_of_the_suffix(tmp_path, suffix, start):
    path = style.save(kl_bars([1.0, 2.0]), tmp_path / "new" / f"figure.{suffix}")
    assert path.read_bytes().startswith(start)
    assert [file.name for file in path.parent.iterdir()] == [f"figure.{suffix}"]


def test_save_of_an_unknown_format_names_the_known_ones(tmp_path):
    with pytest.raises(DistaffError, match=r"svgz.*did you mean 'svg'.*pdf, png, svg"):
        style.save(kl_bars([1.0]), tmp_path / "figure.svgz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["png", "pdf", "svg"])
def test_rendering_twice_gives_the_same_bytes(kind):
    figure = kl_bars([1.0, 2.0])
    assert style.render(figure, kind) == style.render(figure, kind) == style.render(kl_bars([1.0, 2.0]), kind)


def test_pdf_embeds_truetype_fonts_which_publishers_accept():
    assert b"/Type3" not in style.render(kl_bars([1.0]), "pdf")


def test_figures_leave_no_global_state_and_draw_in_threads():
    before = dict(mpl.rcParams)
    results = {}

    def draw(i):
        results[i] = style.render(kl_bars([1.0, 2.0]), "svg")

    threads = [threading.Thread(target=draw, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert len(set(results.values())) == 1
    assert dict(mpl.rcParams) == before


def test_numbers_get_colours_from_dark_to_light_that_survive_in_grey():
    colours = style.colours_for([1, 2, 4, 8, 16, 0.5])
    luminance = [np.dot(to_rgb(colour), (0.2126, 0.7152, 0.0722)) for colour in colours.values()]
    assert list(colours) == [1, 2, 4, 8, 16, 0.5]
    assert np.all(np.diff(luminance) > 0.05)


def test_names_get_the_palette_which_repeats():
    colours = style.colours_for(["a", "b", "a", *"cdefgh"])
    assert list(colours.values()) == [*style.PALETTE, style.PALETTE[0]]
    assert len(set(style.PALETTE)) == 7


def test_mean_interval_is_students():
    values = np.array([[1.0, 5.0], [3.0, np.nan]])
    mean, low, high = mean_interval(values)
    # Two values 1 and 3: standard error 1, and t with one degree of freedom at 97.5% is tan(0.475 π).
    reach = np.tan(0.475 * np.pi)
    np.testing.assert_allclose(mean, [2.0, 5.0])
    np.testing.assert_allclose([low[0], high[0]], [2 - reach, 2 + reach])
    assert np.isnan(low[1])
    assert np.isnan(high[1])


def test_wrong_arrays_are_refused_in_one_sentence():
    with pytest.raises(DistaffError, match=r"kl must have the shape \(D,\) .* not \(2, 2\)"):
        numbers("kl", np.ones((2, 2)), "D")
    with pytest.raises(DistaffError, match="array of numbers"):
        numbers("kl", ["a"], "D")
    with pytest.raises(DistaffError, match="nothing empty"):
        numbers("kl", [], "D")
    with pytest.raises(DistaffError, match="3 values per seed, but there are 4 points"):
        seeds("nll", np.ones((2, 3)), 4)
    with pytest.raises(DistaffError, match="1 or 3 channels"):
        pictures("images", np.ones((2, 8, 8, 3)), "N")
    with pytest.raises(DistaffError, match=r"in \[0, 1\], not \[0, 255\]"):
        pictures("images", 255 * np.eye(8)[None, None], "N")
    with pytest.raises(DistaffError, match=r"in \[0, 1\]"):
        pictures("images", np.full((1, 1, 2, 2), np.nan), "N")
    with pytest.raises(DistaffError, match="1 names for 2 rows"):
        named("labels", ["z0"], 2)


def test_images_of_other_channels_are_brought_to_those_of_a_screen():
    colours = np.random.default_rng(0).random((2, 3, 8, 8))
    for share in (0.0, 0.25, 1.0):
        rgba = np.concatenate([colours, np.full((2, 1, 8, 8), share)], axis=1)
        np.testing.assert_allclose(pictures("images", rgba, "N"), share * colours + (1 - share))
    two = colours[:, :2]
    np.testing.assert_allclose(pictures("images", two, "N"), two.mean(1, keepdims=True))
    assert pictures("images", np.ones((2, 9, 8, 8)), "N").shape == (2, 1, 8, 8)


def test_a_notebook_shows_a_figure_at_the_size_of_the_screen():
    picture, size = style.bare_figure((3.0, 2.0))._repr_png_()
    assert picture.startswith(b"\x89PNG")
    assert size == {"width": 330, "height": 220}
