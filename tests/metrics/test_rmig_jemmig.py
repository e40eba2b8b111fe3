"""MIG, RMIG, JEMMIG, modularity and MISJED on representations whose answers are known."""

import math
from functools import partial

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from distaff import Codes, DistaffError
from distaff.metrics import (
    factor_vae_score,
    informativeness,
    jemmig,
    mig,
    misjed,
    modularity,
    rmig,
    total_correlation,
)
from distaff.metrics.binned_means import Bins
from distaff.metrics.labels import Labels
from distaff.metrics.quantized import posterior_tables
from tests.metrics.toys import grid, noise_codes, perfect_codes, rotated

CLASSES = grid(repeats=2)
HEIGHTS = np.log([3, 4, 5, 6, 8])


def noisy(means, sigma):
    return Codes(means, np.broadcast_to(2 * np.log(sigma), means.shape).copy())


def test_perfect_codes_have_a_gap_of_one_in_both_protocols():
    assert mig(perfect_codes(CLASSES), CLASSES).value == pytest.approx(1)
    codes = noisy(perfect_codes(CLASSES), 0.01)
    assert mig(codes, CLASSES, protocol="chen18").value == pytest.approx(1, abs=1e-3)


def test_rmig_of_perfect_codes_is_the_entropy_of_each_factor():
    codes = noisy(perfect_codes(CLASSES), 0.01)
    score = rmig(codes, CLASSES)
    np.testing.assert_allclose(list(score.per_factor.values()), HEIGHTS, atol=0.02)
    assert rmig(codes, CLASSES, normalize=True).value == pytest.approx(1, abs=0.01)
    assert score.details["best_latent"] == {f"factor{k}": f"z{k}" for k in range(5)}


def test_jemmig_of_perfect_deterministic_codes_is_zero():
    """H(z*, y) = I* = H(y), and no other latent knows the factor (Eq. 4)."""
    codes = Codes(perfect_codes(CLASSES), np.full((len(CLASSES), 5), -np.inf))
    assert jemmig(codes, CLASSES).value == pytest.approx(0, abs=1e-5)
    assert jemmig(codes, CLASSES, normalize=True).value == pytest.approx(0, abs=1e-5)


def test_normalised_jemmig_of_uniform_noise_is_one():
    means = np.linspace(-4, 4, 4800, endpoint=False)[:, None] + np.zeros((1, 2))
    y = np.random.default_rng(0).permutation(np.arange(4800) % 3)
    assert jemmig(noisy(means, 0.001), y[:, None], normalize=True).value == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("sigma", [0.1, 0.4])
def test_sampled_and_quantized_estimates_differ_by_the_bin_width(sigma):
    """Do & Tran A.11: informations agree, entropies differ by −log(bin width)."""
    codes = noisy(0.9 * rotated(perfect_codes(CLASSES)), sigma)
    sampled, quantized = (rmig(codes, CLASSES, estimate=kind) for kind in ("sampled", "quantized"))
    np.testing.assert_allclose(
        sampled.details["mutual_information"], quantized.details["mutual_information"], atol=0.03
    )
    raw = [jemmig(codes, CLASSES, estimate=kind).value for kind in ("sampled", "quantized")]
    assert raw[1] - raw[0] == pytest.approx(-math.log(8 / 100), abs=0.03)
    normalised = [
        jemmig(codes, CLASSES, estimate=kind, normalize=True).value for kind in ("sampled", "quantized")
    ]
    assert normalised[0] == pytest.approx(normalised[1], abs=0.01)


def test_rmig_is_the_mig_of_chen_on_a_grid():
    codes = noisy(rotated(perfect_codes(CLASSES, 7)), 0.3)
    chen = mig(codes, CLASSES, protocol="chen18").value
    assert rmig(codes, CLASSES, normalize=True).value == pytest.approx(chen, abs=0.02)


