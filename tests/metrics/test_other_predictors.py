"""Hoyer, IRS, UDR and InfoMEC."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.feature_selection import mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, mutual_info_score
from sklearn.preprocessing import OneHotEncoder

from distaff import Codes, DistaffError
from distaff.metrics import hoyer, infomec, irs, udr
from distaff.metrics.neighbours import neighbour_information
from distaff.metrics.udr import relative_strength
from tests.metrics.toys import grid, noise_codes, perfect_codes, rotated

CLASSES = grid()
RNG = np.random.default_rng(0)


def test_hoyer_is_one_for_one_hot_rows_and_zero_for_equal_ones():
    assert hoyer(np.eye(6) * 3).value == pytest.approx(1)
    assert hoyer(np.full((5, 6), -2.0)).value == pytest.approx(0)
    half = np.array([[1.0, 1, 0, 0]] * 3)
    assert hoyer(half).value == pytest.approx((2 - 2 / np.sqrt(2)) / (2 - 1))


def test_hoyer_scaling_undoes_unequal_scales():
    z = RNG.normal(size=(2000, 5))
    stretched = z * [1, 1, 1, 1, 100]
    assert hoyer(stretched).value > hoyer(z).value + 0.3
    assert hoyer(stretched, scale=True).value == pytest.approx(hoyer(z, scale=True).value)


def test_hoyer_leaves_rows_of_zeros_out_and_needs_two_latents():
    score = hoyer(np.array([[0.0, 0], [1, 0], [1, 1]]))
    assert score.value == pytest.approx(0.5)
    assert score.notes == ("1 rows of zeros left out",)
    with pytest.raises(DistaffError, match="at least two"):
        hoyer(np.ones((5, 1)))
    with pytest.raises(DistaffError, match="all codes are zero"):
        hoyer(np.zeros((5, 3)))


def test_irs_is_one_for_latents_that_follow_their_factor():
    score = irs(perfect_codes(CLASSES), CLASSES)
    assert score.value == pytest.approx(1)
    assert irs(rotated(perfect_codes(CLASSES)), CLASSES).value < 0.6


def test_irs_is_the_papers_loop():
    z = perfect_codes(CLASSES)[:, :3] + RNG.normal(size=(len(CLASSES), 3))
    largest = np.abs(z - z.mean(0)).max(0)
    table = np.zeros((3, 5))
    for k in range(5):
        groups = [z[CLASSES[:, k] == c] for c in np.unique(CLASSES[:, k])]
        strays = [np.percentile(np.abs(g - g.mean(0)), 99, axis=0) for g in groups]
        table[:, k] = 1 - np.mean(strays, axis=0) / largest
    expected = np.average(table.max(1), weights=largest)
    assert irs(z, CLASSES).value == pytest.approx(expected)


@pytest.mark.parametrize("constant", [1.0, 0.1, -1234.567])
def test_irs_leaves_constant_latents_without_weight(constant):
    """The mean of equal numbers may be rounded, and their deviations from it are not 0 then."""
    still = np.full((len(CLASSES), 2), constant)
    z = np.concatenate([perfect_codes(CLASSES), still], axis=1)
    assert irs(z, CLASSES).value == pytest.approx(1)
    assert list(irs(z, CLASSES).per_latent.values())[-2:] == [0, 0]
    with pytest.raises(DistaffError, match="all latents are constant"):
        irs(still, CLASSES)


def test_models_that_agree_up_to_order_sign_and_scale_have_a_udr_of_nearly_one():
    z = perfect_codes(CLASSES)
    twin = z[:, ::-1] * [1, -2, 3, -1, 0.1]
    by_rank = udr([z, twin], protocol="duan20-spearman")
    assert by_rank["model0"].value == pytest.approx(1, abs=1e-6)
    by_lasso = udr({"a": z, "b": twin})
    assert by_lasso["a"].value == pytest.approx(0.9, abs=1e-6)  # the penalty of 0.1 shrinks unit weights


def test_a_rotated_model_agrees_less():
    z = perfect_codes(CLASSES)
    scores = udr([z, z[:, ::-1], z + 0.1 * RNG.normal(size=z.shape), rotated(z)], bootstrap=10)
    assert scores["model3"].value < 0.5 < scores["model0"].value
    assert scores["model0"].interval is not None


def test_collapsed_latents_take_no_part_in_udr():
    z = np.concatenate([perfect_codes(CLASSES), 1e-3 * noise_codes(CLASSES, 5)], axis=1)
    logvars = np.concatenate([np.full((len(z), 5), -4.0), np.zeros((len(z), 5))], axis=1)
    scores = udr([Codes(z, logvars)] * 2, protocol="duan20-spearman")
    assert scores["model0"].value == pytest.approx(1, abs=1e-6)
    assert udr([Codes(z)] * 2, protocol="duan20-spearman")["model0"].value < 0.99


def test_spearman_similarity_is_scipys():
    x, y = RNG.normal(size=(300, 3)), RNG.normal(size=(300, 3))
    y[:, 0] += x[:, 1] ** 3
    expected = relative_strength(np.abs(spearmanr(x, y).statistic[:3, 3:]))
    assert udr([x, y], similarity="spearman")["model1"].value == pytest.approx(expected)


def test_relative_strength_of_known_matrices():
    assert relative_strength(np.eye(3)) == 1
    assert relative_strength(np.ones((3, 3))) == pytest.approx(1 / 3)
    assert relative_strength(np.zeros((3, 3))) == 0


def test_udr_needs_two_models_of_the_same_rows():
    with pytest.raises(DistaffError, match="at least two"):
        udr([np.eye(3)])
    with pytest.raises(DistaffError, match="differ in length"):
        udr([np.eye(3), np.eye(4)])


def test_neighbour_information_is_scikit_learns():
    y = RNG.integers(0, 4, 3000)
    z = y + RNG.normal(size=3000)
    z = (z - z.mean()) / z.std()
    for k in (3, 10):
        y[:3] = [7, 8, 9]  # alone in their classes
        expected = mutual_info_classif(z[:, None], y, discrete_features=False, n_neighbors=k)[0]
        ties = RNG.standard_normal(len(z))
        assert neighbour_information(z, y[:, None], k, ties).mean() == pytest.approx(expected, abs=1e-3)


def test_neighbour_information_of_two_gaussians_is_the_integral():
    y = np.repeat([0, 1], 50_000)
    z = RNG.normal(size=100_000) + 2 * y
    grid_ = np.linspace(-8, 10, 20_001)
    density = np.exp(-0.5 * (grid_[:, None] - [0, 2]) ** 2) / np.sqrt(2 * np.pi)
    mixture = density.mean(1)
    h = -np.sum(mixture * np.log(mixture)) * (grid_[1] - grid_[0])
    expected = h - 0.5 * np.log(2 * np.pi * np.e)
    ties = RNG.standard_normal(len(z))
    assert neighbour_information(z, y[:, None], 10, ties).mean() == pytest.approx(expected, abs=0.01)


def test_infomec_of_perfect_codes_is_one():
    scores = infomec(perfect_codes(CLASSES), CLASSES)
    assert [s.name for s in scores] == ["infom", "infoc", "infoe"]
    assert scores.modularity.value > 0.95
    assert scores.compactness.value > 0.95
    assert scores.explicitness.value > 0.99


def test_infomec_falls_with_rotation_except_for_explicitness():
    scores = infomec(rotated(perfect_codes(CLASSES)), CLASSES)
    assert scores.modularity.value < 0.8
    assert scores.compactness.value < 0.8
    assert scores.explicitness.value > 0.99


def test_infomec_counts_categorical_latents_exactly_and_leaves_inactive_ones_out():
    z = np.concatenate([perfect_codes(CLASSES)[:, 1:], 1e-3 * noise_codes(CLASSES, 1)], axis=1)
    codes = Codes(z, categories={"shape": np.eye(3)[CLASSES[:, 0]]})
    scores = infomec(codes, CLASSES)
    assert scores.modularity.details["nmi"][0, -1] == pytest.approx(1)
    assert "z4" not in (scores.modularity.per_latent or {})


def test_infomec_counts_quantised_latents_as_the_authors_do():
    """Their code for discrete latents: counted information, one-hot classifiers, any range above 0."""
    rng = np.random.default_rng(0)
    classes = np.stack([rng.integers(0, 4, 3000), rng.integers(0, 3, 3000), rng.integers(0, 5, 3000)], axis=1)
    folded = np.where(rng.random(3000) < 0.8, (classes[:, 0] * 3) % 4, rng.integers(0, 4, 3000))
    z = np.stack([folded, 1e-3 * (classes[:, 1] + classes[:, 2] // 2), np.zeros(3000)], axis=1) / 7.0 - 0.5
    nmi = np.array(
        [
            [mutual_info_score(y, np.unique(column, return_inverse=True)[1]) for column in z.T[:2]]
            for y in classes.T
        ]
    )
    nmi /= np.array([mutual_info_score(y, y) for y in classes.T])[:, None]
    onehot, explained = OneHotEncoder().fit_transform(z), []
    for y in classes.T:
        model = LogisticRegression(C=np.inf, class_weight="balanced", max_iter=100).fit(onehot, y)
        explained.append(1 - log_loss(y, model.predict_proba(onehot)) / np.log(len(np.unique(y))))
    found = infomec(z, classes)
    assert found.modularity.value == pytest.approx(1.5 * np.mean(nmi.max(0) / nmi.sum(0)) - 0.5)
    assert found.compactness.value == pytest.approx(2 * np.mean(nmi.max(1) / nmi.sum(1)) - 1)
    assert found.explicitness.value == pytest.approx(np.mean(explained), abs=1e-3)
    assert list(found.modularity.per_latent) == ["z0", "z1"]


def test_infomec_of_noise_explains_nothing():
    assert infomec(noise_codes(CLASSES, 3), CLASSES).explicitness.value < 0.01
    with pytest.raises(DistaffError, match="at least two"):
        infomec(noise_codes(CLASSES, 3), CLASSES[:, 0])
