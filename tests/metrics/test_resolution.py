"""Scores over a fixed grid say what the grid cannot see: lower-is-better ones would reward it in silence."""

import numpy as np
import pytest

from distaff import Codes
from distaff.metrics import evaluate, jemmig, misjed
from distaff.metrics.binned_means import Bins, hidden_shares
from tests.metrics.toys import grid, perfect_codes, sharp

CLASSES = grid((3, 4, 5), repeats=4)
PERFECT = perfect_codes(CLASSES)
GRIDDED = ["misjed", "jemmig", "rmig", "informativeness", "modularity:correct"]


def scaled(scale):
    return Codes(PERFECT * scale, np.full(PERFECT.shape, 2 * np.log(0.05 * scale)))


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 0.01, 0.05])
def test_codes_finer_than_a_bin_carry_a_note_in_every_score_of_the_grid(scale):
    notes = evaluate(scaled(scale), CLASSES, metrics=GRIDDED)["notes"]
    assert notes.str.contains(r"miss what is finer than one of them \(z0").all()


@pytest.mark.parametrize("scale", [0.3, 1, 1.5])
def test_codes_that_the_grid_sees_carry_none(scale):
    assert not evaluate(scaled(scale), CLASSES, metrics=GRIDDED)["notes"].str.contains("finer").any()


def test_what_is_better_unseen_is_noted():
    """The numbers are the paper's: perfect codes × 0.01 are best, and constant ones better than perfect."""
    unseen, seen = misjed(scaled(0.01)), misjed(scaled(1))
    assert unseen.value < 0.05 < seen.value
    assert "finer" in unseen.notes[0]
    noisy, constant = sharp(PERFECT, sigma=0.5), Codes(np.full(PERFECT.shape, 0.3))
    assert jemmig(constant, CLASSES).value < jemmig(noisy, CLASSES).value
    assert any("z0 100%" in note for note in jemmig(constant, CLASSES).notes)
    assert not any("finer" in note for note in jemmig(noisy, CLASSES).notes)


def test_codes_beyond_the_grid_carry_a_note_too():
    notes = evaluate(scaled(1e6), CLASSES, metrics=GRIDDED)["notes"]
    assert notes.str.contains("mass outside").all()


@pytest.mark.parametrize("sigma", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("spread", [0.02, 0.1, 1.0])
def test_hidden_shares_are_about_those_of_samples(sigma, spread):
    """The law of total variance over the bins of many samples of q(z)."""
    rng, bins = np.random.default_rng(0), Bins(100, -4, 4)
    mu = spread * rng.normal(size=(200_000, 1))
    with np.errstate(divide="ignore"):
        codes = Codes(mu, np.full_like(mu, 2 * np.log(sigma)))
    z = (mu + sigma * rng.normal(size=mu.shape))[:, 0].clip(-4, 3.999)
    place = np.floor((z + 4) / 0.08).astype(int)
    counts = np.maximum(np.bincount(place), 1)
    between = np.bincount(place, weights=z) / counts
    expected = np.square(z - between[place]).mean() / z.var()
    found = hidden_shares(codes, bins.index(codes.means), -4, 4, 0.08)
    assert 0.9 * expected - 2e-3 < found[0] < 1.5 * expected + 2e-3


def test_rare_values_far_apart_are_seen():
    rare = (np.arange(1000) % 100 == 0)[:, None] * np.ones((1, 2))
    assert not any("finer" in note for note in misjed(Codes(rare, np.full_like(rare, -14))).notes)


def test_categorical_latents_are_exact():
    codes = Codes(
        np.empty((240, 0)), categories={"a": np.eye(3)[CLASSES[:, 0]], "b": np.eye(4)[CLASSES[:, 1]]}
    )
    assert not any("finer" in note for note in misjed(codes).notes)
