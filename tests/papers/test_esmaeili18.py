"""Esmaeili et al. 2018: the ELBO without its terms, attributes of digits, information through training."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from distaff.codes import Codes
from distaff.data.strokes import measure_strokes
from distaff.figures.montage import montage
from distaff.foundation.errors import DistaffError
from distaff.metrics import informativeness
from studies.esmaeili18 import drawings
from studies.esmaeili18.ablations import Toy, ablations, toy_panels
from studies.esmaeili18.classes import class_agreement, class_information, informative_latents
from tests.figures.drawings import distinct, drawn, texts


def test_the_ablated_toys_are_densities(line):
    figure = ablations(line, z_end=8, x_end=30)
    titles = [axes.get_title() for axes in figure.axes[:4]]
    assert titles == [
        f"without {term}" for term in ("① uniqueness", "② I(x; z)", "③ KL(q(x) ‖ p(x))", "④ KL(q(z) ‖ p(z))")
    ]
    for axes in figure.axes:
        for curve in axes.get_lines():
            assert np.trapezoid(curve.get_ydata(), curve.get_xdata()) == pytest.approx(1, abs=0.02)


def test_ablations_draw_q_of_z_as_the_mean_of_its_posteriors():
    z, x = np.linspace(-1, 1, 5), np.linspace(-2, 2, 7)
    posteriors = np.arange(15.0).reshape(3, 5)
    toy = Toy(z, posteriors, np.full(5, 0.5), x, np.full(7, 0.25), np.array([-1.0, 0.0, 1.0]))
    figure = toy_panels({"all terms": toy, "without ②": toy})
    latent, observed = figure.axes[0], figure.axes[2]
    np.testing.assert_array_equal(latent.lines[0].get_ydata(), posteriors.mean(0))
    np.testing.assert_array_equal(latent.lines[1].get_ydata(), np.full(5, 0.5))
    assert len(latent.collections) == 3
    np.testing.assert_array_equal(observed.collections[0].get_offsets()[:, 0], [-1, 0, 1])
    assert (latent.get_title(), latent.get_xlabel(), observed.get_xlabel()) == ("all terms", "z", "x")


def test_information_ends_where_the_trained_model_is(shapes):
    figure = drawings.information_through_training(shapes, where={"recipe": "beta_vae"}, observations=None)
    lines = {line.get_label(): line for axes in figure.axes for line in axes.get_lines()}
    run = shapes.runs(recipe="beta_vae")[0]
    for name, value in informativeness(run.codes, normalize=False).per_latent.items():
        assert lines[name].get_ydata()[-1] == pytest.approx(value, abs=1e-4)


def test_information_curves_part_the_kept_from_the_pruned():
    information = np.stack([np.linspace(0, 2, 5), np.linspace(2, 0, 5), np.linspace(0, 1, 5)], axis=1)
    figure = drawings.information_curves(np.arange(0, 5000, 1000), information, ["z0", "z1", "z2"])
    kept, pruned = figure.axes
    assert [line.get_label() for line in kept.lines] == ["z0", "z2"]
    assert [line.get_label() for line in pruned.lines] == ["z1"]
    np.testing.assert_array_equal(kept.lines[1].get_ydata(), information[:, 2])
    assert kept.get_title() == "2 informative latents"
    assert "nats" in kept.get_ylabel()
    assert kept.get_ylim() == pruned.get_ylim()


def test_the_latent_of_an_attribute_follows_it(digits):
    run = digits.runs()[0]
    latent = drawings.latent_of(run.model, run.data, "thickness")
    thickness = measure_strokes(run.data.images)[:, 0]
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


def test_it_is_shown_where_the_unseen_lie_and_how_they_are_rebuilt():
    kept, removed = np.linspace(-2, 1, 100), np.linspace(1, 2, 50)
    values = {"all": (kept, removed), "pruned": (kept, removed + 1)}
    rows = np.stack([distinct(4), distinct(4) / 2])
    figure = drawings.kept_and_removed(values, rows, "thickness")
    first, second, images = figure.axes
    assert [first.get_title(), second.get_title()] == ["all", "pruned"]
    assert first.get_xlabel() == "thickness"
    heights, edges, _ = second.patches[1].get_data()
    assert edges[:-1][heights > 0].min() == pytest.approx(2, abs=0.15), "bars start where values do"
    assert np.sum(heights * np.diff(edges)) == pytest.approx(1)
    np.testing.assert_array_equal(drawn(images), montage(rows))
    assert texts(images.get_yticklabels()) == ["removed", "reconstruction"]


def codes_of(**classes: list[int]) -> Codes:
    """Codes with these likeliest classes, and no real latent."""
    some = {name: 0.6 * np.eye(4)[taken] + 0.1 for name, taken in classes.items()}
    return Codes(np.zeros((len(next(iter(classes.values()))), 0)), None, some)


def test_classes_agree_with_labels_under_their_best_names():
    labels = np.array([[0, 0, 0, 1, 1, 1, 2, 2]]).T
    renamed = codes_of(c=[3, 3, 3, 0, 0, 0, 1, 1])
    assert class_agreement(renamed, labels).value == 1
    assert class_information(renamed, labels).value == pytest.approx(1)
    # Two classes of one label: only one of them may have its name, though both tell it.
    split = codes_of(c=[3, 3, 2, 0, 0, 0, 1, 1])
    assert class_agreement(split, labels).value == pytest.approx(7 / 8)
    assert class_information(split, labels).value == pytest.approx(1)
    # Two labels in one class: the larger has it, and what is lost is which of six it is.
    merged = codes_of(c=[3, 3, 3, 3, 3, 3, 1, 1])
    assert class_agreement(merged, labels).value == pytest.approx(5 / 8)
    entropy = -sum(p * np.log(p) for p in (3 / 8, 3 / 8, 2 / 8))
    assert class_information(merged, labels).value == pytest.approx(1 - 6 / 8 * np.log(2) / entropy)


def test_the_discrete_latent_that_knows_most_counts_and_without_one_nothing_does():
    labels = np.array([[0, 0, 1, 1]]).T
    assert class_agreement(codes_of(a=[0, 0, 0, 0], b=[1, 1, 0, 0]), labels).value == 1
    assert class_information(codes_of(a=[0, 1, 0, 1]), labels).value == pytest.approx(0, abs=1e-12)
    assert class_agreement(Codes(np.arange(4.0)[:, None]), labels).value == 0


def test_informative_latents_are_counted_by_what_they_tell():
    apart = np.array([[-1.0, 0.0, 0.1], [1.0, 0.0, -0.1]]).repeat(50, axis=0)
    logvars = np.array([[-6.0, 0.0, 0.0]]).repeat(100, axis=0)
    assert informative_latents(Codes(apart, logvars)).value == 1
    assert informative_latents(Codes(apart, logvars), nats=0.001).value == 2
