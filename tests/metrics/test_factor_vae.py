import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import entropy

from distaff import Codes, DistaffError
from distaff.metrics import factor_vae_score, z_max_variance
from distaff.metrics.active_latents import active_latents, gini_variance, kl_to_nearest_prior
from distaff.metrics.factor_vae import fixed_factor_rows, group_rows, relative_variances
from distaff.metrics.inputs import as_factors
from tests.metrics.toys import grid, noise_codes, perfect_codes, rotated

CLASSES = grid()
PROTOCOLS = ["kim18", "locatello19"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_perfect_codes_score_one_for_every_factor(protocol):
    score = factor_vae_score(perfect_codes(CLASSES, 10), CLASSES, protocol=protocol)
    assert score.value == 1.0
    assert score.per_factor is not None
    assert set(score.per_factor.values()) == {1.0}
    assert score.protocol == protocol


def test_noise_scores_chance():
    codes = noise_codes(CLASSES, 10)
    own = [factor_vae_score(codes, CLASSES, seed=seed).value for seed in range(10)]
    assert np.mean(own) == pytest.approx(0.26, abs=0.015)
    assert factor_vae_score(codes, CLASSES, protocol="locatello19").value == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_permuting_flipping_and_rescaling_latents_change_nothing(protocol):
    codes = rotated(perfect_codes(CLASSES, 7))
    changed = codes[:, np.random.default_rng(1).permutation(7)] * [3, -1, 1e-6, 1e6, -2, 1, 0.1] + 5
    before, after = (
        factor_vae_score(z, CLASSES, protocol=protocol, prune="none").value for z in (codes, changed)
    )
    assert before == after
    assert before < 0.9


def test_rotating_two_latents_into_each_other_confuses_their_factors():
    codes = perfect_codes(CLASSES)
    codes[:, [3, 4]] = codes[:, [3, 4]] @ np.array([[1, -1], [1, 1]]) / np.sqrt(2)
    score = factor_vae_score(codes, CLASSES)
    assert score.value < 0.9
    assert score.per_factor is not None
    assert score.per_factor["factor0"] == 1.0


def test_missing_one_of_k_factors_costs_its_share():
    """Where Higgins' metric gives 100% (FactorVAE Fig. 3)."""
    codes = perfect_codes(CLASSES)[:, :4]
    assert factor_vae_score(codes, CLASSES).value == pytest.approx(0.8, abs=0.05)


def test_the_vote_table_keeps_the_index_in_the_full_space():
    codes = perfect_codes(CLASSES)
    z = np.concatenate([np.zeros((len(codes), 2)), codes], axis=1)
    logvars = np.full(z.shape, -3.0)
    logvars[:, :2] = 0
    score = factor_vae_score(Codes(z, logvars), CLASSES)
    assert score.details["votes"].shape == (7, 5)
    assert score.details["votes"][:2].sum() == 0
    assert score.details["active"] == ["z2", "z3", "z4", "z5", "z6"]
    assert score.value == 1.0


def test_latents_collapsed_to_the_prior_do_not_vote():
    """A collapsed latent's tiny means may follow a factor; only its KL tells that it says nothing."""
    rng = np.random.default_rng(0)
    z = np.concatenate([perfect_codes(CLASSES), 1e-3 * rng.normal(size=(len(CLASSES), 5))], axis=1)
    logvars = np.concatenate([np.full((len(z), 5), -4.0), np.zeros((len(z), 5))], axis=1)
    active, used, notes = active_latents(Codes(z, logvars))
    assert active.tolist() == [True] * 5 + [False] * 5
    assert used == {"prune": "kl", "threshold": 0.01}
    assert "z5, z6, z7, z8, z9" in notes[0]
    by_ratio, _, _ = active_latents(Codes(z, logvars), "ratio")
    assert np.array_equal(by_ratio, active)
    bare, used, _ = active_latents(Codes(z))
    assert bare.all()
    assert used == {"prune": "none"}
    assert active_latents(Codes(z), "means", 0.05)[0].tolist() == active.tolist()


def test_locatello_prunes_by_the_standard_deviation_of_the_means():
    """Theirs keeps a latent whose means have a standard deviation of at least 0.05, not a variance."""
    small = 0.15 * perfect_codes(CLASSES)
    dead = 0.04 * noise_codes(CLASSES, 3)
    score = factor_vae_score(np.concatenate([small, dead], axis=1), CLASSES, protocol="locatello19")
    assert score.value == 1.0
    assert score.details["active"] == ["z0", "z1", "z2", "z3", "z4"]
    assert (score.settings["prune"], score.settings["threshold"]) == ("means", 0.05)
    none_left = factor_vae_score(0.04 * perfect_codes(CLASSES), CLASSES, protocol="locatello19")
    assert none_left.value == 0


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"threshold": 0.3}, "kim18"),
        ({"prune": "none", "threshold": 0.3}, "kim18 with prune=none"),
        ({"prune": "means", "threshold": 0.05}, "kim18 with prune=means"),
        ({"prune": "means", "threshold": 0.3}, "kim18 with prune=means, threshold=0.3"),
        ({"protocol": "locatello19", "threshold": 0.05}, "locatello19"),
    ],
)
def test_a_threshold_without_effect_is_no_part_of_the_protocols_name(options, name):
    assert factor_vae_score(perfect_codes(CLASSES), CLASSES, **options).protocol == name


