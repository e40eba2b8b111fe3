"""What metrics share is of the arrays as they are now, whatever was done to them since."""

import numpy as np
import pytest

from distaff import Codes
from distaff.metrics import as_factors, evaluate_scores, rmig
from tests.metrics.toys import grid, perfect_codes, sharp

CLASSES = grid((3, 4, 5), repeats=4)
SHARING = ["rmig", "jemmig", "mig", "mig:chen18", "modularity:correct", "misjed", "informativeness", "sepin"]
SHARING += ["total_correlation", "separability", "wsepin", "total_information"]


def values(codes, factors):
    found = evaluate_scores(codes, factors, metrics=SHARING)
    return {(score.name, score.protocol): score.value for score in found.scores}


def test_codes_changed_in_place_are_scored_anew():
    """A permutation within each latent keeps its values and, these being whole numbers, their exact sum."""
    codes, rng = sharp(CLASSES - 2.0), np.random.default_rng(0)
    before = values(codes, CLASSES)
    rng.permuted(codes.means, axis=0, out=codes.means)
    after = values(codes, CLASSES)
    assert after == values(Codes(codes.means.copy(), codes.logvars.copy()), CLASSES)
    assert before[("rmig", "do20")] > 1 > 10 * after[("rmig", "do20")]


def test_factors_changed_in_place_are_scored_anew():
    codes, factors = sharp(perfect_codes(CLASSES)), as_factors(CLASSES)
    before = values(codes, factors)
    np.random.default_rng(0).permuted(factors.indices, axis=0, out=factors.indices)
    after = values(codes, factors)
    assert after == values(codes, as_factors(factors.indices.copy()))
    assert before[("rmig", "do20")] > 1 > 10 * after[("rmig", "do20")]


def test_labels_that_go_missing_in_place_are_left_out():
    codes, factors = sharp(perfect_codes(CLASSES)), as_factors(CLASSES.astype(float))
    assert rmig(codes, factors).notes == ()
    factors.values[:10, 0] = np.nan
    assert rmig(codes, factors).notes == ("factor 'factor0': 10 of 240 rows dropped, the label is missing",)


@pytest.mark.parametrize("change", ["means", "logvars", "category"])
def test_every_array_of_the_codes_counts(change):
    rng = np.random.default_rng(0)
    likely = rng.integers(1, 4, 240)[:, None] / 4
    codes = Codes(
        rng.integers(-2, 3, (240, 2)) * 1.0,
        rng.integers(-4, 0, (240, 2)) * 1.0,
        {"c": np.concatenate([likely, 1 - likely], axis=1)},
    )
    values(codes, CLASSES)
    array = codes.categories["c"] if change == "category" else getattr(codes, change)
    array[:] = array[::-1].copy()
    assert values(codes, CLASSES) == values(codes[:], CLASSES)