def test_binned_means_overrate_noisy_latents():
    """Do & Tran A.9, A.13: z0 moves a little with y under noise far wider; its means know all of y."""
    y = np.arange(6000) % 6
    means = np.stack([0.02 * (y - 2.5), np.random.default_rng(0).normal(size=6000)], axis=1)
    codes = Codes(means, np.zeros_like(means))
    assert mig(codes, y[:, None]).value > 0.95
    assert mig(codes, y[:, None], protocol="chen18").value == pytest.approx(0, abs=0.02)
    assert rmig(codes, y[:, None], normalize=True).value == pytest.approx(0, abs=0.01)
    z = np.concatenate([np.full((6000, 1), y[:, None]) / 3.0, means[:, :1]], axis=1)
    both = Codes(z, np.stack([np.full(6000, -9.0), np.zeros(6000)], axis=1))
    assert mig(both, y[:, None]).value < 0.05
    assert mig(both, y[:, None], protocol="chen18").value > 0.95


def test_means_in_bins_give_the_information_of_scikit_learn():
    codes = rotated(perfect_codes(CLASSES))
    found = mig(codes, CLASSES).details["mutual_information"]
    for i in range(5):
        edges = np.histogram(codes[:, i], 20)[1][:-1]
        for k in range(5):
            expected = mutual_info_score(np.digitize(codes[:, i], edges), CLASSES[:, k])
            assert found[i, k] == pytest.approx(expected, abs=2e-3)


def test_factors_with_forty_values_are_not_binned_down():
    y = np.arange(4000) % 40
    z = np.stack([y / 10 - 2, np.zeros(4000)], axis=1)
    assert mig(z, y[:, None], bins=40).value == pytest.approx(1)
    assert rmig(noisy(z, 1e-3), y[:, None]).value == pytest.approx(math.log(40), abs=1e-3)


def test_closed_form_masses_are_the_integrals():
    from scipy.stats import norm

    rng = np.random.default_rng(0)
    codes = Codes(rng.normal(size=(50, 2)), rng.normal(-2, 1, size=(50, 2)))
    labels = Labels(("row",), (50,), np.arange(50)[:, None])
    tables = posterior_tables(codes, Bins(100, -4, 4), labels)
    sigma = np.exp(codes.logvars / 2)
    cdf = norm.cdf(np.linspace(-4, 4, 101)[:, None, None], codes.means, sigma)
    masses = np.diff(cdf, axis=0) / (cdf[-1] - cdf[0])
    np.testing.assert_allclose(50 * tables.joint.transpose(1, 2, 0), masses, atol=2e-6)
    np.testing.assert_allclose(tables.outside, (1 - (cdf[-1] - cdf[0])).mean(0), atol=1e-6)
    logs = np.where(masses > 0, masses * np.log(np.where(masses > 0, masses, 1)), 0)
    alone = posterior_tables(codes, Bins(100, -4, 4))
    np.testing.assert_allclose(alone.conditional, -logs.sum(0).mean(0), atol=1e-5)
    np.testing.assert_allclose(alone.masses, tables.masses, atol=1e-6)


def test_posteriors_beyond_the_range_and_values_on_an_edge_have_a_place():
    means = np.array([[9.0], [-50.0], [0.0], [np.linspace(-4, 4, 101)[51]]])
    tables = posterior_tables(Codes(means, np.full((4, 1), -np.inf)), Bins(100, -4, 4))
    expected = np.zeros(100)
    expected[[99, 0, 50, 51]] = 0.25
    np.testing.assert_allclose(tables.masses[0], expected, atol=1e-6)
    assert tables.outside[0] == pytest.approx(0.5)
    np.testing.assert_allclose(
        posterior_tables(Codes(means), Bins(100, -4, 4)).masses, tables.masses, atol=1e-6
    )


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("count", [2, 20, 100, 128, 129, 1000])
def test_bins_are_those_of_numpy_on_and_beside_every_edge(precision, count):
    edges = np.linspace(-4, 4, count + 1)
    values = np.concatenate([edges.astype(precision)] * 3)
    values[count + 1 : 2 * count + 2] = np.nextafter(edges.astype(precision), precision(9))
    values[2 * count + 2 :] = np.nextafter(edges.astype(precision), precision(-9))
    expected = np.clip(np.digitize(values.astype(np.float64), edges) - 1, 0, count - 1)
    np.testing.assert_array_equal(Bins(count, -4, 4).index(values), expected)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_codes_of_few_values_are_binned_as_numpy_histogram_does(precision):
    """Few values lie on the edges; Locatello et al. bin by numpy.histogram and numpy.digitize."""
    rng = np.random.default_rng(0)
    steps = rng.integers(0, 41, size=(500, 20))  # half a bin wide: every other value lies on an edge
    codes = (rng.normal(size=20) + rng.normal(size=20) * steps).astype(precision)
    classes = steps[:, :2] // 3
    found = mig(codes, classes).details["mutual_information"]
    for i, z in enumerate(codes.T):
        bins = np.digitize(z, np.histogram(z, 20)[1][:-1])
        for k, y in enumerate(classes.T):
            assert found[i, k] == pytest.approx(mutual_info_score(y, bins), abs=1e-12)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_unknown_and_no_noise_are_the_same(precision):
    codes = rotated(perfect_codes(CLASSES)).astype(precision)
    codes[:, 0] = np.round(codes[:, 0] / 0.08) * precision(0.08)
    codes[:, 1] *= 4
    silent = Codes(codes, np.full(codes.shape, -np.inf, precision))
    for measure in (rmig, jemmig, modularity, factor_vae_score):
        assert measure(codes, CLASSES).value == pytest.approx(measure(silent, CLASSES).value, abs=1e-12)
    assert modularity(codes, CLASSES, protocol="correct").value == pytest.approx(
        modularity(silent, CLASSES, protocol="correct").value, abs=1e-12
    )
    for measure in (misjed, informativeness, partial(total_correlation, samples=200)):
        found, same = measure(codes), measure(silent)
        assert found.value == pytest.approx(same.value, abs=1e-6)
        assert found.notes[1:] == same.notes


