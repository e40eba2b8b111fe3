import numpy as np
import pytest
from scipy.stats import norm

from distaff.figures.histograms import marginals
from distaff.foundation.errors import DistaffError
from tests.figures.drawings import texts

SAMPLES = np.random.default_rng(0).normal(size=(2000, 3))


def area(axes):
    heights, edges, _ = axes.patches[0].get_data()
    return np.sum(heights * np.diff(edges))


def test_marginals_have_a_row_a_model_and_a_column_a_latent_under_the_prior():
    figure = marginals({"β = 1": SAMPLES, "β = 4": SAMPLES / 2})
    assert len(figure.axes) == 6
    assert [axes.get_title() for axes in figure.axes[:3]] == ["z0", "z1", "z2"]
    assert [axes.get_ylabel() for axes in figure.axes[::3]] == ["β = 1", "β = 4"]
    for axes in figure.axes:
        assert area(axes) == pytest.approx(1, abs=0.01)
        grid, density = axes.lines[0].get_data()
        np.testing.assert_allclose(density, norm.pdf(grid))
    peaks = [axes.patches[0].get_data().values.max() for axes in figure.axes]
    assert all(narrow > 1.6 * wide for wide, narrow in zip(peaks[:3], peaks[3:], strict=True))
    assert texts(figure.legends[0].get_texts()) == ["$q(z_j)$", "$p(z_j)$"]


def test_marginals_take_any_prior_one_for_all_or_one_a_latent():
    grid = np.linspace(-3, 3, 7)
    each = np.stack([np.full(7, 0.1), np.full(7, 0.2), np.full(7, 0.3)], axis=1)
    figure = marginals({"": SAMPLES}, (grid, each))
    assert [axes.lines[0].get_ydata()[0] for axes in figure.axes] == [0.1, 0.2, 0.3]
    figure = marginals({"": SAMPLES}, (grid, each[:, 0]))
    assert [axes.lines[0].get_ydata()[0] for axes in figure.axes] == [0.1, 0.1, 0.1]


def test_marginals_of_models_with_other_priors_lie_each_under_its_own():
    grid = np.linspace(-3, 3, 7)
    priors = {name: (grid, norm.pdf(grid, scale=scale)) for name, scale in (("wide", 2.0), ("narrow", 0.5))}
    figure = marginals({"narrow": SAMPLES / 2, "wide": SAMPLES * 2}, priors)
    for axes, scale in zip(figure.axes, [0.5] * 3 + [2.0] * 3, strict=True):
        np.testing.assert_allclose(axes.lines[0].get_ydata(), norm.pdf(grid, scale=scale))


def test_samples_beyond_the_axis_do_not_raise_the_bars():
    (axes,) = marginals({"": np.concatenate([np.full((50, 1), 0.1), np.full((50, 1), 9.0)])}).axes
    assert area(axes) == pytest.approx(0.5)


def test_many_latents_go_on_in_further_rows():
    figure = marginals({"": np.tile(SAMPLES, (1, 4))})
    assert len(figure.axes) == 12
    assert figure.axes[11].get_title() == "z11"


def test_wrong_shapes_are_refused():
    with pytest.raises(DistaffError, match="different numbers of latents"):
        marginals({"a": SAMPLES, "b": SAMPLES[:, :2]})
    with pytest.raises(DistaffError, match=r"prior's density has shape \(4,\).* not \(7,\)|\(4, 3\)"):
        marginals({"a": SAMPLES}, (np.zeros(7), np.zeros(4)))
    with pytest.raises(DistaffError, match=r"shape \(N, D\)"):
        marginals({"a": SAMPLES[:, 0]})
    with pytest.raises(DistaffError, match="a holds values that are not finite"):
        marginals({"a": [[0.0], [np.nan]]})
