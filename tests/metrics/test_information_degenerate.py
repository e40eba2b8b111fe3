"""Odd but legal arrays: every information metric gives finite numbers within its bounds, or one sentence."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from distaff import Codes, DistaffError
from distaff.metrics import (
    indin,
    informativeness,
    jemmig,
    mig,
    misjed,
    modularity,
    rmig,
    separability,
    sepin,
    total_correlation,
    total_information,
    windin,
    wsepin,
)
from distaff.metrics.binned_means import Bins
from distaff.metrics.metric import card_of
from distaff.metrics.quantized import posterior_tables

OF_CODES = [informativeness, misjed, separability, sepin, total_correlation, total_information, wsepin]
OF_CODES += [indin, windin]
LABELLED = [mig, modularity, rmig, jemmig]


@st.composite
def odd_codes(draw):
    """Codes with constant, tiny, huge, duplicated and deterministic latents, perhaps a categorical one."""
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    count, dims = draw(st.integers(2, 30)), draw(st.integers(1, 4))
    means = rng.normal(size=(count, dims))
    means *= 10.0 ** np.array(draw(st.lists(st.integers(-12, 12), min_size=dims, max_size=dims)))
    if draw(st.booleans()):
        means[:, 0] = draw(st.sampled_from([0.0, 3.0, -1e6]))
    if draw(st.booleans()):
        means[:, -1] = means[:, 0]
    logvars = rng.normal(size=means.shape) * 3
    logvars[rng.random(means.shape) < draw(st.sampled_from([0, 0.5, 1]))] = -np.inf
    if draw(st.booleans()):
        logvars[:, 0] = draw(st.sampled_from([-80.0, 40.0, 0.0]))
    categories = {"kind": np.eye(3)[rng.integers(3, size=count)]} if draw(st.booleans()) else {}
    kind = draw(st.sampled_from([np.float32, np.float64]))
    known = draw(st.booleans())
    return Codes(means.astype(kind), logvars.astype(kind) if known else None, categories)


def check(measure, *arguments, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            score = measure(*arguments, **settings)
        except DistaffError:
            return
    low, high = card_of(measure).bounds
    assert np.isfinite(score.value)
    error = 0.2 if settings else 0.01  # of sixty samples
    assert low - error <= score.value <= high + error
    for parts in (score.per_latent, score.per_factor):
        assert parts is None or np.isfinite(list(parts.values())).all()


@settings(max_examples=40, deadline=None, derandomize=True)
@given(odd_codes())
def test_metrics_of_codes_alone(codes):
    for measure in OF_CODES:
        sampled = {} if measure in (informativeness, misjed) else {"samples": 60}
        check(measure, codes, **sampled)
    check(informativeness, codes, estimate="sampled", samples=60)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(odd_codes(), st.integers(1, 3), st.integers(0, 100))
def test_labelled_metrics(codes, count, seed):
    factors = np.random.default_rng(seed).integers(3, size=(len(codes), count))
    for measure in LABELLED:
        check(measure, codes, factors)
    check(mig, codes, factors, protocol="chen18", samples=60)
    check(modularity, codes, factors, protocol="correct")
    check(rmig, codes, factors, normalize=True, bootstrap=10)


def test_nan_is_refused():
    z = np.zeros((10, 2))
    z[3, 1] = np.nan
    for measure in OF_CODES:
        with pytest.raises(DistaffError, match="row 3"):
            measure(z, np.zeros((10, 2)))


@pytest.mark.parametrize("mu", [0.3, -3.9, 4.2, 5.8, -7.0, 40.0, -1e6, 1e10, 1e20, 1e37])
@pytest.mark.parametrize("sigma", [0.05, 0.5, 3.0, 1e3, 1e6, 1e15])
def test_a_posterior_that_is_mostly_outside_is_renormalised_as_any_other(mu, sigma):
    """Its density at a thousand places of each bin, summed up in logarithms."""
    bins = Bins(100, -4.0, 4.0)
    places = np.linspace(bins.low, bins.high, 100_001)[:-1] + 4e-5
    heights = places * (mu - places / 2) / sigma**2
    expected = np.exp(heights - heights.max()).reshape(100, 1000).sum(axis=1)
    codes = Codes(np.full((2, 1), mu), np.full((2, 1), 2 * np.log(sigma)))
    found = posterior_tables(codes, bins)
    assert found.masses[0] == pytest.approx(expected / expected.sum(), abs=2e-6)
    beyond = 1 - np.diff(norm.cdf((np.array([-4, 4]) - mu) / sigma)).item()
    assert found.outside == pytest.approx([beyond], abs=1e-6)
