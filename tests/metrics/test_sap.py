from itertools import combinations, product

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from distaff import Codes, DistaffError
from distaff.metrics import sap
from distaff.metrics.predictability import r_squared, svm_accuracies, threshold_accuracies
from distaff.metrics.support_vectors import machines
from tests.metrics.toys import grid, noise_codes, perfect_codes

CLASSES = grid()
RNG = np.random.default_rng(0)


def best_thresholds_by_trying_all(latent, classes, size):
    """Balanced accuracy of the best cuts and labels, by brute force over distinct values."""
    values = np.unique(latent)
    recalls = np.stack([[(latent[classes == c] == v).mean() for v in values] for c in range(size)])
    best = 0.0
    for cuts in combinations(range(1, len(values)), size - 1):
        parts = np.split(np.arange(len(values)), cuts)
        for labels in product(range(size), repeat=size):
            best = max(best, sum(recalls[c, part].sum() for c, part in zip(labels, parts, strict=True)))
    return best / size


@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_threshold_search_finds_the_best_cuts(size):
    for _ in range(5):
        latent = RNG.integers(0, 8, 60).astype(float)
        classes = RNG.integers(0, size, 60)
        classes[:size] = range(size)
        found = threshold_accuracies(Codes(latent[:, None]), classes[:, None], [size])
        assert found.item() == pytest.approx(best_thresholds_by_trying_all(latent, classes, size))


def best_thresholds_row_by_row(latent, classes, size):
    """Balanced accuracy of the best cuts of a line of any values.

    The most recall that up to m intervals win so far, the last of them with label c: a row adds to those
    with its own label, and between distinct values a new interval may begin.
    """
    order = np.argsort(latent)
    counts = np.bincount(classes)
    won = np.full((size, size), -np.inf)
    won[0] = 0
    for before, row in zip([None, *order], order, strict=False):
        if before is not None and latent[before] != latent[row]:
            won[1:] = np.maximum(won[1:], won[:-1].max(axis=1, keepdims=True))
        won[:, classes[row]] += 1 / counts[classes[row]]
    return won.max() / size


def predictability(latent, classes):
    """How well thresholds on one latent predict one factor, by ``sap``."""
    codes = np.stack([latent, np.zeros(len(latent))], axis=1)
    return sap(codes, classes).details["predictability"][0, 0]


@pytest.mark.parametrize("size", [2, 10, 40, 100, 183, 300, 1000])
def test_perfect_codes_are_cut_at_class_boundaries_whatever_the_number_of_classes(size):
    classes = RNG.permutation(np.arange(20 * size) % size)
    latent = RNG.permutation(size)[classes] + 0.3 * RNG.uniform(-1, 1, len(classes))
    assert predictability(latent, classes) == 1
    outliers = RNG.random(len(latent)) < 0.001
    latent[outliers] = RNG.uniform(0, size, outliers.sum())
    assert predictability(latent, classes) > 0.998 - outliers.mean()


@pytest.mark.parametrize(("size", "noise"), [(2, 1.0), (3, 0.5), (10, 0.4), (10, 2.0), (20, 0.5), (20, 50)])
def test_the_thresholds_of_a_real_latent_are_the_best(size, noise):
    classes = RNG.permutation(np.arange(2000) % size)
    latent = classes + noise * RNG.normal(size=2000)
    best = best_thresholds_row_by_row(latent, classes, size)
    assert best - 0.004 < predictability(latent, classes) < best + 1e-9


def test_r_squared_is_the_squared_correlation():
    z = RNG.normal(size=(500, 3))
    y = z @ RNG.normal(size=(3, 2)) + RNG.normal(size=(500, 2))
    expected = np.corrcoef(z.T, y.T)[:3, 3:] ** 2
    np.testing.assert_allclose(r_squared(Codes(z), y), expected, rtol=1e-9)


def test_a_categorical_latent_explains_the_variance_between_its_classes():
    kinds = RNG.integers(0, 3, 3000)
    y = np.array([0.0, 1.0, 5.0])[kinds] + RNG.normal(size=3000)
    within = np.mean(
        [(y[kinds == c] - y[kinds == c].mean()) ** 2 @ np.ones((kinds == c).sum()) for c in range(3)]
    )
    expected = 1 - 3 * within / len(y) / y.var()
    codes = Codes(np.zeros((3000, 0)), categories={"c": np.eye(3)[kinds]})
    assert r_squared(codes, y[:, None]).item() == pytest.approx(expected, abs=0.002)


