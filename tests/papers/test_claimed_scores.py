"""Scores that only claims need: of batch estimates, settings, continuous codes, bins and samples."""

import numpy as np
import pytest

from distaff import Codes
from distaff.metrics import factor_vae_score, rmig, z_diff
from studies.do20 import estimates
from studies.kim18.batch_estimate import batch_total_correlation
from studies.kim18.codes import class_in_real_latents
from studies.kim18.steadiness import factor_vae_range, higgins_after_few, higgins_after_many, higgins_range


@pytest.fixture
def factors():
    return np.indices((4, 5, 6)).reshape(3, -1).T.repeat(10, axis=0)


@pytest.mark.parametrize(("spread", "fails"), [(0.0, False), (-12.0, True)])
def test_a_batch_tells_the_total_correlation_only_where_posteriors_overlap(spread, fails):
    rng = np.random.default_rng(0)
    means = rng.normal(size=(4000, 6)).astype(np.float32)
    codes = Codes(means, np.full_like(means, spread))
    found = batch_total_correlation(codes, size=2000, samples=1000).value
    assert found < -100 if fails else found == pytest.approx(0, abs=0.1)  # independent latents have none


def test_what_continuous_codes_know_of_a_class_is_that_of_the_best_alone(factors):
    noise = np.random.default_rng(0).normal(size=(len(factors), 1))
    label = factors[:, :1]
    told = class_in_real_latents(Codes(np.hstack([noise, label]).astype(np.float32)), label).value
    nothing = class_in_real_latents(Codes(noise.astype(np.float32)), label).value
    assert told == pytest.approx(1)
    assert nothing < 0.1
    again = class_in_real_latents(Codes(np.hstack([label, label]).astype(np.float32)), label).value
    assert again == pytest.approx(1)  # where the MIG is 0


def test_ranges_over_settings_hold_the_scores_between_their_ends(factors):
    codes = Codes((factors + np.random.default_rng(0).normal(size=factors.shape)).astype(np.float32) / 20)
    ends = {"few": 5, "many": 400, "small": 5, "large": 20, "seeds": 2}
    few, many = (score(codes, factors, **ends).value for score in (higgins_after_few, higgins_after_many))
    own = [z_diff(codes, factors, protocol="kim18", points=50, pairs=20, seed=seed).value for seed in (0, 1)]
    assert few == pytest.approx(np.mean(own))
    assert higgins_range(codes, factors, **ends).value >= many - few > 0
    steady = factor_vae_range(codes, factors, few=50, many=50, small=20, large=20, seeds=2).value
    assert steady == 0
    moved = factor_vae_range(codes, factors, few=50, many=400, small=5, large=20, seeds=2).value
    lowest, highest = (
        np.mean([factor_vae_score(codes, factors, votes=v, size=s, seed=seed).value for seed in (0, 1)])
        for v, s in ((50, 5), (400, 20))
    )
    assert moved >= abs(highest - lowest) > 0


def test_estimates_of_gaps_differ_in_bins_and_samples_alone(factors):
    means = (factors - factors.mean(0)).astype(np.float32) / 2
    codes = Codes(means, np.full_like(means, -6.0))
    assert estimates.coarse_rmig(codes, factors).value == rmig(codes, factors, bins=20).value
    fine, finer = estimates.fine_rmig(codes, factors).value, estimates.finer_rmig(codes, factors).value
    assert fine == pytest.approx(finer, abs=0.02)
    sampled = estimates.sampled_rmig(codes, factors, samples=2000).value
    assert sampled == pytest.approx(finer, abs=0.05)
    by_bins, by_samples = estimates.finer_jemmig(codes, factors), estimates.sampled_jemmig(codes, factors)
    assert by_bins.value - by_samples.value == pytest.approx(-np.log(8 / 500), abs=0.1)
    assert estimates.jemmig_of_few(codes, factors).value == pytest.approx(by_samples.value, abs=0.1)
