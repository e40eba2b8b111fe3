import numpy as np
import pytest

from distaff import Codes, DistaffError
from distaff.metrics import factor_vae_score, z_diff
from tests.metrics.toys import grid, noise_codes, perfect_codes

CLASSES = grid()


@pytest.mark.parametrize("protocol", ["locatello19", "kim18"])
def test_all_but_one_factor_found_already_scores_one(protocol):
    """FactorVAE Fig. 3: the flaw that the FactorVAE score does not have."""
    codes = perfect_codes(CLASSES)[:, :4]
    points = 20_000 if protocol == "kim18" else None
    assert z_diff(codes, CLASSES, protocol=protocol, points=points).value > 0.99
    assert factor_vae_score(codes, CLASSES).value < 0.9


def test_two_missing_factors_are_confused_with_each_other():
    score = z_diff(perfect_codes(CLASSES)[:, :3], CLASSES)
    assert score.per_factor is not None
    assert min(list(score.per_factor.values())[:3]) > 0.99
    assert score.value == pytest.approx(0.8, abs=0.03)


def test_noise_scores_one_over_k():
    assert z_diff(noise_codes(CLASSES), CLASSES).value == pytest.approx(0.2, abs=0.02)


def test_a_categorical_latent_differs_or_does_not():
    codes = Codes(perfect_codes(CLASSES)[:, 1:], categories={"shape": np.eye(3)[CLASSES[:, 0]]})
    assert z_diff(codes, CLASSES).value == 1.0


def test_more_adagrad_steps_score_higher():
    """Kim & Mnih Fig. 16: the score keeps improving with iterations."""
    codes = perfect_codes(CLASSES) + 2 * noise_codes(CLASSES, 5)
    few, many = (z_diff(codes, CLASSES, protocol="kim18", points=p).value for p in (300, 30_000))
    assert few < many <= z_diff(codes, CLASSES, points=30_000, pairs=200).value + 0.05


def test_the_interval_is_that_of_a_proportion_where_guesses_are_the_error():
    """Noise has no other. Student's quantile is that of 19 degrees of freedom."""
    options = {"points": 300, "pairs": 5, "test": 500, "bootstrap": 20}
    widths = [
        np.diff(z_diff(noise_codes(CLASSES, 3), CLASSES, seed=s, **options).interval) for s in range(10)
    ]
    chance = 1 / CLASSES.shape[1]
    error = 2.09 * np.sqrt(chance * (1 - chance) / 500)
    assert np.mean(widths) == pytest.approx(2 * error, rel=0.2)


@pytest.mark.parametrize(
    ("options", "message"), [({"pairs": 0}, "pairs=0: it must be"), ({"solver": "sgd"}, "adagrad")]
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(DistaffError, match=message):
        z_diff(noise_codes(CLASSES), CLASSES, **options)
    with pytest.raises(DistaffError, match="at least two"):
        z_diff(noise_codes(CLASSES), CLASSES[:, 0])