def test_the_svm_is_scikit_learns():
    codes = Codes(perfect_codes(CLASSES) + RNG.normal(size=(len(CLASSES), 5)))
    rows = RNG.permutation(len(CLASSES))
    train, test = rows[:2000], rows[2000:]
    standardised = (codes.means - codes.means.mean(0)) / codes.means.std(0)
    for z, standardise in ((codes.means, False), (standardised, True)):
        found = svm_accuracies(codes, CLASSES[:, :2], train, test, 0.01, standardise)
        model = LinearSVC(C=0.01, class_weight="balanced").fit(z[train, 1:2], CLASSES[train, 1])
        assert found[1, 1] == pytest.approx(model.score(z[test, 1:2], CLASSES[test, 1]), abs=1e-9)


def test_scales_matter_to_the_svm_as_it_is_and_not_to_the_standardised_one():
    codes = perfect_codes(CLASSES) + RNG.normal(size=(len(CLASSES), 5))
    for protocol, same in (("locatello19", False), ("locatello19-standardised", True)):
        whole, small = (sap(scale * codes, CLASSES, protocol=protocol).value for scale in (1, 0.01))
        assert (abs(whole - small) < 1e-3) is same


def test_perfect_codes_have_the_largest_gap_and_noise_none():
    perfect = perfect_codes(CLASSES, 8)
    assert sap(perfect, CLASSES, continuous=True).value > 0.98
    by_class = sap(perfect, CLASSES)
    chances = 1 / np.array([3, 4, 5, 6, 8])
    np.testing.assert_allclose(list((by_class.per_factor or {}).values()), 1 - chances, atol=0.05)
    assert sap(noise_codes(CLASSES), CLASSES).value < 0.02
    assert sap(noise_codes(CLASSES), CLASSES, continuous=True).value < 0.01


def test_a_duplicated_latent_has_no_gap():
    codes = perfect_codes(CLASSES)
    assert sap(np.concatenate([codes, codes], axis=1), CLASSES).value == pytest.approx(0, abs=1e-9)


def test_real_factors_are_scored_by_r_squared_without_being_told():
    y = RNG.normal(size=(1000, 2))
    score = sap(np.concatenate([y, RNG.normal(size=(1000, 2))], axis=1), y)
    assert score.settings["continuous"] == ["factor0", "factor1"]
    assert score.value > 0.98


@pytest.mark.parametrize("protocol", ["kumar18", "locatello19"])
def test_numbers_are_named_among_factors_that_lack_different_labels(protocol):
    y = RNG.integers(0, 4, size=(400, 3)).astype(np.float64)
    z = y + RNG.normal(size=y.shape)
    gaps = RNG.random(y.shape) < [0.0, 0.3, 0.5]
    score = sap(z, np.where(gaps, np.nan, y), protocol=protocol, continuous=["factor1"])
    for k, name in enumerate(("factor0", "factor1", "factor2")):
        own = sap(z[~gaps[:, k]], y[~gaps[:, k], k], protocol=protocol, continuous=k == 1)
        assert score.per_factor[name] == pytest.approx(own.value, abs=1e-12)
    assert score.settings["continuous"] == ["factor1"]
    assert score.value == pytest.approx(np.mean(list(score.per_factor.values())))


def test_bad_input_is_refused():
    with pytest.raises(DistaffError, match="only one"):
        sap(noise_codes(CLASSES, 1), CLASSES)
    with pytest.raises(DistaffError, match="did you mean 'factor0'"):
        sap(noise_codes(CLASSES), CLASSES, continuous=["factor_0"])
    with pytest.raises(DistaffError, match="quantize_factors"):
        sap(noise_codes(CLASSES), RNG.normal(size=len(CLASSES)), continuous=False)


def liblinears(x, classes, penalty=0.01):
    """scikit-learn's machine, solved closely."""
    model = LinearSVC(C=penalty, class_weight="balanced", dual=False, tol=1e-10, max_iter=100_000)
    return model.fit(x[:, None], classes)


