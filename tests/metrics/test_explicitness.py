import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from distaff import Codes
from distaff.metrics import explicitness, logistic
from distaff.metrics.explicitness import area_under_roc
from distaff.metrics.logistic import multinomial, one_versus_rest
from tests.metrics.toys import grid, noise_codes, perfect_codes

CLASSES = grid((2, 3, 4), repeats=40)
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("noise", [0.0, 0.5, 5.0])
def test_all_regressions_at_once_are_scikit_learns_one_by_one(noise):
    x = perfect_codes(CLASSES) + noise * noise_codes(CLASSES, 3)
    weights = one_versus_rest(x, CLASSES, (2, 3, 4))
    column = 0
    for k, size in enumerate((2, 3, 4)):
        for c in range(size):
            model = LogisticRegression(tol=1e-8, max_iter=10_000).fit(x, CLASSES[:, k] == c)
            np.testing.assert_allclose(weights[:-1, column], model.coef_[0], atol=0.02, rtol=0.01)
            column += 1


@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("spread", [0.0, 1.0, 30.0, 1000.0])
@pytest.mark.parametrize("penalty", [1.0, 0.01])
def test_a_softmax_is_scikit_learns(classes, spread, penalty):
    """Equal, overlapping and separable classes; the last have a minimum only because of the penalty."""
    labels = np.arange(700) % classes
    x = RNG.normal(size=(700, 4)) + spread * RNG.normal(size=(classes, 4))[labels]
    weights = multinomial(x, labels, classes, penalty)
    model = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=100_000).fit(x, labels)
    both = np.concatenate([model.coef_.T, model.intercept_[None]])
    if classes == 2:  # scikit-learn has the difference of the two
        weights, both = np.diff(weights, axis=1), np.concatenate([0 * both, both], axis=1)
        weights = np.concatenate([0 * weights, weights], axis=1)

    def loss(w):
        own = log_softmax(x @ w[:-1] + w[-1], axis=1)[np.arange(len(x)), labels]
        return penalty / 2 * (w[:-1] ** 2).sum() - own.sum()

    assert loss(both) - 1e-6 <= loss(weights) <= loss(both) + 2e-3
    guesses = (x @ weights[:-1] + weights[-1]).argmax(axis=1)
    if spread:  # otherwise every point is near a boundary
        assert np.mean(guesses == model.predict(x)) > 0.995


def test_a_softmax_never_guesses_a_class_it_has_not_seen():
    labels = RNG.permutation(np.arange(300) % 2) * 2  # 0 and 2 of three
    x = RNG.normal(size=(300, 3)) + labels[:, None]
    weights = multinomial(x, labels, 3)
    assert np.isfinite(weights).all()
    logits = x @ weights[:-1] + weights[-1]
    assert (logits[:, 1] < logits.max(axis=1)).all()
    assert np.mean(logits.argmax(axis=1) == LogisticRegression().fit(x, labels).predict(x)) > 0.98


def test_the_area_counts_pairs_and_halves_ties():
    scores = RNG.integers(0, 10, 200).astype(np.float32)
    member = RNG.random(200) < 0.3
    assert area_under_roc(scores, np.flatnonzero(member)) == pytest.approx(roc_auc_score(member, scores))


def test_explicitness_is_the_mean_area_over_classes_and_factors():
    x = perfect_codes(CLASSES) + noise_codes(CLASSES, 3)
    z = (x - x.mean(0)) / x.std(0)
    areas = []
    for k, size in enumerate((2, 3, 4)):
        members = [CLASSES[:, k] == c for c in range(size)]
        scores = [LogisticRegression(max_iter=1000).fit(z, m).decision_function(z) for m in members]
        areas.append(np.mean([roc_auc_score(m, s) for m, s in zip(members, scores, strict=True)]))
    assert explicitness(x, CLASSES).value == pytest.approx(np.mean(areas), abs=1e-4)


def test_separable_classes_score_one_and_noise_one_half():
    one_hot = Codes(
        np.zeros((len(CLASSES), 0)), categories={f"f{k}": np.eye(4)[CLASSES[:, k]] for k in range(3)}
    )
    assert explicitness(one_hot, CLASSES).value == pytest.approx(1)
    noise = explicitness(noise_codes(CLASSES, 2), CLASSES)
    assert noise.value == pytest.approx(0.5, abs=0.06)
    assert explicitness(noise_codes(CLASSES, 2), CLASSES, normalize=True).value == pytest.approx(
        2 * noise.value - 1
    )


@pytest.mark.parametrize("columns", [3, 70])
def test_wide_codes_are_solved_by_gradients_to_the_same_optimum(columns, monkeypatch):
    rng = np.random.default_rng(0)
    classes = np.stack([rng.integers(0, 3, 400), rng.integers(0, 2, 400)], axis=1)
    x = rng.normal(size=(400, columns))
    x[:, 0] += classes[:, 0]
    sizes = (3, 2)

    def losses(weights):
        logits = x @ weights[:-1] + weights[-1]
        member = np.concatenate([np.eye(size)[y] for y, size in zip(classes.T, sizes, strict=True)], axis=1)
        data = np.logaddexp(0, logits) - member * logits
        return data.sum(axis=0) + 0.5 * (weights[:-1] ** 2).sum(axis=0)

    found = {}
    for width in (0, 1000):
        monkeypatch.setattr(logistic, "_WIDE", width)
        found[width] = losses(logistic.one_versus_rest(x, classes, sizes))
    assert found[0] == pytest.approx(found[1000], abs=0.01)
    model = LogisticRegression(C=1.0, tol=1e-8, max_iter=2000).fit(x, classes[:, 1])
    best = losses(np.tile(np.append(model.coef_[0], model.intercept_)[:, None], 5))[4]
    assert found[0][4] == pytest.approx(best, abs=0.01)


@pytest.mark.parametrize(("rows", "noise"), [(600, 0.02), (600, 0.3), (60, 0.3)])
def test_wide_codes_that_tell_the_classes_reach_scikit_learns_optimum(rows, noise):
    """Where a few directions tell all, weights are large, curvature is small and few rows carry it."""
    rng = np.random.default_rng(0)
    classes = np.arange(rows)[:, None] % 10
    x = (classes - 4.5) * rng.normal(size=80) + noise * rng.normal(size=(rows, 80))
    x = (x - x.mean(0)) / x.std(0)
    weights = one_versus_rest(x, classes, (10,))

    def loss(w, member):
        logits = x @ w[:-1] + w[-1]
        return (np.logaddexp(0, logits) - member * logits).sum() + 0.5 * (w[:-1] ** 2).sum()

    for c in range(10):
        member = classes[:, 0] == c
        model = LogisticRegression(tol=1e-10, max_iter=1000, solver="newton-cholesky").fit(x, member)
        best = loss(np.append(model.coef_[0], model.intercept_), member)
        assert loss(weights[:, c], member) == pytest.approx(best, abs=0.002)
