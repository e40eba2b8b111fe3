"""Quantiles of strays in classes of many rows, against the plain form: all rows, class by class."""

import numpy as np
import pytest

from distaff.metrics import irs, pieces, strays_by_class
from distaff.metrics.factor_vae import Groups
from distaff.metrics.strays_by_class import read_together, strays_of

SIZES = (3, 5, 2)
ROWS = 6000

CODES = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "skewed": lambda rng, shape: rng.gamma(0.5, size=shape),
    "outliers": lambda rng, shape: rng.standard_cauchy(size=shape),
    "far from zero": lambda rng, shape: 1e6 + rng.normal(size=shape),
    "tiny": lambda rng, shape: 1e-30 * rng.normal(size=shape),
    "hundredths": lambda rng, shape: rng.normal(size=shape).round(2),
    "integers": lambda rng, shape: rng.integers(-3, 4, size=shape),
    "two values": lambda rng, shape: rng.random(shape) < 0.3,
    "sparse": lambda rng, shape: rng.normal(size=shape) * (rng.random(shape) < 0.02),
    "constant": lambda rng, shape: np.full(shape, 0.1) * [1, -1e5, 0],
}


def draw(kind, dtype=np.float64):
    rng = np.random.default_rng(0)
    means = CODES[kind](rng, (ROWS, 3)).astype(dtype)
    return means, np.stack([rng.integers(size, size=ROWS) for size in SIZES], axis=1)


def found(means, classes, quantile):
    groups = [Groups(np.ascontiguousarray(y), int(y.max()) + 1) for y in classes.T]
    return strays_of(means, quantile, groups)


def plain(means, classes, quantile):
    means = means.astype(np.float64)
    groups = [means[y == c] for y in classes.T for c in range(y.max() + 1)]
    centres = [z.mean(axis=0, dtype=np.longdouble).astype(np.float64) for z in groups]
    return np.array(
        [np.quantile(np.abs(z - c), quantile, axis=0) for z, c in zip(groups, centres, strict=True)]
    )


def assert_plain(means, classes, quantile=0.99):
    rounding = 1e-14 * np.abs(means).max()  # that of the mean of large numbers
    expected = plain(means, classes, quantile)
    by_class, furthest = found(means, classes, quantile)
    np.testing.assert_allclose(np.concatenate(by_class), expected, rtol=1e-12, atol=rounding)
    means = means.astype(np.float64)
    centre = means.mean(axis=0, dtype=np.longdouble).astype(np.float64)
    np.testing.assert_allclose(furthest, np.abs(means - centre).max(axis=0), rtol=1e-12, atol=rounding)


@pytest.fixture
def read_whole(monkeypatch):
    """The numbers of rows of the classes that were read as a whole."""
    rows = []
    whole = strays_by_class.quantile_of_strays
    monkeypatch.setattr(
        strays_by_class, "quantile_of_strays", lambda z, q: rows.append(len(z)) or whole(z, q)
    )
    return rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("quantile", [0.05, 0.5, 0.95, 0.99, 0.9995, 1.0])
@pytest.mark.parametrize("kind", CODES)
def test_quantiles_are_those_of_the_plain_form(kind, quantile, dtype):
    assert_plain(*draw(kind, dtype), quantile)


@pytest.mark.parametrize("kind", ["normal", "skewed", "outliers", "far from zero", "hundredths"])
def test_few_classes_are_read_as_a_whole(kind, read_whole):
    assert_plain(*draw(kind))
    assert len(read_whole) < sum(SIZES) / 2


@pytest.mark.parametrize(("limit", "times_read"), [(0, [0]), (2.5, [0, 1, 2]), (3, [3]), (np.inf, [3])])
def test_limits_that_are_guessed_wrongly_change_nothing(monkeypatch, read_whole, limit, times_read):
    monkeypatch.setattr(
        strays_by_class, "_limits", lambda sample, seen, centre, share: np.full(centre.shape, limit)
    )
    means, classes = draw("normal")
    assert_plain(means, classes)
    assert sum(read_whole) // ROWS in times_read  # how many of the three factors are read class by class


