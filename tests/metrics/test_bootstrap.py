import numpy as np
import pytest

from distaff import DistaffError
from distaff.metrics.bootstrap import (
    checked_draws,
    interval,
    resample_counts,
    resample_means,
    resample_weights,
)


def test_weights_count_every_item_of_each_resample():
    weights = resample_weights(30, 50, np.random.default_rng(0))
    assert weights.shape == (50, 30)
    assert (weights.sum(1) == 30).all()


def test_resampled_means_spread_as_the_standard_error():
    values = np.random.default_rng(1).normal(size=(2000, 2))
    means = resample_means(values, 1000, np.random.default_rng(2))
    assert means.shape == (1000, 2)
    np.testing.assert_allclose(means.std(0), values.std(0) / np.sqrt(2000), rtol=0.1)
    np.testing.assert_allclose(means.mean(0), values.mean(0), atol=0.003)


def test_resampled_counts_keep_the_total_and_the_empty_cells():
    counts = np.array([[5, 0], [10, 85]])
    drawn = resample_counts(counts, 100, np.random.default_rng(0))
    assert (drawn.sum((1, 2)) == 100).all()
    assert (drawn[:, 0, 1] == 0).all()


def test_the_interval_holds_the_value_though_resampling_is_biased():
    low, high = interval(0.5, np.random.default_rng(0).normal(0.7, 0.1, 1000), (0.0, 1.0))
    assert low == pytest.approx(0.5 - 0.196, abs=0.03)
    assert high == pytest.approx(0.5 + 0.196, abs=0.03)
    assert interval(0.99, np.random.default_rng(0).normal(0.9, 0.1, 1000), (0.0, 1.0))[1] == 1.0


@pytest.mark.parametrize("draws", [-1, 1, 19])
def test_too_few_draws_are_refused(draws):
    with pytest.raises(DistaffError, match="20 draws"):
        checked_draws(draws)
