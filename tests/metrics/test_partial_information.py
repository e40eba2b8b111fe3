"""Partial information: cases whose parts are known, and identities that hold for any codes."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from distaff import Codes, DistaffError
from distaff.metrics import mig, partial_information
from tests.metrics.toys import grid, perfect_codes

BITS = grid((2, 2), repeats=5)
NAT = np.log(2)


def parts(codes, factors, **options):
    """Unique to z0, unique to z1, redundant, synergistic, of the first factor, in bits."""
    details = partial_information(codes, factors, **options).details
    unique, redundant, synergistic = (details[key] for key in ("unique", "redundant", "synergistic"))
    found = unique[0, 1, 0], unique[1, 0, 0], redundant[0, 1, 0], synergistic[0, 1, 0]
    return [value / NAT for value in found]


def bits(*values):
    return pytest.approx(values, abs=1e-12)


def test_an_exclusive_or_is_all_synergy():
    assert parts(BITS, BITS[:, :1] ^ BITS[:, 1:]) == bits(0, 0, 0, 1)


def test_a_copied_latent_is_all_redundant():
    assert parts(BITS[:, [0, 0]], BITS[:, :1]) == bits(0, 0, 1, 0)


def test_a_latent_beside_noise_is_unique():
    assert parts(BITS, BITS[:, :1]) == bits(1, 0, 0, 0)


def test_two_independent_halves_of_a_factor_are_redundant_and_synergistic_by_i_min():
    """The known trait of I_min: of each class either half tells one bit, though not the same one."""
    assert parts(BITS, BITS @ [[2], [1]]) == bits(0, 0, 1, 1)


def test_an_and_gate_is_redundant_as_far_as_one_input_tells_and_half_a_bit_of_synergy():
    one = 0.75 * np.log2(4 / 3)
    both = 0.75 * np.log2(4 / 3) + 0.25 * np.log2(4)
    assert parts(BITS, BITS[:, :1] & BITS[:, 1:]) == bits(0, 0, one, both - one)


@pytest.mark.parametrize("seed", range(3))
def test_the_parts_add_up_to_what_is_known(seed):
    rng = np.random.default_rng(seed)
    classes = rng.integers([3, 5], size=(400, 2))
    z = classes @ rng.normal(size=(2, 3)) + 0.5 * rng.normal(size=(400, 3))
    found = partial_information(z, classes, bins=6).details
    binned = [np.digitize(column, np.histogram(column, 6)[1][1:-1]) for column in z.T]
    for k, y in enumerate(classes.T):
        for i, j in combinations(range(3), 2):
            unique, other = found["unique"][i, j, k], found["unique"][j, i, k]
            redundant, synergistic = found["redundant"][i, j, k], found["synergistic"][i, j, k]
            together = mutual_info_score(y, 6 * binned[i] + binned[j])
            assert unique + redundant == pytest.approx(mutual_info_score(y, binned[i]), abs=1e-12)
            assert other + redundant == pytest.approx(mutual_info_score(y, binned[j]), abs=1e-12)
            assert unique + other + redundant + synergistic == pytest.approx(together, abs=1e-12)
            assert min(unique, other, redundant, synergistic) >= 0
            assert found["redundant"][j, i, k] == redundant
    assert np.isnan(np.diagonal(found["unique"])).all()


def test_it_is_at_least_the_gap_of_the_same_bins():
    rng = np.random.default_rng(0)
    classes = grid((3, 4, 5), repeats=4)
    z = perfect_codes(classes, 4) + 0.8 * rng.normal(size=(len(classes), 4))
    decomposed, gaps = (metric(z, classes, bins=10) for metric in (partial_information, mig))
    assert all(decomposed.per_factor[name] >= gaps.per_factor[name] - 1e-12 for name in gaps.per_factor)


def test_it_names_the_best_latent_and_the_one_that_shares_most_with_it():
    classes = grid((3, 4), repeats=4)
    z = np.stack([classes[:, 1], classes[:, 0], classes[:, 1] // 2], axis=1)
    found = partial_information(z, classes)
    assert found.details["best_latent"] == {"factor0": "z1", "factor1": "z0"}
    assert found.details["closest_latent"]["factor1"] == "z2"
    assert found.per_factor == pytest.approx({"factor0": 1.0, "factor1": 0.5}, abs=1e-12)


def test_a_categorical_latent_counts_with_its_classes():
    member = np.eye(2)[BITS[:, 1]]
    codes = Codes(BITS[:, :1].astype(float), None, {"c": member})
    assert parts(codes, BITS[:, :1] ^ BITS[:, 1:]) == bits(0, 0, 0, 1)


def test_few_rows_are_noted_and_one_latent_is_refused():
    assert partial_information(BITS, BITS).notes == (
        "20 rows for 10² × 2 cells of 'factor0': synergy is too high, use fewer bins",
    )
    assert partial_information(np.tile(BITS, (200, 1)), BITS.repeat(200, axis=0)).notes == ()
    with pytest.raises(DistaffError, match="pairs of latents"):
        partial_information(BITS[:, :1], BITS)