LATENTS = {
    "clear": lambda rng, y: y + 0.3 * rng.normal(size=len(y)),
    "mixed": lambda rng, y: y + 2.0 * rng.normal(size=len(y)),
    "noise": lambda rng, y: rng.normal(size=len(y)),
    "small": lambda rng, y: 1e-4 * (y + rng.normal(size=len(y))),
    "large": lambda rng, y: 1e3 * (y + rng.normal(size=len(y))),
    "far": lambda rng, y: 50 + y + rng.normal(size=len(y)),
    "steps": lambda rng, y: (y + 1) // 2 * 1.0,
    "falling": lambda rng, y: -y + rng.normal(size=len(y)),
    "constant": lambda rng, y: np.full(len(y), 0.3),
}


@pytest.mark.parametrize("size", [2, 3, 12])
@pytest.mark.parametrize("kind", LATENTS)
def test_machines_of_one_input_are_scikit_learns(kind, size):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = np.minimum(rng.geometric(1.5 / size, 1500) - 1, size - 1)  # uneven classes
        x = LATENTS[kind](rng, y)
        model = liblinears(x[:1000], y[:1000])
        found = machines(x[:1000], y[:1000, None], (size,), 0.01)
        right = [
            (guess == y[1000:]).sum()
            for guess in (found.guesses(x[1000:])[:, 0], model.predict(x[1000:, None]))
        ]
        assert abs(right[0] - right[1]) <= 1
        scale = np.abs(model.coef_).max()
        assert found.slopes[-len(model.coef_) :] == pytest.approx(model.coef_[:, 0], abs=1e-4 * scale)
        assert found.heights[-len(model.coef_) :] == pytest.approx(model.intercept_, abs=1e-4)


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
def test_machines_reach_the_lowest_point_where_liblinear_stops_before():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 2000)
    x = np.where(np.arange(2000) == 5, 1e6, y + rng.normal(size=2000))
    found, model = machines(x, y[:, None], (10,), 0.01), liblinears(x, y)
    for c in range(10):
        side, weight = np.where(y == c, 1, -1), np.where(y == c, 0.01 * 2000 / (10 * (y == c).sum()), 0.01)

        def loss(w, b, side=side, weight=weight):
            return (w**2 + b**2) / 2 + (weight * np.maximum(0, 1 - side * (w * x + b)) ** 2).sum()

        reached = loss(found.slopes[c], found.heights[c])
        assert reached <= loss(model.coef_[c, 0], model.intercept_[c]) + 1e-10
        for w, b in rng.normal(size=(5, 2)):
            assert reached <= loss(found.slopes[c] + 1e-6 * w, found.heights[c] + 1e-3 * b)


def test_machines_of_several_factors_are_those_of_each_and_a_class_without_rows_is_never_guessed():
    rng = np.random.default_rng(1)
    classes = np.stack([rng.integers(0, 3, 600), rng.integers(0, 2, 600) * 3, np.zeros(600, int)], axis=1)
    x = classes @ [1.0, 0.5, 0.0] + rng.normal(size=600)
    together = machines(x, classes, (3, 5, 1), 0.01).guesses(x)
    for k, size in enumerate((3, 5, 1)):
        assert (machines(x, classes[:, k, None], (size,), 0.01).guesses(x)[:, 0] == together[:, k]).all()
    assert set(together[:, 1]) == {0, 3}
    assert (liblinears(x, classes[:, 1]).predict(x[:, None]) == together[:, 1]).all()


@pytest.mark.parametrize("scale", [0.0, 1e-200, 1.0, 1e200])
@pytest.mark.parametrize("offset", [0.0, 10.0, 1e9])
@pytest.mark.parametrize("told", [0, 1])
def test_machines_of_inputs_of_any_size_are_finite(scale, offset, told):
    y = np.arange(60) % 3
    x = scale * (offset + np.random.default_rng(0).normal(size=60) + 1e3 * told * (y == 0))
    found = machines(x, y[:, None], (3,), 0.01)
    assert np.isfinite(found.slopes).all()
    assert np.isfinite(found.heights).all()


def test_a_categorical_latent_predicts_its_factor_by_support_vectors_too():
    noise, own = RNG.normal(size=(len(CLASSES), 1)), np.eye(CLASSES[:, 0].max() + 1)[CLASSES[:, 0]]
    rows = RNG.permutation(len(CLASSES))
    train, test = np.split(rows, [2 * len(rows) // 3])
    found = svm_accuracies(Codes(noise, categories={"own": own}), CLASSES, train, test, 0.01, False)
    assert found.shape == (2, CLASSES.shape[1])
    assert found[1, 0] == 1
    assert found[0, 0] < 0.9
