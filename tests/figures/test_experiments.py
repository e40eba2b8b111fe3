"""The figures of single experiments: sensitivity, pinwheel, sparsity, zero-shot, ablations."""

import numpy as np
import pytest

from distaff.errors import DistaffError
from distaff.figures.ablation import Toy, ablations
from distaff.figures.arrays import mean_interval
from distaff.figures.densities import aggregate_posteriors, plane, prior_densities
from distaff.figures.montage import montage
from distaff.figures.sensitivity import metric_sensitivity
from distaff.figures.sparsity import sparsity_against_alpha
from distaff.figures.zero_shot import removed_combination
from tests.figures.drawings import distinct, drawn, texts

EXTENT = (-1.0, 2.0, -1.0, 2.0)


def test_sensitivity_draws_mean_and_standard_deviation_over_seeds():
    runs = np.array([[0.6, 0.7], [0.8, 0.7]])
    figure = metric_sensitivity(
        [100, 800], {"score": {50: runs, 100: runs + 0.1}}, x_label="votes", series="L"
    )
    (axes,) = figure.axes
    line, _, (bars,) = axes.containers[0]
    np.testing.assert_allclose(line.get_xydata(), [[100, 0.7], [800, 0.7]])
    np.testing.assert_allclose(
        bars.get_segments()[0][:, 1], 0.7 + np.array([-1, 1]) * np.std([0.6, 0.8], ddof=1)
    )
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_xscale()) == ("votes", "score", "log")
    assert texts(figure.legends[0].get_texts()) == ["50", "100"]
    assert figure.legends[0].get_title().get_text() == "L"


def test_sensitivity_has_a_panel_a_metric():
    models = {"FactorVAE": [1.0, 2.0], "β-VAE": [2.0, 3.0]}
    figure = metric_sensitivity(
        [50, 100], {"RMIG": models, "JEMMIG (nats)": models}, x_label="bins", logarithmic=False
    )
    assert [axes.get_ylabel() for axes in figure.axes] == ["RMIG", "JEMMIG (nats)"]
    assert not figure.axes[0].containers[0].has_yerr, "one seed has no spread"
    with pytest.raises(DistaffError, match="3 values a seed, but there are 2 points"):
        metric_sensitivity([50, 100], {"RMIG": {"a": [1, 2, 3]}}, x_label="bins")


def test_aggregate_posteriors_are_a_grid_of_alpha_by_beta():
    densities = {(a, b): np.full((4, 5), a + b) for a in (0.0, 1.0) for b in (0.5, 1.0, 2.0)}
    del densities[1.0, 2.0]
    hill = np.outer(np.hanning(6)[1:-1], np.hanning(7)[1:-1])
    figure = aggregate_posteriors(densities, EXTENT, prior=hill)
    assert len(figure.axes) == 5
    assert [axes.get_title() for axes in figure.axes] == ["β = 0.5", "β = 1", "β = 2", "", ""]
    assert figure.axes[3].get_ylabel().startswith("α = 1")
    np.testing.assert_array_equal(drawn(figure.axes[4]), densities[1.0, 1.0])
    assert figure.axes[0].get_images()[0].get_extent() == list(EXTENT)
    assert figure.axes[0].get_images()[0].origin == "lower"
    np.testing.assert_allclose(figure.axes[0].collections[0].levels, hill.max() * np.array([0.1, 0.4, 0.8]))
    with pytest.raises(DistaffError, match=r"density at \(0, 1\) must have the shape \(n, m\)"):
        aggregate_posteriors({(0, 1): np.ones(3)}, EXTENT)


def test_prior_densities_have_a_panel_each():
    figure = prior_densities({"ν = 3": np.eye(4), "ν = 5": np.ones((4, 4))}, EXTENT)
    assert [axes.get_title() for axes in figure.axes] == ["ν = 3", "ν = 5"]
    np.testing.assert_array_equal(drawn(figure.axes[0]), np.eye(4))


