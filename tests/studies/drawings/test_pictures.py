"""Images of trained models: those of the run asked for, decoded by its model."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from distaff.data.strokes import measure
from distaff.errors import DistaffError
from distaff.metrics import as_factors, rmig
from distaff.studies import drawings
from distaff.studies.drawings.matching import latent_of


def shown(figure):
    """What the first panel with an image shows, as one array."""
    return next(np.asarray(a.get_images()[0].get_array()) for a in figure.axes if a.get_images())


def test_traversals_are_of_the_best_run_and_say_so(shapes):
    drawn = drawings.traversals(shapes, score="mig")
    runs = shapes.runs(recipe="beta_vae")
    best = max(run.scores["mig"].value for run in runs)
    assert next(iter(drawn)) == f"beta_vae: mig {best:.3f}"
    beta, factor = (shown(figure) for figure in drawn.values())
    assert beta.shape == factor.shape
    assert not np.allclose(beta, factor)


def test_samples_are_drawn_from_each_recipes_prior(shapes):
    drawn = drawings.samples(shapes, count=20)
    assert list(drawn) == ["beta_vae", "factor_vae"]
    assert not np.allclose(*(shown(figure) for figure in drawn.values()))


def test_the_top_latent_of_a_factor_is_the_one_that_knows_most(shapes):
    drawn = drawings.top_latents(shapes, factors=["column"], top=2, where={"recipe": "beta_vae"})
    labels = [tick.get_text() for tick in drawn["beta_vae"].axes[0].get_yticklabels()]
    run = shapes.runs(recipe="beta_vae")[0]
    information = rmig(run.codes, as_factors(run.data.factors)).details["mutual_information"][:, 1]
    best = int(np.argmax(information))
    assert labels[0] == f"column: z{best} · {information[best]:.2f} nats"
    assert len(labels) == 2
    with pytest.raises(DistaffError, match="did you mean 'column'"):
        drawings.top_latents(shapes, factors=["colum"])


def test_planes_are_of_all_pairs(shapes):
    drawn = drawings.interpolation_planes(shapes, curve="gamma", where={"recipe": "factor_vae"}, steps=3)
    assert list(drawn) == ["gamma = 1", "gamma = 10"]
    axes = drawn["gamma = 1"].axes
    assert len(axes) == 3
    assert {frozenset((one.get_xlabel(), one.get_ylabel())) for one in axes} == {
        frozenset(pair) for pair in (("z0", "z1"), ("z0", "z2"), ("z1", "z2"))
    }


def test_a_run_is_matched_with_itself_one_to_one(shapes):
    drawn = drawings.matched_latents(shapes, where={"beta": [1, 4], "seed": 0}, observations=100)
    assert len(drawn) == 2
    matrix = shown(next(iter(drawn.values())))
    runs = shapes.runs(beta=[1, 4], seed=0)
    rows = np.sort(np.random.default_rng(0).choice(256, 100, replace=False))
    both = np.corrcoef(*(run.codes.means[rows].T for run in runs))[:3, 3:]
    np.testing.assert_allclose(np.sort(np.abs(matrix).ravel()), np.sort(np.abs(both).ravel()), atol=1e-4)
    with pytest.raises(DistaffError, match="choose two or more"):
        drawings.matched_latents(shapes, where={"beta": 1, "seed": 0})


def test_the_latent_of_an_attribute_follows_it(digits):
    run = digits.runs()[0]
    latent = latent_of(run.model, run.data, "thickness")
    thickness = measure(run.data.images)[:, 0]
    strengths = [abs(spearmanr(z, thickness)[0]) for z in run.codes.means.T]
    assert latent == int(np.argmax(strengths))


def test_one_observation_of_each_class_is_moved(digits):
    figure = drawings.varied_attribute(digits, curve="data.zero_shot")
    labels = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert labels == ["digit 0", "digit 7"]
    assert len(figure.axes) == 2


def test_the_removed_ones_are_those_that_were_left_out(digits):
    figure = drawings.removed_combination(digits)
    whole, pruned = figure.axes[0], figure.axes[1]
    assert pruned.get_title() == "trained without such 7s"
    heights, edges, _ = whole.patches[1].get_data()
    assert (heights * np.diff(edges)).sum() == pytest.approx(1)
    with pytest.raises(DistaffError, match="zero_shot: kept"):
        drawings.removed_combination(digits, where={"data.zero_shot": "kept"})


def test_the_noise_varies_and_the_code_stays(generator):
    drawn = drawings.varied_noise(generator, images=3, draws=4)
    assert list(drawn) == ["infowgan_gp", "infogan"]
    sheet = shown(drawn["infogan"])
    assert sheet.shape[1] > 1.5 * sheet.shape[0], "three rows of an original and four images"
    run = generator.runs(recipe="infogan")[0]
    original = run.data.images[0].numpy()[0]
    corner = sheet[: original.shape[0] + 2, : original.shape[1] + 2]
    assert corner.min() < 0.01
    assert drawings.traversals(generator).keys() == drawn.keys()
    with pytest.raises(DistaffError, match="infowgan_gp does not train"):
        drawings.marginals(generator)


def test_noise_is_varied_of_generators_alone(shapes):
    with pytest.raises(DistaffError, match="generators"):
        drawings.varied_noise(shapes)