def test_dead_latents_have_no_modularity_whatever_the_order_of_rows():
    live = perfect_codes(CLASSES)
    level = np.random.default_rng(0).normal(size=6)
    dead = np.broadcast_to(level, (len(live), 6)) + 1e-4 * noise_codes(CLASSES, 6)
    logvars = np.concatenate([np.full(live.shape, -6.0), np.full(dead.shape, 0.1)], axis=1)
    codes = Codes(np.concatenate([live, dead], axis=1), logvars)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(live))
        score = modularity(codes[order], CLASSES[order], protocol="correct")
        assert score.value == pytest.approx(5 / 11, abs=1e-4)


def test_soft_labels_equal_hard_ones_when_they_are_certain_and_lose_information_when_not():
    codes = noisy(perfect_codes(CLASSES), 0.05)
    hard = CLASSES[:, :2]
    certain = {"factor0": np.eye(3)[hard[:, 0]], "factor1": np.eye(4)[hard[:, 1]]}
    for measure in (rmig, jemmig):
        for estimate in ("quantized", "sampled"):
            expected = measure(codes, hard, estimate=estimate).value
            found = measure(codes, probabilities=certain, estimate=estimate)
            assert found.value == pytest.approx(expected, abs=0.01)
    doubtful = {name: 0.5 * p + 0.5 / p.shape[1] for name, p in certain.items()}
    p = np.array([0.5 + 0.5 / 3, 0.5 / 3, 0.5 / 3])
    expected = math.log(3) + (p * np.log(p)).sum()
    for estimate in ("quantized", "sampled"):
        found = rmig(codes, probabilities=doubtful, estimate=estimate).per_factor["factor0"]
        assert found == pytest.approx(expected, abs=0.02)


def test_a_categorical_latent_can_be_the_best_one():
    codes = Codes(noise_codes(CLASSES, 2), np.zeros((len(CLASSES), 2)), {"kind": np.eye(3)[CLASSES[:, 0]]})
    for found in (
        rmig(codes, CLASSES[:, :1], normalize=True),
        mig(codes, CLASSES[:, :1]),
        mig(codes, CLASSES[:, :1], protocol="chen18"),
    ):
        assert found.value == pytest.approx(1, abs=0.05)
        assert found.details["best_latent"] == {"factor0": "kind"}
    assert jemmig(codes, CLASSES[:, :1]).value == pytest.approx(0, abs=0.01)


