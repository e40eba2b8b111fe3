"""Kernels that select, number and count with few passes, against the plain forms of the same."""

import numpy as np
import pytest

from distaff.metrics import as_factors
from distaff.metrics.logistic import _products
from distaff.metrics.neighbours import _distances
from distaff.metrics.strays import quantile_of_strays
from distaff.metrics.z_diff import _mean_gaps
from distaff.metrics.z_max_variance import _others

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("count", [1, 2, 17, 100, 1601, 5000])
@pytest.mark.parametrize("quantile", [0.001, 0.5, 0.99, 0.999, 1.0])
@pytest.mark.parametrize("decimals", [1, 8])
def test_quantiles_of_deviations_are_numpys(count, quantile, decimals):
    z = RNG.normal(size=(4, count)).round(decimals).astype(np.float32)
    expected = np.quantile(np.abs(z - z.mean(axis=1, dtype=np.float64, keepdims=True)), quantile, axis=1)
    np.testing.assert_allclose(quantile_of_strays(z.T, quantile), expected, rtol=1e-14)


@pytest.mark.parametrize("neighbours", [1, 3, 10, 200])
def test_distances_to_neighbours_of_the_same_class_are_those_of_all_pairs(neighbours):
    labels = np.sort(np.concatenate([RNG.integers(3, size=100), np.full(5, 3), np.full(2, 4)]))
    value = np.concatenate([np.sort(RNG.normal(size=(labels == c).sum())) for c in range(5)])
    found = _distances(value, labels, np.bincount(labels), neighbours)
    for row, (own, label) in enumerate(zip(value, labels, strict=True)):
        distances = np.sort(np.abs(value[labels == label] - own))  # its own is the first of them
        assert found[row] == distances[min(neighbours, len(distances) - 1)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_quantiles_of_deviations_far_from_zero_are_numpys(dtype):
    """Rows as they are in codes; the mean of large numbers is not rounded to their precision."""
    z = (1000 + RNG.gamma(1.0, size=(3001, 5)) * [1, 10, 1, 0, -1]).astype(dtype)
    expected = np.quantile(np.abs(z - z.mean(axis=0, dtype=np.float64)), 0.99, axis=0)
    np.testing.assert_allclose(quantile_of_strays(z, 0.99), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("points", "pairs"), [(1, 1), (3, 7), (2000, 100)])
def test_mean_gaps_are_those_of_each_point_by_itself(points, pairs):
    z = RNG.normal(size=(50, 3))
    first, second = RNG.integers(50, size=(2, points * pairs))
    found = _mean_gaps(z, first, second, pairs)
    for point in {0, points // 2, points - 1}:
        own = zip(first[point::points], second[point::points], strict=True)
        expected = np.mean([np.abs(z[a] - z[b]) for a, b in own], axis=0)
        np.testing.assert_allclose(found[point], expected, rtol=1e-12)


def test_combinations_of_many_factors_are_numbered_in_their_order():
    classes = RNG.integers(40, size=(300, 8))
    classes[150:] = classes[:150]
    for k in range(8):
        changed = np.arange(300) >= 150
        factors = as_factors(np.where(np.eye(8, dtype=bool)[k] & changed[:, None], classes + 1, classes))
        assert np.prod(np.delete(factors.sizes, k), dtype=float) > 1e10  # combinations of the others
        _, expected = np.unique(np.delete(factors.classes, k, axis=1), axis=0, return_inverse=True)
        np.testing.assert_array_equal(_others(factors, k).classes, expected.ravel())


def test_products_of_inputs_are_the_upper_triangle():
    x = RNG.normal(size=(7, 5)).astype(np.float32)
    rows, columns = np.triu_indices(5)
    np.testing.assert_array_equal(_products(x), x[:, rows] * x[:, columns])
