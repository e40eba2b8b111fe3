"""Informativeness, separability, TC, SEPIN and INDIN against closed-form Gaussians."""

import gc
import math
import weakref

import numpy as np
import pytest

from distaff import Codes, DistaffError
from distaff.metrics import (
    correlation_matrix,
    indin,
    informativeness,
    separability,
    sepin,
    total_correlation,
    total_information,
    windin,
    wsepin,
)


def gaussian_codes(covariance, noise, count=20_000, seed=0):
    """Means from N(0, covariance) by quantiles as even as a draw can be, and the same noise everywhere.

    q(z) is then N(0, covariance + diag(noise²)) but for the finite number of components.
    """
    rng = np.random.default_rng(seed)
    means = rng.multivariate_normal(np.zeros(len(covariance)), covariance, size=count)
    means -= means.mean(axis=0)
    empirical = np.linalg.cholesky(np.cov(means.T, bias=True).reshape(len(covariance), -1))
    means = means @ np.linalg.inv(empirical).T @ np.linalg.cholesky(covariance).T
    return means, np.broadcast_to(2 * np.log(noise), means.shape).copy()


NOISE = np.array([0.5, 0.4, 0.8])
COVARIANCE = np.array([[1.0, 0.6, 0.0], [0.6, 0.9, 0.1], [0.0, 0.1, 0.5]])
TOTAL = COVARIANCE + np.diag(NOISE**2)
LATENT_INFORMATION = 0.5 * np.log(np.diag(TOTAL) / NOISE**2)
JOINT_INFORMATION = 0.5 * np.log(np.linalg.det(TOTAL) / np.prod(NOISE**2))
CORRELATION = 0.5 * (np.log(np.diag(TOTAL)).sum() - np.log(np.linalg.det(TOTAL)))


def shared_information(i):
    others = [j for j in range(3) if j != i]
    rest = np.linalg.det(TOTAL[np.ix_(others, others)])
    return 0.5 * np.log(TOTAL[i, i] * rest / np.linalg.det(TOTAL))


SHARED = np.array([shared_information(i) for i in range(3)])


@pytest.fixture(scope="module")
def codes():
    return Codes(*gaussian_codes(COVARIANCE, NOISE))


def test_sampled_informativeness_is_the_closed_form(codes):
    score = informativeness(codes, estimate="sampled", normalize=False, samples=20_000)
    np.testing.assert_allclose(list(score.per_latent.values()), LATENT_INFORMATION, atol=0.01)


def test_quantized_informativeness_is_the_closed_form(codes):
    score = informativeness(codes, normalize=False, bins=400, low=-8, high=8)
    np.testing.assert_allclose(list(score.per_latent.values()), LATENT_INFORMATION, atol=2e-3)
    assert score.value == pytest.approx(np.mean(list(score.per_latent.values())))
    assert informativeness(codes, bins=400, low=-8, high=8).value == pytest.approx(
        score.value / math.log(400)
    )


def test_quantized_informativeness_to_a_thousandth_when_means_are_quantiles():
    """With means at the quantiles of N(0, 1 − σ²), q(z) is N(0, 1) and I(x; z) = −log σ."""
    from scipy.stats import norm

    sigma = 0.25
    mu = norm.ppf((np.arange(20_000) + 0.5) / 20_000)[:, None] * math.sqrt(1 - sigma**2)
    codes = Codes(mu, np.full_like(mu, 2 * math.log(sigma)))
    quantized = informativeness(codes, normalize=False, bins=800, low=-8, high=8)
    assert quantized.value == pytest.approx(-math.log(sigma), abs=1e-3)
    sampled = informativeness(codes, estimate="sampled", normalize=False, samples=100_000)
    assert sampled.value == pytest.approx(-math.log(sigma), abs=1e-3)


def test_joint_information_and_total_correlation_are_the_closed_forms(codes):
    assert total_information(codes).value == pytest.approx(JOINT_INFORMATION, abs=0.02)
    score = total_correlation(codes)
    assert score.value == pytest.approx(CORRELATION, abs=0.015)
    assert score.details["total_information"] == total_information(codes).value
    assert score.direction == "lower"


def test_separability_is_the_closed_form(codes):
    found = list(separability(codes).per_latent.values())
    np.testing.assert_allclose(found, SHARED, atol=0.015)


def test_sepin_and_indin_agree_for_a_factorised_encoder_and_with_the_closed_form(codes):
    expected = LATENT_INFORMATION - SHARED
    for one, other in ((sepin, indin), (wsepin, windin)):
        first, second = one(codes), other(codes)
        assert first.value == pytest.approx(second.value, abs=1e-6)
        np.testing.assert_allclose(list(first.per_latent.values()), expected, atol=0.02)
    assert sepin(codes, k=1).value == pytest.approx(expected.max(), abs=0.02)
    weights = LATENT_INFORMATION / LATENT_INFORMATION.sum()
    assert wsepin(codes).value == pytest.approx(weights @ expected, abs=0.02)


def test_noise_latents_change_the_weighted_metrics_little_and_the_plain_mean_much(codes):
    noisy = Codes(
        np.concatenate([codes.means, np.zeros((len(codes), 2))], axis=1),
        np.concatenate([codes.logvars, np.zeros((len(codes), 2))], axis=1),
    )
    assert wsepin(noisy).value == pytest.approx(wsepin(codes).value, abs=0.02)
    assert sepin(noisy).value == pytest.approx(sepin(codes).value, abs=0.02)
    assert informativeness(noisy).value == pytest.approx(0.6 * informativeness(codes).value, rel=1e-3)


