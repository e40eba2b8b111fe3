import numpy as np
import pytest

from distaff.figures import comparison
from distaff.figures.checked_arrays import mean_interval
from distaff.foundation.errors import DistaffError
from tests.figures.drawings import texts

ERRORS, SCORES = np.array([30.0, 32.0, 34.0]), np.array([0.6, 0.7, 0.65])


def test_a_trade_off_draws_means_joined_along_the_setting_with_intervals_and_values():
    runs = {
        "β-VAE": {1: (ERRORS, SCORES), 4: (ERRORS + 10, SCORES + 0.1)},
        "FactorVAE": {10: (ERRORS, SCORES)},
    }
    (axes,) = comparison.trade_off(runs, y="MIG").axes
    np.testing.assert_allclose(axes.lines[0].get_xydata(), [[32, 0.65], [42, 0.75]])
    assert texts(axes.texts) == ["1", "4", "10"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("reconstruction error (nats)", "MIG")
    assert texts(axes.get_legend().get_texts()) == ["β-VAE", "FactorVAE"]
    horizontal = axes.containers[0][2][0].get_segments()[0]
    _, low, high = mean_interval(ERRORS)
    np.testing.assert_allclose(horizontal[:, 0], [low, high])


def test_intervals_of_two_seeds_do_not_push_the_runs_together():
    """They reach 12.7 standard errors each way: the frame ends half the runs' range beyond the runs."""
    (axes,) = comparison.scores_by_setting(
        {"VAE": {1: [0.5, 0.7]}, "β-VAE": {4: [0.3, 0.6]}}, score="MIG"
    ).axes
    np.testing.assert_allclose(axes.get_ylim(), (0.1, 0.9))


def test_intervals_beyond_the_runs_leave_the_frame_of_a_trade_off():
    (axes,) = comparison.trade_off({"VAE": {1: ([20.0, 20.0, 40.0], [0.3, 0.7, 0.7])}}).axes
    np.testing.assert_allclose([axes.get_xlim(), axes.get_ylim()], [(10, 50), (0.1, 0.9)])


@pytest.mark.parametrize(
    "runs", [([30.0], [0.6]), ([30.0, 40.0], [0.5, 0.7]), ([30.0, 40.0, np.nan], [1.0] * 3)]
)
def test_a_trade_off_of_one_or_two_seeds_has_no_error_bars(runs):
    (axes,) = comparison.trade_off({"VAE": {1: runs}}).axes
    assert axes.containers[0].has_xerr is False
    assert axes.containers[0].has_yerr is (len(runs[1]) == 3)


def test_scores_by_setting_show_every_seed_beside_mean_and_interval():
    scores = {"FactorVAE": {10: [1.0, 3.0], 20: [2.0, 4.0]}, "β-VAE": {4: [5.0, 5.5]}}
    figure = comparison.scores_by_setting(scores, score="WSEPIN (nats)", setting="γ or β")
    (axes,) = figure.axes
    dots = [line for line in axes.lines if line.get_alpha()]
    assert [list(line.get_ydata()) for line in dots] == [[1, 3], [2, 4], [5, 5.5]]
    assert [container[0].get_ydata()[0] for container in axes.containers] == [2, 3, 5.25]
    assert texts(axes.get_xticklabels()) == ["10", "20", "4"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("γ or β", "WSEPIN (nats)")
    assert texts(figure.legends[0].get_texts()) == ["FactorVAE", "β-VAE"]


def test_agreement_draws_points_and_writes_correlations():
    x = np.array([1.0, 2.0, 3.0, 4.0])
    pair = ("RMIG", "JEMMIG (nats)")
    (axes,) = comparison.agreement({pair: {"a": (x, -x), "b": (x + 4, -x - 4)}}).axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == pair
    assert axes.get_title() == "Pearson −1.00 · Kendall −1.00 · Spearman −1.00"
    np.testing.assert_array_equal(axes.collections[1].get_offsets(), np.stack([x + 4, -x - 4], 1))
    assert not axes.lines


def test_a_failed_run_does_not_spoil_the_correlations():
    (axes,) = comparison.agreement(
        {("a", "b"): {"only": ([1.0, 2.0, 3.0, np.nan], [2.0, 4.0, 6.0, 1.0])}}
    ).axes
    assert axes.get_title() == "Pearson 1.00 · Kendall 1.00 · Spearman 1.00"


def test_agreement_leaves_out_undefined_correlations():
    (axes,) = comparison.agreement({("a", "b"): {"only": ([1.0, 2.0, 3.0], [5.0, 5.0, 5.0])}}).axes
    assert axes.get_title() == ""


def test_wrong_shapes_are_refused():
    with pytest.raises(DistaffError, match="lengths differ"):
        comparison.trade_off({"VAE": {1: ([1, 2], [1])}})
    with pytest.raises(DistaffError, match="runs is empty"):
        comparison.trade_off({})
    with pytest.raises(DistaffError, match="VAE is empty"):
        comparison.trade_off({"VAE": {}})
    with pytest.raises(DistaffError, match=r"VAE 1 must have the shape \(S,\)"):
        comparison.scores_by_setting({"VAE": {1: np.ones((2, 2))}}, score="MIG")
    with pytest.raises(DistaffError, match="is empty"):
        comparison.agreement({("a", "b"): {}})


@pytest.mark.parametrize("draw", ["trade_off", "scores_by_setting"])
def test_what_shuffled_factors_score_is_a_band_within_the_frame(draw):
    if draw == "trade_off":
        (axes,) = comparison.trade_off({"VAE": {1: (ERRORS, SCORES)}}, null=(0.1, 0.2)).axes
        legend = axes.get_legend()
    else:
        figure = comparison.scores_by_setting({"VAE": {1: SCORES}}, score="MIG", null=(0.1, 0.2))
        (axes,) = figure.axes
        legend = figure.legends[0] if figure.legends else axes.get_legend()
    (band,) = axes.patches
    np.testing.assert_allclose([band.get_y(), band.get_y() + band.get_height()], [0.1, 0.2])
    low, high = axes.get_ylim()
    assert low < 0.1 < 0.7 < high
    assert "shuffled factors" in texts(legend.get_texts())