def test_a_threshold_with_effect_is_part_of_the_protocols_name():
    codes = Codes(perfect_codes(CLASSES), np.full((len(CLASSES), 5), -3.0))
    assert factor_vae_score(codes, CLASSES, threshold=0.3).protocol == "kim18 with threshold=0.3"
    assert factor_vae_score(codes, CLASSES, threshold=0.01).protocol == "kim18"


def test_deterministic_latents_are_alive():
    codes = Codes(perfect_codes(CLASSES), np.full((len(CLASSES), 5), -np.inf))
    assert factor_vae_score(codes, CLASSES).value == 1.0


def test_the_kl_to_a_prior_is_that_to_the_nearest_one_and_what_that_is_away_from_it():
    """E KL(q(z|x) ‖ p) = E KL(q(z|x) ‖ N(m, v)) + KL(N(m, v) ‖ p), m and v the moments of q(z), for any p."""
    rng = np.random.default_rng(0)
    means, logvars = rng.normal(2, 1, size=(50, 3)), rng.normal(size=(50, 3))
    c = rng.dirichlet(np.ones(4), size=50)
    found = kl_to_nearest_prior(Codes(means, logvars, {"c": c}))
    Normal, kl = torch.distributions.Normal, torch.distributions.kl_divergence
    q = Normal(torch.tensor(means), torch.tensor(np.exp(logvars / 2)))
    whole = Normal(q.mean.mean(0), (q.mean.var(0, correction=0) + q.variance.mean(0)).sqrt())
    for p in (Normal(0.0, 1.0), Normal(-1.0, 0.3)):
        np.testing.assert_allclose(kl(q, p).mean(0), found[:3] + kl(whole, p).numpy(), rtol=1e-6)
    np.testing.assert_allclose(found[3], entropy(c.mean(axis=0)) - entropy(c, axis=1).mean(), rtol=1e-6)


@pytest.mark.parametrize(("mean", "variance"), [(0.0, 0.3), (0.0, 4.0), (0.5, 0.03)])
def test_latents_collapsed_to_another_prior_than_the_standard_normal_do_not_vote(mean, variance):
    """Under N(0, 0.3), as anisotropic priors have it, tiny means that follow a factor still say nothing."""
    lost = mean + 1e-3 * CLASSES[:, :1] * np.sqrt(variance)
    z = np.concatenate([perfect_codes(CLASSES)[:, 1:], lost], axis=1)
    logvars = np.concatenate([np.full((len(z), 4), -4.0), np.full((len(z), 1), np.log(variance))], axis=1)
    score = factor_vae_score(Codes(z, logvars), CLASSES)
    assert score.details["active"] == ["z0", "z1", "z2", "z3"]
    assert score.value < 0.95  # the first factor is in no latent
    assert factor_vae_score(Codes(z, logvars), CLASSES, prune="none").value == 1.0


def test_classes_that_are_the_same_for_all_do_not_vote_whatever_their_shares():
    c = np.tile([0.6, 0.3, 0.1], (len(CLASSES), 1)) + 1e-3 * np.eye(3)[CLASSES[:, 0] % 3]
    codes = Codes(
        perfect_codes(CLASSES), np.full((len(CLASSES), 5), -4.0), {"c": c / c.sum(1, keepdims=True)}
    )
    assert kl_to_nearest_prior(codes)[-1] < 1e-5


def test_gini_variance_is_the_papers_double_sum():
    x = np.random.default_rng(0).integers(0, 3, 40)
    double_sum = (x[:, None] != x).sum() / (2 * 40 * 39)
    assert gini_variance(np.bincount(x) / 40) * 40 / 39 == pytest.approx(double_sum)


def test_categorical_groups_vote_by_gini_variance():
    shape, rest = CLASSES[:, 0], perfect_codes(CLASSES)[:, 1:]
    codes = Codes(rest, categories={"shape": np.eye(3)[shape]})
    score = factor_vae_score(codes, CLASSES)
    assert score.value == 1.0
    assert score.details["votes"][4, 0] > 100
    only = factor_vae_score(Codes(np.zeros((len(shape), 0)), categories={"shape": np.eye(3)[shape]}), CLASSES)
    assert only.value < 0.4


