"""Bins of equal width, found by a multiplication: exactly those that comparing with every edge finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distaff.metrics.binned_means import own_bins
from distaff.metrics.strays import quantile_of_strays

VALUES = {
    "normal": lambda rng: rng.normal(size=500),
    "whole": lambda rng: rng.integers(0, 41, 500),  # many on the edges of 20 bins
    "hundredths": lambda rng: np.round(rng.uniform(size=500), 2),
    "outlier": lambda rng: np.append(rng.normal(size=499), 1e6),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    kind=st.sampled_from(sorted(VALUES)),
    seed=st.integers(0, 100),
    scale=st.sampled_from([1e-30, 1e-3, 1.0, 1e5, 1e30]),
    shift=st.sampled_from([0.0, 1.0, -1e3, 1e6, 1e9]),
    bins=st.sampled_from([2, 7, 20, 100, 300]),
)
def test_own_bins_are_those_of_digitize(dtype, kind, seed, scale, shift, bins):
    values = (VALUES[kind](np.random.default_rng(seed)) * scale + shift).astype(dtype)
    if values.min() == values.max():
        assert not own_bins(values, bins).any()
        return
    edges = np.linspace(values.min(), values.max(), bins + 1, dtype=dtype)
    expected = np.minimum(np.digitize(values, edges[:-1]) - 1, bins - 1)
    assert own_bins(values, bins).tolist() == expected.tolist()


@pytest.mark.parametrize("count", [2, 3, 10, 101, 1000])
@pytest.mark.parametrize("quantile", [0.01, 0.3, 0.5, 0.9, 0.99, 1.0])
def test_quantiles_of_strays_are_those_of_numpy(count, quantile):
    z = np.random.default_rng(count).normal(size=(4, count)).astype(np.float32)
    strays = np.abs(z - z.mean(axis=1, dtype=np.float64, keepdims=True))
    expected = np.quantile(strays, quantile, axis=1)
    assert quantile_of_strays(z.T, quantile) == pytest.approx(expected, abs=1e-14)
