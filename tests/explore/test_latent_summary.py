"""What a page says of latents, against closed forms."""

import numpy as np
import pytest
from scipy.stats import norm

from distaff.codes import Codes
from distaff.explore.latent_summary import factor_information, latent_summaries
from distaff.metrics import as_factors
from distaff.models.priors.parsing import parse_prior
from distaff.models.representation import Representation
from tests import toys


def model(latents: int | str = 2, prior: str = "normal") -> Representation:
    data = toys.tiny_images(8)
    vae = toys.model(data, latents)
    vae.prior = parse_prior(prior, vae.latents)
    return Representation(vae, data.shape)


def gaussian_codes(shares: list[float], count: int = 20_000) -> Codes:
    """q(z_j) = N(0, 1) made of means of variance v and posteriors of variance 1 − v."""
    means = np.random.default_rng(0).standard_normal((count, len(shares))) * np.sqrt(shares)
    return Codes(means, np.tile(np.log1p(-np.array(shares)), (count, 1)))


def test_information_is_that_of_a_gaussian_channel():
    """I(x; z) = ½ log (1 + v / s²) for z = m(x) + noise, Var m = v and noise of variance s²."""
    shares = [0.9, 0.5, 0.1, 0.0]
    found = [latent.information for latent in latent_summaries(model(4), gaussian_codes(shares))]
    np.testing.assert_allclose(found, -0.5 * np.log1p(-np.array(shares)), atol=0.02)


def test_a_deterministic_latent_has_finite_information():
    codes = Codes(np.linspace(-2, 2, 1000)[:, None], np.full((1000, 1), -np.inf))
    assert np.log(40) < latent_summaries(model(1), codes)[0].information <= np.log(96)


def test_histograms_are_the_masses_of_their_bars():
    latent = latent_summaries(model(1), gaussian_codes([0.5]))[0]
    assert latent.reach == 3
    masses = np.diff(norm.cdf(np.linspace(-3, 3, 37)))
    np.testing.assert_allclose(latent.prior, masses, atol=2e-3)  # 2¹⁸ draws
    np.testing.assert_allclose(latent.posterior, masses, atol=2e-3)


def test_reach_follows_the_prior_and_the_codes():
    assert latent_summaries(model(2, "mixture:0.03"), gaussian_codes([0.0, 0.0]))[0].reach == 1.5
    wide = Codes(10 * gaussian_codes([0.5]).means, gaussian_codes([0.5]).logvars)
    assert 17 < latent_summaries(model(1), wide)[0].reach < 20


def test_classes_stand_beside_the_priors():
    probabilities = np.tile([0.7, 0.2, 0.1], (100, 1))
    codes = Codes(np.zeros((100, 1)), np.zeros((100, 1)), {"kind": probabilities})
    kind = latent_summaries(model("z=gaussian:1,kind=concrete:3"), codes)[1]
    np.testing.assert_allclose(kind.posterior, [0.7, 0.2, 0.1], rtol=1e-6)
    np.testing.assert_allclose(kind.prior, [1 / 3] * 3, atol=0.03)
    assert kind.information == pytest.approx(0, abs=1e-6)
    assert kind.steps(9).tolist() == [0, 1, 2]


def test_bits_stand_beside_the_priors():
    ones = np.repeat([[1.0, 0.0], [0.0, 1.0]], [25, 75], axis=0)
    codes = Codes(np.zeros((100, 0)), np.zeros((100, 0)), {"b0": ones})
    bit = latent_summaries(model("b=bernoulli:1"), codes)[0]
    np.testing.assert_allclose(bit.posterior, [0.25, 0.75])
    np.testing.assert_allclose(bit.prior, [0.5, 0.5], atol=0.03)
    assert bit.information == pytest.approx(-0.25 * np.log(0.25) - 0.75 * np.log(0.75))


def test_a_latent_that_is_a_factor_knows_its_entropy():
    classes = np.arange(1000) % 4
    means = np.stack([classes - 1.5, np.zeros(1000)], 1)
    codes = Codes(means, np.full((1000, 2), -12.0))
    information, entropies, notes = factor_information(
        codes, latent_summaries(model(2), codes), as_factors(classes[:, None])
    )
    np.testing.assert_allclose(entropies, [np.log(4)])
    np.testing.assert_allclose(information, [[np.log(4)], [0]], atol=1e-4)
    assert notes == ()


def test_real_valued_factors_are_binned_and_it_is_said():
    angles = np.random.default_rng(0).uniform(size=1000)
    codes = Codes(np.stack([4 * angles - 2, np.zeros(1000)], 1), np.full((1000, 2), -12.0))
    information, _, notes = factor_information(
        codes, latent_summaries(model(2), codes), as_factors(angles[:, None])
    )
    assert information[0, 0] > 2
    assert len([note for note in notes if "binned into 20 classes" in note]) == 1