def test_plane_parts_points_by_class():
    points = np.arange(8.0).reshape(4, 2)
    (axes,) = plane(points, [0, 1, 1, 0]).axes
    np.testing.assert_array_equal(axes.lines[1].get_xydata(), points[1:3])
    assert [line.get_label() for line in axes.lines] == ["class 0", "class 1"]
    assert axes.lines[0].get_marker() != axes.lines[1].get_marker()
    with pytest.raises(DistaffError, match="in the plane"):
        plane(np.ones((4, 3)))
    with pytest.raises(DistaffError, match="points 4, classes 2"):
        plane(points, [0, 1])


def test_sparsity_has_three_panels_with_intervals():
    runs = {"γ = 0": np.array([[0.2, 0.3], [0.4, 0.5]]), "γ = 0.9": np.array([[0.2, 0.7], [0.4, 0.8]])}
    figure = sparsity_against_alpha([0, 100], runs, runs, runs)
    assert [axes.get_ylabel() for axes in figure.axes] == [
        "Hoyer sparsity", "reconstruction loss (nats)", "MMD(q(z), p(z))",
    ]  # fmt: skip
    mean, low, high = mean_interval(runs["γ = 0.9"])
    np.testing.assert_array_equal(figure.axes[1].lines[1].get_xydata(), np.stack([[0, 100], mean], 1))
    box = figure.axes[1].collections[1].get_paths()[0].get_extents()
    assert (box.ymin, box.ymax) == pytest.approx((low.min(), high.max()))
    with pytest.raises(DistaffError, match="same series"):
        sparsity_against_alpha([0, 100], runs, runs, {"γ = 0": runs["γ = 0"]})


def test_removed_combination_shows_where_the_unseen_lie_and_how_they_are_rebuilt():
    kept, removed = np.linspace(-2, 1, 100), np.linspace(1, 2, 50)
    values = {"all": (kept, removed), "pruned": (kept, removed + 1)}
    figure = removed_combination(values, distinct(4), distinct(4) / 2, feature="thickness")
    first, second, images = figure.axes
    assert [first.get_title(), second.get_title()] == ["all", "pruned"]
    assert first.get_xlabel() == "thickness"
    heights, edges, _ = second.patches[1].get_data()
    assert edges[:-1][heights > 0].min() == pytest.approx(2, abs=0.15), "bars start where values do"
    assert np.sum(heights * np.diff(edges)) == pytest.approx(1)
    np.testing.assert_array_equal(drawn(images), montage(np.stack([distinct(4), distinct(4) / 2])))
    assert texts(images.get_yticklabels()) == ["removed", "reconstruction"]
    with pytest.raises(DistaffError, match="originals have the shape"):
        removed_combination(values, distinct(4), distinct(3), feature="thickness")


def test_ablations_draw_q_of_z_as_the_mean_of_its_posteriors():
    z, x = np.linspace(-1, 1, 5), np.linspace(-2, 2, 7)
    posteriors = np.arange(15.0).reshape(3, 5)
    toy = Toy(z, posteriors, np.full(5, 0.5), x, np.full(7, 0.25), [-1.0, 0.0, 1.0])
    figure = ablations({"all terms": toy, "without ②": toy})
    latent, observed = figure.axes[0], figure.axes[2]
    np.testing.assert_array_equal(latent.lines[0].get_ydata(), posteriors.mean(0))
    np.testing.assert_array_equal(latent.lines[1].get_ydata(), np.full(5, 0.5))
    assert len(latent.collections) == 3
    np.testing.assert_array_equal(observed.collections[0].get_offsets()[:, 0], [-1, 0, 1])
    assert (latent.get_title(), latent.get_xlabel(), observed.get_xlabel()) == ("all terms", "z", "x")
    with pytest.raises(DistaffError, match=r"posteriors \(2, 5\), not \(3, 5\)"):
        ablations({"bad": Toy(z, posteriors, np.ones(5), x, np.ones(7), [0.0, 1.0])})
