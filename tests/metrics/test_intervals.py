"""The parts that intervals are made of; test_coverage.py counts how often whole intervals hold the truth."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binomtest, t

from distaff import Codes, DistaffError
from distaff.metrics import (
    dci,
    explicitness,
    factor_vae_score,
    gaussian_total_correlation,
    hoyer,
    mcc,
    mig,
    mig_sup,
    pairwise_information,
    r2,
    rmig,
    sap,
    single_neuron,
    udr,
    z_diff,
)
from distaff.metrics.intervals import checked_draws, errors, interval
from distaff.metrics.metric import metric
from distaff.metrics.result import Error, Result
from tests.metrics.toys import grid, noise_codes, perfect_codes

CLASSES = grid((3, 4, 5), repeats=5)
FIRST = CLASSES[:, :1] > 0
MANY = 2000


def scored(value, rows=None, **basis):
    return Result(float(value), rows=rows, **basis)


def alone(result):
    return {"toy": result}


def test_the_spread_of_halves_is_the_standard_error_of_a_mean():
    values = np.random.default_rng(0).exponential(size=500)
    (error,) = errors(
        [scored(values.mean())], lambda rows, seed: alone(scored(values[rows].mean())), 500, MANY, 0
    )
    assert error.variance == pytest.approx(values.var() / 500, rel=0.1)
    assert error.freedom == MANY - 1


def test_the_error_of_draws_is_that_of_the_whole():
    (error,) = errors(
        [scored(0)], lambda rows, seed: alone(scored(np.random.default_rng(seed).normal())), 500, MANY, 0
    )
    assert error.variance == pytest.approx(1, rel=0.1)


@pytest.mark.parametrize(("tested", "limit"), [(1 / 3, 10_000), (1, 400), (1, 150)])
def test_a_mean_over_some_rows_has_the_error_of_as_many(tested, limit):
    """A third of the rows, as after a split, or at most so many: 400 of 500, and 250 of the halves."""
    values = np.random.default_rng(0).exponential(size=500)

    def again(rows, seed):
        read = min(limit, round(tested * len(rows)))
        chosen = np.random.default_rng(seed).permutation(rows)[:read]
        return alone(scored(values[chosen].mean(), read))

    whole = again(np.arange(500), 0)["toy"]
    (error,) = errors([whole], again, 500, MANY, 0)
    assert error.variance == pytest.approx(values.var() / whole.rows, rel=0.1)


@pytest.mark.parametrize("rate", [0.0, 1.0, 2.0])
def test_parts_of_several_sizes_tell_how_the_variance_falls(rate):
    def again(rows, seed):
        normal = np.random.default_rng(seed).normal()
        return alone(scored(normal * np.sqrt((1 - len(rows) / 800) * (800 / len(rows)) ** rate)))

    (error,) = errors([scored(0)], again, 800, MANY, 0, (1 / 2, 1 / 4, 1 / 16))
    assert error.variance == pytest.approx(1, rel=0.15)
    assert error.freedom < MANY - 1


def test_errors_of_two_sources_add():
    total = Error(3.0, 10) + Error(1.0, 2)
    assert (total.variance, total.freedom) == (4.0, pytest.approx(16 / (9 / 10 + 1 / 2)))
    assert Error(2.0, 5) + Error(0.0, 3) == Error(2.0, 5)


def test_an_interval_is_students_within_the_bounds():
    low, high = interval(scored(0.5), Error(0.01, 7), (0, 1), 100)
    assert (low, high) == pytest.approx((0.5 - 0.1 * t.ppf(0.975, 7), 0.5 + 0.1 * t.ppf(0.975, 7)))
    assert interval(scored(0.95), Error(0.01, 7), (0, 1), 100)[1] == 1
    assert interval(scored(1.95, bounds=(0, 3)), Error(0.01, 7), (0, 1), 100)[1] > 2


@pytest.mark.parametrize("right", [0, 1, 37, 50])
def test_a_share_of_independent_guesses_has_wilsons_interval(right):
    share = right / 50
    error = Error(share * (1 - share) / 50, np.inf)
    expected = binomtest(right, 50).proportion_ci(method="wilson")
    low, high = interval(scored(share, trials=50), error, (0, 1), 1000)
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_guesses_that_hang_together_are_worth_fewer():
    apart, together = (
        interval(scored(0.8, trials=100), Error(variance, np.inf), (0, 1), 1000)
        for variance in (0.0016, 0.0064)
    )
    assert together[0] < apart[0] < 0.8 < apart[1] < together[1] < 1


PERFECT = [
    lambda: factor_vae_score(perfect_codes(CLASSES), CLASSES, bootstrap=10),
    lambda: z_diff(perfect_codes(CLASSES), CLASSES, points=300, test=100, bootstrap=10),
    lambda: dci(perfect_codes(CLASSES), FIRST, task="classification", bootstrap=10).informativeness,
    lambda: explicitness(perfect_codes(CLASSES)[:, :1], FIRST, bootstrap=10),
    lambda: hoyer(np.eye(4)[np.arange(100) % 4], bootstrap=10),
]


@pytest.mark.parametrize("score", PERFECT)
def test_a_perfect_score_is_not_certain(score):
    found = score()
    assert found.value == 1
    assert 0.8 < found.interval[0] < 1
    assert found.interval[1] == 1


def test_more_rows_make_an_interval_narrower_as_their_root():
    few, many = (
        np.mean([np.diff(mig(*noisy_codes(rows, seed), bootstrap=40).interval) for seed in range(4)])
        for rows in (500, 4500)
    )
    assert few / many == pytest.approx(3, rel=0.3)


def noisy_codes(count, seed):
    rng = np.random.default_rng(seed)
    classes = rng.integers(4, size=(count, 2))
    return classes + rng.normal(size=classes.shape), classes


def test_intervals_are_the_same_for_the_same_seed():
    codes, classes = noisy_codes(300, 0)
    first, again, other = (factor_vae_score(codes, classes, bootstrap=10, seed=s).interval for s in (3, 3, 4))
    assert first == again != other


def test_rows_of_every_input_are_halved_together():
    """Codes by keyword with log-variances, missing labels, soft labels, categorical latents."""
    means, classes = noisy_codes(300, 1)
    labels = np.where(np.arange(600).reshape(300, 2) < 20, np.nan, classes)
    assert mig(factors=labels, codes=means, bootstrap=10).interval is not None
    soft = {"a": np.eye(4)[classes[:, 0]], "b": np.eye(4)[classes[:, 1]].tolist()}
    codes = Codes(means, 0 * means - 2, {"c": np.eye(4)[classes[:, 0]]})
    hard, softened = (
        rmig(codes, f, probabilities=p, bootstrap=10) for f, p in ((classes, None), (None, soft))
    )
    assert softened.interval == pytest.approx(hard.interval, abs=1e-4)
    assert hoyer(means, logvar=0 * means, bootstrap=10).interval == hoyer(means, bootstrap=10).interval


@pytest.mark.parametrize("by_factor", [False, True, "within"])
@pytest.mark.parametrize("absent", [[], [3, 5]])
def test_halves_have_the_factors_of_the_whole(by_factor, absent):
    """Of 60 rows two share a label of the first factor: in most halves no two do, as if it named the rows."""

    @dataclass(frozen=True)
    class Nothing:
        pass

    @metric(paper="none", protocols={"toy": Nothing()}, by_factor=by_factor)
    def share_of_first(codes, factors, settings):
        """1 for the first factor, 0 for any other."""
        each = np.array([float(name == "factor0") for name in factors.names])
        return Result(each.mean(), per_factor=each)

    first, second = np.arange(60.0), np.arange(60.0) % 2
    first[0], second[absent] = 1, np.nan
    score = share_of_first(np.zeros((60, 1)), np.column_stack([first, second]), bootstrap=10)
    assert score.interval == (0.5, 0.5)


def test_halves_that_cannot_be_scored_leave_no_interval_but_a_note():
    rare = np.zeros(40, dtype=int)
    rare[0] = 1
    score = mig(np.random.default_rng(0).normal(size=(40, 2)), {"rare": rare}, bootstrap=10)
    assert score.interval is not None  # half of the halves have the rare row
    rare = np.arange(40) // 2
    score = factor_vae_score(noise_codes(rare, 3), {"pairs": rare}, votes=20, bootstrap=10)
    assert np.isfinite(score.value)
    always = np.random.default_rng(0).permutation(22)
    few = dci(noise_codes(always, 2), {"y": always % 2}, bootstrap=10).completeness
    assert few.interval is None
    assert "no interval: halves of the rows give no score (11 rows are too few" in few.notes[-1]


@pytest.mark.filterwarnings("error")
def test_what_has_no_error_has_no_interval_but_a_note():
    z = np.random.default_rng(0).normal(size=(60, 40))
    for codes in (z, np.hstack([z[:, :3], z[:, :3]])):  # 40 latents of 30 rows depend on each other
        score = gaussian_total_correlation(codes, bootstrap=10)
        assert score.interval is None
        assert "no interval: halves of the rows have infinite scores" in score.notes
    for score in udr([z[:, :3], z[:, 3:6]], bootstrap=10).values():
        assert score.interval is None
        assert score.notes == ("no interval: one other model does not show how models differ",)


def test_a_metric_from_outside_gets_intervals_for_nothing():
    @dataclass(frozen=True)
    class Nothing:
        pass

    @metric(paper="none", protocols={"toy": Nothing()}, bounds=(0, 1))
    def first_latent(codes, settings):
        """The mean of the first latent."""
        return Result(codes.means[:, 0].mean())

    codes = Codes(np.random.default_rng(0).uniform(size=(900, 2)))
    low, high = first_latent(codes, bootstrap=200).interval
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(1 / 12 / 900), rel=0.2)


@pytest.mark.parametrize(
    ("score", "options"),
    [
        (mig, {}),
        (mig, {"protocol": "chen18", "samples": 60}),
        (mig_sup, {}),
        (mig_sup, {"protocol": "li20-code", "samples": 60}),
        (sap, {}),
        (sap, {"continuous": True}),
        (mcc, {}),
        (r2, {}),
        (single_neuron, {}),
    ],
)
def test_rows_without_any_label_leave_the_interval_as_it_is(score, options):
    """They are in no score: with them it was as if the others were drawn from more rows than there are."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, size=(1000, 2))
    codes = Codes(y + rng.normal(scale=0.7, size=y.shape), np.full(y.shape, np.log(0.5)))
    there = rng.random(len(y)) < 0.2
    with_all = score(codes, np.where(there[:, None], y, np.nan), bootstrap=150, **options).interval
    labelled = score(codes[there], y[there], bootstrap=150, **options).interval
    assert np.diff(with_all) == pytest.approx(np.diff(labelled), rel=0.15)


def test_halves_that_all_have_the_same_labels_show_no_error():
    with pytest.raises(DistaffError, match="too few labels"):
        errors([scored(1, 2)], lambda rows, seed: alone(scored(1, 2)), 40, 10, 0, labelled=2)


@pytest.mark.parametrize("draws", [-1, 1, 9])
def test_too_few_halves_are_refused(draws):
    with pytest.raises(DistaffError, match="10 halves"):
        checked_draws(draws)


@pytest.mark.parametrize("sharing", [0.0, 0.3])
def test_error_of_pairwise_information_is_the_spread_over_data_sets(sharing):
    """Of latents that share nothing the variance falls as 1/N²; halves would show three times it."""
    values, variances = [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        z = rng.integers(6, size=(500, 3))
        same = rng.random(500) < sharing
        z[same, 1] = z[same, 0]
        score = pairwise_information(z, bins=6, bootstrap=10)
        values.append(score.value)
        variances.append(((score.interval[1] - score.value) / 1.965) ** 2)
    assert np.mean(variances) == pytest.approx(np.var(values), rel=0.25)
