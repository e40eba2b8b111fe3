from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import Lasso

from distaff import Codes, DistaffError
from distaff.metrics import as_factors, dci, dci_es, infomec, med
from distaff.metrics.dci import entropy_share
from distaff.metrics.dci_es import explicitness_of
from distaff.metrics.importances import Probing, probe
from distaff.metrics.lasso import lasso_weights
from distaff.metrics.train_test import split_rows
from tests.metrics.toys import grid, noise_codes, perfect_codes, rotated

CLASSES = grid()
SMALL = grid((2, 3, 4), repeats=20)
RNG = np.random.default_rng(0)
PROTOCOLS = ["eastwood18", "esmaeili18", "locatello19", "locatello19-histogram"]


def test_lasso_is_scikit_learns():
    x = RNG.normal(size=(400, 6)) @ RNG.normal(size=(6, 6)) + 3
    y = x[:, :3] + RNG.normal(size=(400, 3))
    weights = lasso_weights(x, y, 0.3)
    expected = Lasso(0.3, tol=1e-10, max_iter=100_000).fit(x, y).coef_.T
    np.testing.assert_allclose(weights, expected, atol=1e-4)
    assert (weights == 0).any()


def test_lasso_of_correlated_latents_reaches_its_minimum():
    """At the minimum, |covariance of the residual| is the penalty for what has weight, else at most that."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 256)) @ rng.normal(size=(256, 256)) * 0.2 + 3 * rng.normal(size=(200, 1))
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    y = x[:, :2] + rng.normal(size=(200, 2))
    weights = lasso_weights(x, y, 0.002)
    slopes = x.T @ (y - y.mean(axis=0) - x @ weights) / len(x)
    np.testing.assert_allclose(slopes[weights != 0], 0.002 * np.sign(weights[weights != 0]), atol=2e-6)
    assert np.abs(slopes).max() < 0.002 + 2e-6
    least_squares = lasso_weights(x[:, :5], y, 0.0)
    np.testing.assert_allclose(x[:, :5].T @ (y - y.mean(axis=0) - x[:, :5] @ least_squares), 0, atol=1e-9)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_perfect_codes_score_one_in_all_three(protocol):
    scores = dci(perfect_codes(SMALL, 5), SMALL, protocol=protocol)
    assert [s.name for s in scores] == ["dci_disentanglement", "dci_completeness", "dci_informativeness"]
    for score in scores:
        assert score.value > 0.97
        assert score.protocol == protocol


@pytest.mark.parametrize("protocol", [p for p in PROTOCOLS if p != "locatello19"])
def test_noise_is_neither_modular_nor_informative(protocol):
    disentanglement, completeness, informativeness = dci(noise_codes(SMALL, 6), SMALL, protocol=protocol)
    assert disentanglement.value < (0.6 if protocol == "eastwood18" else 0.2)
    assert completeness.value < (0.6 if protocol == "eastwood18" else 0.2)
    chance = np.mean([1 / 2, 1 / 3, 1 / 4]) if protocol.startswith("locatello19") else 0.0
    assert informativeness.value == pytest.approx(chance, abs=0.1)


@pytest.mark.parametrize("protocol", ["eastwood18", "esmaeili18"])
def test_rotation_costs_disentanglement_but_not_linear_information(protocol):
    before, after = (
        dci(z, CLASSES, protocol=protocol) for z in (perfect_codes(CLASSES), rotated(perfect_codes(CLASSES)))
    )
    assert after.disentanglement.value < 0.6 < before.disentanglement.value
    assert after.completeness.value < 0.6 < before.completeness.value
    if protocol == "eastwood18":
        assert after.informativeness.value > 0.95


def test_two_latents_for_one_factor_cost_completeness_only():
    codes = perfect_codes(CLASSES)
    split = np.concatenate([codes, codes[:, :1] + 0.01 * RNG.normal(size=(len(codes), 1))], axis=1)
    score = dci(split, CLASSES, protocol="esmaeili18")
    assert score.disentanglement.value > 0.98
    assert (score.completeness.per_factor or {})["factor0"] < 0.8
    assert (score.completeness.per_factor or {})["factor4"] > 0.98


def test_a_categorical_latent_counts_as_one():
    codes = Codes(perfect_codes(SMALL)[:, 1:], categories={"c": np.eye(2)[SMALL[:, 0]]})
    scores = dci(codes, SMALL, protocol="esmaeili18")
    assert list(scores.disentanglement.per_latent or {}) == ["z0", "z1", "c"]
    assert scores.completeness.value > 0.99


def test_entropy_share_of_known_importances():
    importances = np.array([[1.0, 0, 0], [1, 1, 1], [0, 0, 0], [1, 1, 0]])
    expected = [0, 1, 1, np.log(2) / np.log(3)]
    np.testing.assert_allclose(entropy_share(importances, axis=1), expected)


def test_bad_options_are_refused():
    with pytest.raises(DistaffError, match="did you mean 'forest'"):
        dci(noise_codes(SMALL), SMALL, predictor="forests")
    with pytest.raises(DistaffError, match="too few"):
        dci(noise_codes(SMALL[:10]), np.arange(10) % 2)


def test_linear_codes_are_explicit_and_curved_ones_less():
    linear = dci_es(rotated(perfect_codes(CLASSES)), CLASSES)
    assert linear.explicitness.value == pytest.approx(1, abs=0.01)
    assert linear.size.value == 1.0
    z = perfect_codes(CLASSES)
    angle = 2 * z[:, 4:]
    curved = np.concatenate([np.cos(angle), np.sin(angle), z[:, :4]], axis=1)
    score = dci_es(curved, CLASSES).explicitness
    assert (score.per_factor or {})["factor4"] < 0.9
    assert (score.per_factor or {})["factor0"] > 0.98


def test_explicitness_of_known_curves():
    curves = np.array([[0.0, 1.0, 1.0, 1.0], [0.0, 0.5, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0]])
    np.testing.assert_allclose(explicitness_of(curves), [1, 0, -0.5, 0])


def test_noise_has_no_explicitness():
    assert dci_es(noise_codes(CLASSES), CLASSES).explicitness.value == pytest.approx(0, abs=0.01)


def test_importances_of_boosting_are_scikit_learns_and_those_on_histograms_come_near():
    classes = SMALL[::2]
    x = perfect_codes(classes, 5) + 0.6 * noise_codes(classes, 5)
    settings = Probing("boosting", "classification", train=200, test=40)
    found, near = (
        probe(Codes(x), as_factors(classes), replace(settings, predictor=predictor), 0)
        for predictor in ("boosting", "histogram")
    )
    train, test = split_rows(len(x), 200, 40, np.random.default_rng(0))
    for k in range(3):
        model = GradientBoostingClassifier(random_state=0).fit(x[train], classes[train, k])
        np.testing.assert_allclose(found.importances[:, k], model.feature_importances_, atol=1e-12)
        assert found.informativeness[k] == model.score(x[test], classes[test, k])
        np.testing.assert_allclose(near.importances[:, k], model.feature_importances_, atol=0.1)


def test_completeness_is_the_mean_over_factors_or_weighted_by_their_importances():
    codes = perfect_codes(CLASSES) + 0.5 * noise_codes(CLASSES, 5)
    plain = dci(codes, CLASSES, protocol="eastwood18").completeness
    weighted = dci(codes, CLASSES, protocol="eastwood18", weighted=True).completeness
    each = np.array(list((plain.per_factor or {}).values()))
    importances = plain.details["importances"].sum(axis=0)
    assert plain.value == pytest.approx(each.mean())
    assert weighted.value == pytest.approx(each @ importances / importances.sum())
    assert weighted.protocol == "eastwood18 with weighted=True"
    assert abs(plain.value - weighted.value) > 1e-4


def test_shares_among_one_factor_or_one_latent_say_nothing_and_the_score_says_so():
    noise, said = noise_codes(SMALL), "says nothing about the codes"
    for score in (dci(noise, SMALL[:, 0])[0], med(noise, SMALL[:, 0])[0]):
        assert score.value == 1
        assert said in "; ".join(score.notes)
    for score in (dci(noise[:, :1], SMALL)[1], med(noise[:, :1], SMALL)[1], infomec(noise[:, :1], SMALL)[1]):
        assert said in "; ".join(score.notes)
    for score in (*dci(noise, SMALL), *med(noise, SMALL), *infomec(noise, SMALL)):
        assert said not in "; ".join(score.notes)