def test_rescaling_and_moving_latents_change_no_sampled_information(codes):
    scale = np.array([100.0, 0.01, -3.0])
    moved = Codes(codes.means * scale + 7, codes.logvars + 2 * np.log(np.abs(scale)))
    for measure in (total_correlation, total_information, wsepin):
        assert measure(moved).value == pytest.approx(measure(codes).value, abs=0.03)


def test_deterministic_codes_are_legal_and_reach_the_entropy_of_the_data():
    values = np.stack(np.unravel_index(np.arange(60), (3, 4, 5)), axis=1).astype(float)
    codes = Codes(values, np.full(values.shape, -np.inf))
    assert total_information(codes).value == pytest.approx(math.log(60), abs=1e-3)
    assert total_correlation(codes).value == pytest.approx(0, abs=1e-3)
    found = list(informativeness(codes, estimate="sampled", normalize=False).per_latent.values())
    np.testing.assert_allclose(found, np.log([3, 4, 5]), atol=1e-3)
    quantized = informativeness(codes, normalize=False, low=-8, high=8)
    np.testing.assert_allclose(list(quantized.per_latent.values()), np.log([3, 4, 5]), atol=1e-6)
    assert wsepin(codes).value == pytest.approx(np.square(np.log([3, 4, 5])).sum() / math.log(60), abs=2e-3)


def test_bare_means_are_taken_as_deterministic_with_a_note():
    values = np.random.default_rng(0).normal(size=(50, 2))
    score = total_information(values)
    assert score.value == pytest.approx(math.log(50), abs=0.01)
    assert any("deterministic" in note for note in score.notes)


def test_categorical_latents_take_part_with_exact_sums():
    classes = np.arange(400) % 4
    exact = Codes(np.zeros((400, 0)), None, {"shape": np.eye(4)[classes]})
    assert informativeness(exact).value == pytest.approx(1.0)
    assert total_information(exact).value == pytest.approx(math.log(4))
    rng = np.random.default_rng(0)
    twin = Codes(
        np.where(classes % 2, 1.0, -1.0)[:, None], np.full((400, 1), -6.0), {"shape": np.eye(4)[classes]}
    )
    assert total_correlation(twin).value == pytest.approx(math.log(2), abs=1e-3)
    assert separability(twin).per_latent["shape"] == pytest.approx(math.log(2), abs=1e-3)
    blurred = 0.7 * np.eye(4)[classes] + 0.3 * rng.dirichlet(np.ones(4), size=400)
    noisy = Codes(np.zeros((400, 0)), None, {"shape": blurred})
    average = blurred.mean(axis=0)
    expected = (blurred * np.log(blurred / average)).sum(axis=1).mean()
    assert informativeness(noisy, normalize=False).value == pytest.approx(expected, rel=1e-5)
    assert total_information(noisy, samples=100_000).value == pytest.approx(expected, abs=0.01)


def test_the_range_is_said_to_miss_mass():
    codes = np.random.default_rng(0).normal(size=(500, 2)) * [1, 10]
    score = informativeness(codes, np.zeros((500, 2)))
    assert any("z1" in note and "outside" in note for note in score.notes)
    assert not any("z0" in note for note in score.notes)


def test_correlations_of_means_overrate_what_noisy_latents_share():
    rng = np.random.default_rng(0)
    common = rng.normal(size=(5000, 1))
    means = 0.05 * np.concatenate([common, common], axis=1)
    logvar = np.full(means.shape, math.log(1 - 0.05**2))
    assert correlation_matrix(means, of="means")[0, 1] == pytest.approx(1)
    assert correlation_matrix(means, logvar)[0, 1] == pytest.approx(0.05**2, abs=0.04)
    np.testing.assert_array_equal(np.diag(correlation_matrix(means, logvar)), 1)


def test_latents_that_never_move_correlate_with_nothing():
    z = np.column_stack([np.full(1000, 0.1), np.full(1000, 0.7), np.arange(1000.0)])
    np.testing.assert_array_equal(correlation_matrix(z, of="means"), np.eye(3))
    still = correlation_matrix(z, np.full(z.shape, -np.inf))
    np.testing.assert_array_equal(still, np.eye(3))


def test_probabilities_rounded_below_0_have_their_information():
    """1 − p for p = 1 + 1e-7: a class that two of the three observations never have."""
    exact = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    rounded = exact + np.array([[1e-7, -1e-7], [0, 0], [-1e-7, 1e-7]])
    for probabilities in (exact, rounded):
        codes = Codes(np.empty((3, 0)), categories={"c": probabilities})
        information = np.log(3) - 2 / 3 * np.log(2)
        assert total_information(codes, samples=300).value == pytest.approx(information, abs=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda z: sepin(z, k=9), "k=9 for 2 latents"),
        (lambda z: informativeness(z, estimate="guess"), "unknown estimate 'guess'"),
        (lambda z: informativeness(z, bins=1), "bins=1: it must be"),
        (lambda z: informativeness(z, low=4.0), r"over \[4"),
        (lambda z: total_information(z, samples=1), "samples=1"),
        (lambda z: correlation_matrix(z), "need log-variances"),
        (lambda z: wsepin(z, protocol="chen18"), "unknown protocol"),
    ],
)
def test_wrong_settings_get_a_sentence(call, message):
    with pytest.raises(DistaffError, match=message):
        call(np.random.default_rng(0).normal(size=(30, 2)))


def test_what_is_shared_between_metrics_dies_with_the_codes_and_sees_changes_in_place():
    codes = Codes(*gaussian_codes(COVARIANCE, NOISE, 500))
    before = total_information(codes, samples=500).value
    assert informativeness(codes).value > 0
    assert total_information(codes, samples=500).value == before
    codes.means[:] = 0
    assert total_information(codes, samples=500).value == pytest.approx(0, abs=1e-6)
    alive = weakref.ref(codes)
    del codes
    gc.collect()
    assert alive() is None