def test_rows_that_mislead_the_sample_change_nothing(monkeypatch, read_whole):
    """The rows of the sample stray further than all others."""
    monkeypatch.setattr(strays_by_class, "_SAMPLED", 1000)
    monkeypatch.setattr(strays_by_class, "_FEW", 1)
    means, classes = draw("normal")
    sampled = np.arange(0, ROWS, 1000) + np.random.default_rng(0).integers(1000, size=6)
    means[sampled] *= 100
    assert_plain(means, classes)
    assert read_whole


def test_latents_that_follow_factors_are_compared_with_the_limits_of_each_class():
    means, classes = draw("normal")
    assert_plain(0.01 * means + classes, classes)
    assert_plain(means * (1 + classes), classes)
    assert_plain(classes.astype(np.float32), classes)


def test_rows_in_the_order_of_a_grid():
    classes = np.indices((3, 5, 2, 400)).reshape(4, -1).T
    means = classes[:, 3:] / 400 + classes[:, :3] * [1, 0.1, 0]
    assert_plain(means, classes[:, :3])


def test_classes_of_one_row_or_of_none_in_the_sample():
    means, classes = draw("normal")
    classes[:, 1] = 0
    classes[[1, 5, 17, 18], 1] = [1, 2, 3, 3]
    for quantile in (0.5, 0.99, 1.0):
        assert_plain(means, classes, quantile)


@pytest.mark.parametrize("rows", [1, 2, 7, 9, 100, 2999, 3001])
def test_factors_of_few_rows_and_of_many(rows):
    rng = np.random.default_rng(rows)
    classes = np.stack([np.arange(rows) % min(rows, size) for size in (1, 3, 40)], axis=1)
    assert_plain(rng.normal(size=(rows, 5)).astype(np.float32), classes)


def test_many_factors_and_few_combinations_together():
    rng = np.random.default_rng(0)
    groups = [Groups(rng.integers(size, size=100), size) for size in (2,) * 12 + (2000, 3)]
    parts = read_together(groups, 10)
    assert [len(part) for part in parts] == [11, 1, 1, 1]
    assert [group for part in parts for group in part] == groups


def test_places_of_few_are_those_of_numpy():
    rng = np.random.default_rng(0)
    for shape, share in (((80, 10), 0.03), ((7, 3), 0.3), ((16, 1), 0), ((16, 4), 1), ((0, 8), 0)):
        few = rng.random(shape) < share
        assert strays_by_class._nonzero(few).tolist() == np.flatnonzero(few).tolist()


def test_strays_are_in_order_within_their_cells():
    rng = np.random.default_rng(0)
    for count, cells, spread in ((0, 1, 1), (1, 1, 1), (1000, 1, 1), (1000, 40, 3), (5000, 8000, 100)):
        values, cell = np.exp(spread * rng.normal(size=count)), rng.integers(cells, size=count)
        expected = values[np.lexsort((values, cell))]
        np.testing.assert_allclose(
            strays_by_class._in_order(values, cell, np.arange(count)),
            expected,
            rtol=1e-11 if spread > 9 else 1e-15,
        )


def test_irs_of_factors_with_missing_labels_reads_the_rows_that_have_them():
    means, classes = draw("normal", np.float32)
    values = classes.astype(float)
    values[::7, 1] = np.nan
    largest = np.abs(means - means.mean(axis=0, dtype=np.float64)).max(axis=0)
    known = np.arange(ROWS) % 7 > 0
    expected = 1 - plain(means[known], classes[known, 1:2], 0.99).mean(axis=0) / largest
    np.testing.assert_allclose(irs(means, values).details["robustness"][:, 1], expected, rtol=1e-12)


def test_irs_of_wide_codes_reads_some_latents_at_a_time(monkeypatch):
    rng = np.random.default_rng(0)
    means, classes = rng.normal(size=(ROWS, 20)), draw("normal")[1]
    whole = irs(means, classes).details["robustness"]
    monkeypatch.setattr(pieces, "BUDGET", 3 * ROWS)
    np.testing.assert_allclose(irs(means, classes).details["robustness"], whole, rtol=1e-12)


def test_parts_that_several_threads_read_change_nothing(monkeypatch):
    monkeypatch.setattr(strays_by_class, "_SHARED", 0)
    monkeypatch.setattr(strays_by_class, "_TABLE", 1)
    assert_plain(*draw("normal"))