def test_rows_of_a_draw_share_the_fixed_factor_and_spread_over_the_others():
    factors = as_factors(CLASSES)
    fixed = np.repeat(np.arange(5), 40)
    rows = fixed_factor_rows(group_rows(factors), fixed, 100, np.random.default_rng(0))
    for k in range(5):
        drawn = CLASSES[rows[fixed == k]]
        assert (drawn[:, :, k] == drawn[:, :1, k]).all()
        for other in set(range(5)) - {k}:
            shares = np.bincount(drawn[:, :, other].ravel()) / drawn[:, :, other].size
            np.testing.assert_allclose(shares, 1 / factors.sizes[other], rtol=0.15)


def test_row_order_and_incomplete_grids_do_not_matter():
    rng = np.random.default_rng(0)
    kept = rng.permutation(len(CLASSES))[:1500]
    codes = perfect_codes(CLASSES, 8)
    assert factor_vae_score(codes[kept], CLASSES[kept]).value == 1.0


def test_a_single_factor_is_no_test_and_that_is_said():
    noise = np.random.default_rng(0).normal(size=(200, 3))
    score = factor_vae_score(noise, np.arange(200) % 4)
    assert score.value == 1
    assert any("a single factor is always guessed right" in note for note in score.notes)


def test_intervals_shrink_with_votes():
    codes = rotated(perfect_codes(CLASSES))
    few, many = (factor_vae_score(codes, CLASSES, votes=v, bootstrap=40) for v in (50, 1600))
    width_few, width_many = (s.interval[1] - s.interval[0] for s in (few, many))
    assert width_few > 1.5 * width_many > 0  # not by the root of 32: the rows have an error too
    assert few.protocol == "kim18 with votes=50"


def test_frames_and_tensors_are_read():
    frame = pd.DataFrame(CLASSES, columns=["shape", "scale", "angle", "x", "y"])
    score = factor_vae_score(torch.tensor(perfect_codes(CLASSES)), frame)
    assert list(score.per_factor or {}) == ["shape", "scale", "angle", "x", "y"]


def test_no_active_latent_scores_zero_and_says_so():
    score = factor_vae_score(Codes(np.zeros((len(CLASSES), 3))), CLASSES)
    assert score.value == 0
    assert "no latent is active" in score.notes[-1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"votes": 0}, "votes=0: it must be"),
        ({"protocol": "kim"}, "did you mean 'kim18'"),
        ({"prune": "kl"}, "needs log-variances"),
        ({"prune": "all"}, "unknown prune"),
        ({"bootstrap": 5}, "10 halves"),
    ],
)
def test_bad_options_are_refused(change, message):
    with pytest.raises(DistaffError, match=message):
        factor_vae_score(perfect_codes(CLASSES), CLASSES, **change)


def test_a_factor_that_cannot_be_held_fixed_is_named():
    values = {"a": np.arange(20), "b": np.arange(20) % 2}
    with pytest.raises(DistaffError, match="factor 'a'"):
        factor_vae_score(np.random.default_rng(0).normal(size=(20, 2)), values)
    with pytest.raises(DistaffError, match="'b' has only one value"):
        factor_vae_score(np.zeros((4, 2)), {"a": [0, 1, 0, 1], "b": [2, 2, 2, 2]})


def test_a_latent_that_does_not_move_while_a_factor_is_fixed_has_no_variance_of_rounding():
    groups = group_rows(as_factors(CLASSES))
    codes = Codes(
        np.concatenate([CLASSES * 0.1, np.random.default_rng(0).normal(size=CLASSES.shape)], axis=1)
    )
    fixed = np.arange(200) % CLASSES.shape[1]
    found = relative_variances(codes, groups, fixed, 7, np.random.default_rng(0))
    assert (found[np.arange(200), fixed] == 0).all()
    assert (found[:, CLASSES.shape[1] :] > 0).all()
    rows = fixed_factor_rows(groups, fixed, 7, np.random.default_rng(0))
    expected = codes.means[rows].var(axis=1, ddof=1) / codes.means.var(axis=0)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_z_max_variance_votes_only_where_the_factor_changes():
    """Rows that are there twice agree in all factors but one as well, and in that one too."""
    rng = np.random.default_rng(0)
    changing = grid((3, 4), repeats=5)
    still = np.stack([np.arange(900) % 300 + 10, np.arange(900) % 300 + 10], axis=1)
    classes = np.concatenate([changing, still])
    codes = classes + 0.3 * rng.normal(size=classes.shape)
    codes[len(changing) :] += rng.normal(size=still.shape)
    score = z_max_variance(codes, classes)
    assert score.value == 1.0
    with pytest.raises(DistaffError, match="no two rows differ in 'factor0' alone"):
        z_max_variance(codes[len(changing) :], still)


def test_latents_of_very_different_sizes_vote_as_those_of_one_size():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, size=(400, 3))
    codes = factors + 0.3 * rng.normal(size=factors.shape)
    expected = factor_vae_score(codes, factors)
    sizes = np.array([2.0**-700, 1.0, 2.0**100])
    found = factor_vae_score(codes * sizes, factors)
    assert found.value == expected.value
    assert np.array_equal(found.details["votes"], expected.details["votes"])