def test_modularity_of_perfect_duplicated_and_mixed_codes():
    z = perfect_codes(CLASSES)
    assert modularity(z, CLASSES).value == pytest.approx(1)
    assert modularity(np.concatenate([z, z], axis=1), CLASSES).value == pytest.approx(1)
    assert modularity(noisy(z, 0.05), CLASSES, protocol="correct").value == pytest.approx(1, abs=1e-3)
    assert modularity(rotated(z), CLASSES).value < 0.95
    square = grid((8, 8))
    mixed = (square[:, :1] * 8 + square[:, 1:]) / 16.0 - 2
    assert modularity(mixed, square, bins=64).value == pytest.approx(0, abs=1e-6)
    alike = modularity(np.arange(4)[:, None], np.array([[0, 0], [0, 1], [1, 0], [1, 1]]))
    assert (alike.value, alike.notes) == (0, ())  # it knows both factors alike, and not neither
    constant = modularity(np.concatenate([z, np.ones((len(z), 1))], axis=1), CLASSES)
    assert constant.value == pytest.approx(5 / 6)
    assert any("z5" in note for note in constant.notes)


def test_misjed_puts_informative_pairs_before_mixed_before_noisy_ones():
    rng = np.random.default_rng(0)
    means = rng.normal(size=(60_000, 4)) * [1, 1, 0.01, 0.01]
    codes = Codes(means, np.broadcast_to(2 * np.log([0.02, 0.02, 1, 1]), means.shape).copy())
    pairs = misjed(codes, bins=50).details["pairs"]
    assert 0 <= pairs[0, 1] < 0.05
    assert pairs[0, 1] < pairs[0, 2] < pairs[2, 3]
    assert pairs[2, 3] == pytest.approx(pairs[3, 2])
    assert 0.6 < pairs[2, 3] < 1


def test_misjed_of_deterministic_codes_is_their_mutual_information():
    y = grid((6, 6), repeats=3)
    z = np.stack([y[:, 0], y[:, 0] + 0.1 * y[:, 1], y[:, 1]], axis=1) / 2.0 - 2
    codes = Codes(z, np.full(z.shape, -np.inf))
    pairs = misjed(codes, normalize=False).details["pairs"]
    assert pairs[0, 2] == pytest.approx(0, abs=1e-5)
    assert pairs[0, 1] == pytest.approx(math.log(6), abs=1e-5)


@pytest.mark.parametrize("measure", [mig, rmig, jemmig, modularity])
def test_order_and_sign_of_latents_and_order_of_rows_change_nothing(measure):
    codes = noisy(rotated(perfect_codes(CLASSES)), 0.2)
    value = measure(codes, CLASSES).value
    shuffled = np.random.default_rng(1).permutation(len(CLASSES))
    assert measure(codes[shuffled], CLASSES[shuffled]).value == pytest.approx(value, abs=1e-5)
    order = [3, 1, 4, 0, 2]
    assert measure(noisy(codes.means[:, order], 0.2), CLASSES).value == pytest.approx(value, abs=1e-5)
    flipped = measure(noisy(codes.means * [1, -1, 1, -1, 1], 0.2), CLASSES).value
    assert flipped == pytest.approx(value, abs=0.01)


def test_one_latent_counts_a_second_best_of_zero_and_says_so():
    y = np.arange(300) % 3
    for measure in (mig, rmig):
        score = measure(np.asarray(y, dtype=float)[:, None], y[:, None])
        assert any("one latent" in note for note in score.notes)
    assert mig(np.asarray(y, dtype=float)[:, None], y[:, None]).value == pytest.approx(1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda z, y: modularity(z, y[:, :1]), "at least 2"),
        (lambda z, y: mig(z, y, samples=100), "takes bins with"),
        (lambda z, y: mig(z, y, bins=1), "at least 2"),
        (lambda z, y: rmig(z), "either factors"),
        (lambda z, y: rmig(z, y, probabilities={"a": np.ones((len(z), 2)) / 2}), "either factors"),
        (lambda z, y: rmig(z, probabilities={"a": np.ones((len(z), 2))}), "sum to 1"),
        (lambda z, y: rmig(z, probabilities={"a": np.ones((3, 2)) / 2}), "shape"),
        (lambda z, y: rmig(z, probabilities={"a": np.eye(2)[np.zeros(len(z), int)]}), "only one value"),
        (lambda z, y: rmig(z, probabilities={}), "holds no factor"),
        (lambda z, y: misjed(z[:, :1]), "only one"),
        (lambda z, y: jemmig(z, np.random.default_rng(0).normal(size=(len(z), 1))), "quantize"),
    ],
)
def test_wrong_input_gets_a_sentence(call, message):
    with pytest.raises(DistaffError, match=message):
        call(perfect_codes(CLASSES), CLASSES)
