"""Kim & Mnih 2018: the critic beside the truth, batch estimates of q(z), generators under varied noise."""

import re

import numpy as np
import pytest
from scipy.stats import norm

from distaff.foundation.errors import DistaffError
from distaff.metrics import total_correlation
from distaff.studies.drawings import traversals
from studies.kim18 import drawings
from tests.figures.drawings import drawn, texts


def last(line):
    return line.get_ydata()[-1]


def test_the_critics_accuracy_is_that_of_the_log(shapes):
    axes = drawings.critic_accuracy(shapes, where={"recipe": "factor_vae"}).axes[0]
    lines = {line.get_label(): line for line in axes.get_lines()}
    runs = shapes.runs(gamma=10)
    expected = np.mean([run.log[0]["total_correlation.critic_accuracy"] for run in runs])
    assert lines["10"].get_ydata()[0] == pytest.approx(expected)
    assert axes.get_legend().get_title().get_text() == "gamma"
    assert axes.get_ylabel() == "critic's accuracy"
    assert set(axes.get_lines()[-1].get_ydata()) == {0.5}
    assert texts(axes.texts) == ["chance"]
    with pytest.raises(DistaffError, match="unknown term in the log"):
        drawings.critic_accuracy(shapes, where={"recipe": "beta_vae"})


def test_the_true_total_correlation_is_that_of_the_codes(shapes):
    figure = drawings.critic_tc(shapes, where={"recipe": "factor_vae"}, samples=500)
    true, critic = figure.axes
    runs = shapes.runs(gamma=1)
    expected = np.mean([total_correlation(run.codes, samples=500).value for run in runs])
    assert last(true.get_lines()[0]) == pytest.approx(expected, abs=1e-4)
    assert last(critic.get_lines()[0]) == pytest.approx(
        np.mean([r.log[-1]["total_correlation"] for r in runs])
    )
    assert [axes.get_title() for axes in figure.axes] == ["true TC", "critic's estimate"]
    assert true.get_ylabel() == "total correlation (nats)"
    (first, second), (same, _) = (axes.get_lines() for axes in figure.axes)
    assert first.get_color() == same.get_color() != second.get_color(), "a setting has one colour in both"


def test_log_densities_by_a_batch_are_those_of_its_mixture(shapes):
    figure = drawings.log_density_histograms(shapes, where={"recipe": "beta_vae"}, batch=128, samples=64)
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert [title.split(":")[0] for title in titles] == ["beta = 1", "beta = 4"]
    codes = shapes.runs(beta=1)[0].codes
    rows = np.random.default_rng(0).permutation(len(codes))
    inside, outside = codes[rows[:128]], codes[rows[128:]]
    rng = np.random.default_rng(0)
    picked = rng.permutation(len(outside))[:64]
    sigma = np.exp(outside.logvars[picked] / 2)
    z = outside.means[picked] + sigma * rng.standard_normal(outside.means[picked].shape)
    pairs = norm.logpdf(z[:, None], inside.means, np.exp(inside.logvars / 2))
    joint = np.log(np.exp(pairs.sum(-1)).mean(1))
    product = np.log(np.exp(pairs).mean(1)).sum(-1)
    found = float(re.search(r"TC ≈ (\S+) nats", titles[0])[1].replace("−", "-"))
    assert found == pytest.approx((joint - product).mean(), rel=0.02, abs=1e-3)


def test_log_density_histograms_say_the_total_correlation_with_its_sign():
    joint, product = np.array([-10.0, -12.0]), np.array([-9.0, -9.5])
    figure = drawings.log_densities({"β = 5": (joint, product), "β = 9": (product, joint)})
    assert figure.axes[0].get_title() == "β = 5: TC ≈ −1.75 nats"
    assert figure.axes[1].get_title() == "β = 9: TC ≈ 1.75 nats"
    assert len(figure.axes) == 4
    assert all("nats" in axes.get_xlabel() for axes in figure.axes)
    assert figure.axes[2].patches[0].get_data().values.sum() == 2


def test_the_noise_varies_and_the_code_stays(generator):
    made = drawings.varied_noise(generator, images=3, draws=4)
    assert list(made) == ["infowgan_gp", "infogan"]
    sheet = drawn(made["infogan"].axes[0])
    assert sheet.shape[1] > 1.5 * sheet.shape[0], "three rows of an original and four images"
    run = generator.runs(recipe="infogan")[0]
    original = run.data.images[0].numpy()[0]
    corner = sheet[: original.shape[0] + 2, : original.shape[1] + 2]
    assert corner.min() < 0.01
    assert traversals(generator).keys() == made.keys()


def test_noise_is_varied_of_generators_alone(shapes):
    with pytest.raises(DistaffError, match="only GANs"):
        drawings.varied_noise(shapes)
