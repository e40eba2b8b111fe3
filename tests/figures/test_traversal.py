from itertools import pairwise

import numpy as np
import pytest

from distaff.figures.montage import montage
from distaff.figures.traversal import side_by_side, top_latents, traversals, value_labels
from distaff.foundation.errors import DistaffError
from tests.figures.drawings import distinct, drawn, texts

LABELS = ["z0 · KL 0.10", "z1 · KL 2.31", "z2 · KL 1.00"]


def test_traversals_have_a_labelled_row_a_latent_and_the_values_below():
    figure = traversals(distinct(3, 5), LABELS, np.linspace(-2, 2, 5))
    (axes,) = figure.axes
    np.testing.assert_array_equal(drawn(axes), montage(distinct(3, 5)))
    assert texts(axes.get_yticklabels()) == LABELS
    assert texts(axes.get_xticklabels()) == ["−2", "−1", "0", "1", "2"]
    assert axes.get_xlabel() == "value of the latent"


def test_traversals_sort_rows_with_their_labels_and_keep_the_top():
    (axes,) = traversals(distinct(3, 5), LABELS, sort_by=[0.10, 2.31, 1.00], top=2).axes
    assert texts(axes.get_yticklabels()) == [LABELS[1], LABELS[2]]
    np.testing.assert_array_equal(drawn(axes), montage(distinct(3, 5)[[1, 2]]))


def test_unknown_scores_sort_last():
    (axes,) = traversals(distinct(3, 5), LABELS, sort_by=[0.1, np.nan, 1.0]).axes
    assert texts(axes.get_yticklabels()) == [LABELS[2], LABELS[0], LABELS[1]]


def test_originals_and_reconstructions_come_on_top_after_a_gap():
    originals = distinct(3)
    (axes,) = traversals(distinct(3, 5), LABELS, above=(originals, originals / 2)).axes
    assert texts(axes.get_yticklabels()) == ["original", "reconstruction", *LABELS]
    picture = drawn(axes)
    np.testing.assert_array_equal(picture[:16, :50], montage(originals[None]))
    assert np.all(picture[:33, 51:] == 1), "columns without an original are white"
    assert np.all(picture[33:36] == 1), "a wider gap parts references from traversals"
    np.testing.assert_array_equal(picture[36:], montage(distinct(3, 5)))


def test_coloured_originals_may_stand_over_grey_traversals():
    coloured = distinct(5, channels=3)
    (axes,) = traversals(distinct(3, 5), LABELS, above=(coloured, coloured)).axes
    np.testing.assert_array_equal(drawn(axes)[-50:], montage(distinct(3, 5)))


def test_grey_originals_may_stand_over_coloured_traversals():
    (axes,) = traversals(distinct(3, 5, channels=3), LABELS, above=(distinct(9), distinct(9))).axes
    np.testing.assert_array_equal(drawn(axes)[:16], montage(distinct(9)[None, :5]))


def test_top_latents_name_the_factor_at_its_first_row():
    images = {"shape": distinct(2, 5), "scale": distinct(3, 5)}
    labels = {"shape": ["z1 · 0.80", "z4 · 0.10"], "scale": ["z0 · 1.2", "z2 · 0.3", "z1 · 0.0"]}
    (axes,) = top_latents(images, labels, np.arange(5)).axes
    assert texts(axes.get_yticklabels()) == [
        "shape: z1 · 0.80", "z4 · 0.10", "scale: z0 · 1.2", "z2 · 0.3", "z1 · 0.0",
    ]  # fmt: skip
    assert np.all(drawn(axes)[33:36] == 1)
    np.testing.assert_array_equal(drawn(axes)[36:], montage(images["scale"]))


def test_side_by_side_gives_each_run_a_panel_with_rows_in_one_order():
    runs = {"seed 0": distinct(3, 4), "seed 1": distinct(3, 4)[::-1]}
    figure = side_by_side(runs, LABELS, [-3, -1, 1, 3])
    assert [one.get_title() for one in figure.axes] == ["seed 0", "seed 1"]
    assert texts(figure.axes[0].get_yticklabels()) == LABELS
    assert texts(figure.axes[1].get_yticklabels()) == []
    for axes, rows in zip(figure.axes, runs.values(), strict=True):
        np.testing.assert_array_equal(drawn(axes), montage(rows))
    own = side_by_side(runs, {"seed 0": ["a", "b", "c"], "seed 1": ["d", "e", "f"]})
    assert texts(own.axes[1].get_yticklabels()) == ["d", "e", "f"]


def test_values_that_would_touch_are_left_out_evenly():
    values = np.linspace(-2, 2, 7)
    assert value_labels(values, 7, side=1.0) == ["−2", "−1.3", "−0.67", "0", "0.67", "1.3", "2"]
    assert value_labels(values, 7, side=0.2) == ["−2", "", "−0.67", "", "0.67", "", "2"]
    assert value_labels(values, 7, side=0.15) == ["−2", "", "", "0", "", "", "2"]
    assert value_labels(values, 7, side=0.01) == ["−2", "", "", "", "", "", "2"]
    runs = {f"seed {number}": distinct(3, 7) for number in range(3)}
    own = side_by_side(runs, {name: ["z1 · −0.92"] * 3 for name in runs}, values)
    own.canvas.draw()
    for axes in own.axes:
        boxes = [text.get_window_extent() for text in axes.get_xticklabels() if text.get_text()]
        assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
        assert len(boxes) >= 2


def test_wrong_shapes_are_refused():
    with pytest.raises(DistaffError, match="3 rows"):
        traversals(distinct(3, 5), LABELS[:2])
    with pytest.raises(DistaffError, match=r"shape \(D, steps, C, H, W\)"):
        traversals(distinct(5), LABELS)
    with pytest.raises(DistaffError, match="4 of them for 5 steps"):
        traversals(distinct(3, 5), LABELS, np.arange(4))
    with pytest.raises(DistaffError, match="a pair of originals and their reconstructions, or None"):
        traversals(distinct(3, 5), LABELS, above=(distinct(3),))
    with pytest.raises(DistaffError, match="one size"):
        traversals(distinct(3, 5), LABELS, above=(distinct(3, side=8), distinct(3, side=8)))
    with pytest.raises(DistaffError, match="sort_by has 2 numbers for 3 rows"):
        traversals(distinct(3, 5), LABELS, sort_by=[1, 2])
    with pytest.raises(DistaffError, match="top must be 1 or more, not 0"):
        traversals(distinct(3, 5), LABELS, top=0)
    with pytest.raises(DistaffError, match="labels for"):
        top_latents({"shape": distinct(1, 5)}, {"scale": ["z0"]})
    with pytest.raises(DistaffError, match=r"images are for \['a'\] but labels for \['b'\]"):
        side_by_side({"a": distinct(3, 4)}, {"b": ["one", "two", "three"]})
    with pytest.raises(DistaffError, match="names for 3 rows"):
        side_by_side({"a": distinct(3, 4)}, ["one"])
