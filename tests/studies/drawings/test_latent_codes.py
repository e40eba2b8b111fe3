"""What latents know and share: the drawn numbers are the metrics' own."""

import numpy as np
import pytest
from scipy.stats import norm

from distaff.foundation.errors import DistaffError
from distaff.metrics import as_factors, informativeness, misjed, rmig
from distaff.metrics.correlations import correlation_matrix
from distaff.studies import drawings


def heat(figure):
    return [np.asarray(axes.get_images()[0].get_array()) for axes in figure.axes if axes.get_images()]


def first(results, **where):
    return results.runs(**where)[0]


def test_marginals_are_a_row_a_setting_over_the_prior(shapes):
    figure = drawings.marginals(shapes, where={"recipe": "beta_vae"}, samples=200)
    assert [axes.get_ylabel() for axes in figure.axes[::3]] == ["beta = 1", "beta = 4"]
    for axes in figure.axes:
        x, y = axes.get_lines()[0].get_data()
        np.testing.assert_allclose(y, norm.pdf(x), rtol=1e-5)
        heights, edges, _ = axes.patches[0].get_data()
        assert (heights * np.diff(edges)).sum() == pytest.approx(1, abs=0.02)


def test_a_generator_has_no_prior_to_draw_marginals_over(generator):
    with pytest.raises(DistaffError, match="infowgan_gp does not train"):
        drawings.marginals(generator)


def test_bars_are_the_informativeness_of_the_best_run(shapes):
    figure = drawings.informativeness_bars(shapes, score="mig")
    runs = shapes.runs(recipe="factor_vae")
    best = max(runs, key=lambda run: run.scores["mig"].value)
    expected = sorted(informativeness(best.codes).per_latent.values(), reverse=True)
    np.testing.assert_allclose([bar.get_height() for bar in figure.axes[1].patches], expected)


def test_the_misjed_map_is_in_the_order_of_informativeness(shapes):
    drawn = heat(drawings.misjed_map(shapes, bins=10))[0]
    codes = first(shapes, recipe="beta_vae").codes
    order = np.argsort([-value for value in informativeness(codes).per_latent.values()])
    expected = misjed(codes, bins=10).details["pairs"][np.ix_(order, order)]
    np.testing.assert_allclose(drawn, expected)


def test_correlations_are_of_samples_and_of_means(shapes):
    drawn = heat(drawings.correlation_matrices(shapes))
    codes = first(shapes, recipe="beta_vae").codes
    np.testing.assert_allclose(drawn[0], correlation_matrix(codes, of="samples"))
    np.testing.assert_allclose(drawn[1], correlation_matrix(codes, of="means"))


def test_the_information_matrix_is_that_of_rmig(shapes):
    drawn = drawings.information_matrix(shapes, where={"recipe": "factor_vae"})
    run = first(shapes, recipe="factor_vae")
    factors = as_factors(run.data.factors, names=run.data.names)
    expected = rmig(run.codes, factors).details["mutual_information"]
    np.testing.assert_allclose(heat(drawn["mutual information"])[0], expected)
    assert heat(drawn["importance"])[0].shape == (3, 2)
