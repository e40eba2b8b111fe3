"""Do & Tran 2020: estimators against each other, one latent's means, planes of two latents."""

import numpy as np
import pytest

from distaff.figures.montage import montage
from distaff.foundation.errors import DistaffError
from distaff.metrics import informativeness
from studies.do20 import drawings
from tests.figures.drawings import drawn, texts


def dots(axes):
    return np.concatenate([np.asarray(c.get_offsets()) for c in axes.collections])


def test_sampled_estimates_stand_against_quantized_ones_run_by_run(shapes):
    figure = drawings.sampled_against_quantized(shapes, samples=100, where={"seed": 0})
    np.testing.assert_allclose(dots(figure.axes[1])[:, 1], shapes.finished["rmig"][::2], rtol=1e-6)
    intercepts = [axes.lines[0].get_xy1()[1] for axes in figure.axes]
    np.testing.assert_allclose(intercepts, [-np.log(0.08), 0])
    assert [axes.lines[0].get_slope() for axes in figure.axes] == [1, 1]
    assert figure.axes[0].get_ylabel() == "JEMMIG, quantized (nats)"


def test_rmig_against_mig_has_a_panel_for_each_mig(shapes):
    figure = drawings.rmig_against_mig(shapes, where={"seed": 1})
    np.testing.assert_allclose(dots(figure.axes[1])[:, 0], shapes.finished["mig"][1::2], rtol=1e-6)
    assert [axes.get_xlabel() for axes in figure.axes] == ["MIG (Chen 2018)", "MIG (Locatello 2019)"]
    assert all(axes.get_ylabel() == "RMIG" for axes in figure.axes)


def test_the_distribution_of_means_is_that_of_the_latent_asked_for(shapes):
    figure = drawings.distributions_of_means(shapes, latent=1, curve="recipe")
    first, second = figure.axes
    heights, edges, _ = first.patches[0].get_data()
    expected = np.histogram(shapes.runs(recipe="beta_vae")[0].codes.means[:, 1], edges, density=True)[0]
    np.testing.assert_allclose(heights, expected, rtol=1e-6)
    np.testing.assert_array_equal(edges, second.patches[0].get_data().edges)
    assert (first.get_xlabel(), first.get_ylabel()) == ("mean of z1 given x", "density")
    assert [axes.get_title() for axes in figure.axes] == ["beta_vae", "factor_vae"]
    with pytest.raises(DistaffError, match="no latent 7"):
        drawings.distributions_of_means(shapes, latent=7)


def test_by_default_it_is_that_of_the_most_informative_latent(shapes):
    axes = drawings.distributions_of_means(shapes, where={"beta": 4, "seed": 0}).axes[0]
    (run,) = shapes.runs(beta=4, seed=0)
    best = int(np.argmax(list(informativeness(run.codes).per_latent.values())))
    heights, edges, _ = axes.patches[0].get_data()
    expected = np.histogram(run.codes.means[:, best], edges, density=True)[0]
    np.testing.assert_allclose(heights, expected, rtol=1e-6)
    assert axes.get_xlabel() == "mean of z* given x"


def test_planes_are_of_all_pairs(shapes):
    made = drawings.interpolation_planes(shapes, curve="gamma", where={"recipe": "factor_vae"}, steps=3)
    assert list(made) == ["gamma = 1", "gamma = 10"]
    axes = made["gamma = 1"].axes
    assert len(axes) == 3
    assert {frozenset((one.get_xlabel(), one.get_ylabel())) for one in axes} == {
        frozenset(pair) for pair in (("z0", "z1"), ("z0", "z2"), ("z1", "z2"))
    }


def test_a_plane_moves_one_latent_down_and_the_other_across(shapes):
    made = drawings.interpolation_planes(shapes, where={"beta": 1, "seed": 0}, steps=5)
    axes = next(iter(made.values())).axes[0]
    assert texts(axes.get_xticklabels()) == ["−2", "", "0", "", "2"]
    down, across = (int(name.removeprefix("z")) for name in (axes.get_ylabel(), axes.get_xlabel()))
    values = np.linspace(-2, 2, 5)
    z = np.zeros((5, 5, 3), np.float32)
    for i in range(5):
        for j in range(5):
            z[i, j, down], z[i, j, across] = values[i], values[j]
    images = shapes.runs(beta=1, seed=0)[0].model.decode(z.reshape(25, 3))
    np.testing.assert_allclose(drawn(axes), montage(images.reshape(5, 5, *images.shape[1:])), atol=1e-6)
