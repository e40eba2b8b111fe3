import numpy as np
import pytest

from distaff.figures.bars import informativeness_bars, kl_bars, scores_by_factor
from distaff.foundation.errors import DistaffError
from tests.figures.drawings import texts


def heights(axes):
    return [bar.get_height() for bar in axes.patches]


def test_kl_bars_go_from_the_largest_down_with_their_names():
    (axes,) = kl_bars([0.5, 3.0, 1.0]).axes
    assert heights(axes) == [3.0, 1.0, 0.5]
    assert texts(axes.get_xticklabels()) == ["z1", "z2", "z0"]
    assert axes.get_ylabel() == "KL to the prior (nats)"
    (unsorted,) = kl_bars([0.5, 3.0, 1.0], ["a", "b", "c"], sort=False).axes
    assert heights(unsorted) == [0.5, 3.0, 1.0]
    assert texts(unsorted.get_xticklabels()) == ["a", "b", "c"]


def test_informativeness_bars_share_a_scale_over_models():
    figure = informativeness_bars({"FactorVAE": [0.2, 0.6], "AAE": [0.9, 0.1]})
    first, second = figure.axes
    assert heights(first) == [0.6, 0.2]
    assert heights(second) == [0.9, 0.1]
    assert first.get_ylim() == second.get_ylim()
    assert first.get_ylabel() == r"$I(x; z_i)$ / log #bins"
    assert [one.get_title() for one in figure.axes] == ["FactorVAE", "AAE"]
    assert informativeness_bars({"a": [1.0]}, normalised=False).axes[0].get_ylabel() == r"$I(x; z_i)$ (nats)"


def test_scores_by_factor_put_models_side_by_side():
    scores = {"FactorVAE": [0.24, 0.71], "β-VAE": [0.05, 0.15]}
    figure = scores_by_factor(scores, ["shape", "scale"], score="RMIG (normalised)")
    (axes,) = figure.axes
    assert heights(axes) == [0.24, 0.71, 0.05, 0.15]
    left, right = axes.patches[0], axes.patches[2]
    assert left.get_x() + left.get_width() == pytest.approx(right.get_x())
    assert texts(axes.get_xticklabels()) == ["shape", "scale"]
    assert axes.get_ylabel() == "RMIG (normalised)"
    assert texts(figure.legends[0].get_texts()) == list(scores)


def test_wrong_shapes_are_refused():
    with pytest.raises(DistaffError, match=r"kl must have the shape \(D,\)"):
        kl_bars(np.ones((3, 2)))
    with pytest.raises(DistaffError, match="2 names for 3 rows"):
        kl_bars([1, 2, 3], ["a", "b"])
    with pytest.raises(DistaffError, match="is empty"):
        informativeness_bars({})
    with pytest.raises(DistaffError, match="factors 1, a 2"):
        scores_by_factor({"a": [1, 2]}, ["shape"], score="MIG")


def test_what_shuffled_factors_score_is_a_line_across_a_models_bars():
    figure = scores_by_factor({"A": [0.5, 0.7], "B": [0.4, 0.2]}, ["x", "y"], score="MIG", nulls={"B": 0.05})
    (axes,) = figure.axes
    (lines,) = axes.collections
    bars = [bar for bar in axes.patches if bar.get_height() in (0.4, 0.2)]
    for bar, line in zip(bars, lines.get_segments(), strict=True):
        np.testing.assert_allclose(
            line, [[bar.get_x(), 0.05], [bar.get_x() + bar.get_width(), 0.05]], atol=1e-9
        )
    assert "shuffled factors" in lines.get_label()
