import numpy as np
import pytest

from distaff.figures import curves
from distaff.figures.checked_arrays import mean_interval
from distaff.foundation.binding import public_functions
from distaff.foundation.errors import DistaffError
from distaff.objectives import divergences, recipes, terms
from distaff.objectives.objective import Term
from tests.figures.drawings import texts

STEPS = np.arange(0, 5000, 1000)


def test_training_curves_have_a_panel_a_term_with_its_unit():
    nll, accuracy = np.linspace(500, 60, 5), np.linspace(0.8, 0.5, 5)
    figure = curves.training_curves(STEPS, {"nll": nll, "critic_accuracy": accuracy})
    first, second = figure.axes
    np.testing.assert_array_equal(first.lines[0].get_xydata(), np.stack([STEPS, nll], 1))
    assert (first.get_title(), first.get_ylabel(), first.get_xlabel()) == ("nll", "nats", "training step")
    assert (second.get_title(), second.get_ylabel()) == ("critic accuracy", "")
    labelled = curves.training_curves(STEPS, {"mmd": nll}, units={"mmd": "squared distance"})
    assert labelled.axes[0].get_ylabel() == "squared distance"


def test_terms_that_are_known_to_be_in_nats_are_terms_that_are_logged():
    known = {value.name for module in (terms, divergences) for value in vars(module).values() if named(value)}
    objectives = [recipe() for recipe in public_functions(recipes).values()]
    objectives += [recipes.ablated_elbo(without) for without in (1, 2, 3, 4)]
    known |= {part.term.name for objective in objectives for part in getattr(objective, "terms", ())}
    assert set(curves.NATS) <= known | {"loss", "elbo", "code_log_likelihood"}


def named(value):
    return isinstance(value, Term) and hasattr(value, "name")


def test_training_curves_of_seeds_show_mean_and_interval():
    runs = np.stack([np.arange(5.0), np.arange(5.0) + 2, np.arange(5.0) + 4])
    (axes,) = curves.training_curves(STEPS, {"kl": runs}).axes
    mean, low, high = mean_interval(runs)
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), mean)
    corners = axes.collections[0].get_paths()[0].get_extents()
    assert (corners.ymin, corners.ymax) == pytest.approx((low.min(), high.max()))


def test_training_curves_leave_out_steps_without_a_value_and_empty_cells():
    values = np.array([1.0, np.nan, 3.0, np.nan, 5.0])
    figure = curves.training_curves(STEPS, dict.fromkeys(["a", "b", "c", "d"], values), columns=3)
    assert len(figure.axes) == 4
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_xdata(), [0, 2000, 4000])


def test_a_term_that_never_was_finite_is_said_so():
    (axes,) = curves.training_curves(STEPS, {"nll": np.full(5, np.inf)}).axes
    assert texts(axes.texts) == ["no finite value"]


def test_steps_are_whole_numbers():
    figure = curves.training_curves([0, 1, 2], {"nll": [3.0, 2.0, 1.0]})
    figure.draw_without_rendering()
    assert all(tick == round(tick) for tick in figure.axes[0].get_xticks())


def test_one_logged_point_is_still_seen():
    (axes,) = curves.training_curves([10], {"nll": [3.0]}).axes
    assert axes.lines[0].get_marker() == "o"


def test_curves_by_setting_are_rows_of_quantities_and_columns_of_objectives():
    settings = {1: np.ones((2, 5)), 4: np.full((2, 5), 2.0)}
    grid = {
        "reconstruction error (nats)": {"β-VAE": settings, "FactorVAE": settings},
        "FactorVAE score": {"β-VAE": settings, "FactorVAE": settings},
    }
    figure = curves.curves_by_setting(STEPS, grid, setting="β or γ")
    assert len(figure.axes) == 4
    assert [one.get_title() for one in figure.axes] == ["β-VAE", "FactorVAE", "", ""]
    assert figure.axes[2].get_ylabel() == "FactorVAE score"
    assert figure.axes[0].get_legend().get_title().get_text() == "β or γ"
    assert texts(figure.axes[0].get_legend().get_texts()) == ["1", "4"]
    np.testing.assert_array_equal(figure.axes[3].lines[1].get_ydata(), np.full(5, 2.0))


def test_wrong_shapes_are_refused():
    with pytest.raises(DistaffError, match="nll has 4 values per seed, but there are 5 points"):
        curves.training_curves(STEPS, {"nll": np.ones(4)})
    with pytest.raises(DistaffError, match="terms is empty"):
        curves.training_curves(STEPS, {})
    with pytest.raises(DistaffError, match="curves is empty"):
        curves.curves_by_setting(STEPS, {})
    with pytest.raises(DistaffError, match=r"shape \(S, P\)"):
        curves.curves_by_setting(STEPS, {"nll": {"VAE": {1: np.ones((2, 2, 5))}}})


def test_what_shuffled_factors_score_is_a_band_in_the_row_of_its_quantity():
    grid = {name: {"VAE": {1: np.ones((2, len(STEPS)))}} for name in ("nll", "MIG")}
    above, below = curves.curves_by_setting(STEPS, grid, nulls={"MIG": (0.1, 0.2)}).axes
    assert not above.patches
    (band,) = below.patches
    np.testing.assert_allclose([band.get_y(), band.get_height()], [0.1, 0.1])
    assert "shuffled factors" in [text.get_text() for text in below.texts]
