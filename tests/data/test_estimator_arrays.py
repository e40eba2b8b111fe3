"""Images given to a fitted estimator are on the scale of those it was fitted on, or refused."""

import pickle

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from distaff import Disentangler, DistaffError
from distaff.data.estimator_arrays import Pictures

RNG = np.random.default_rng(0)
BYTES = RNG.integers(0, 256, (20, 8, 8), dtype=np.uint8)
UNIT = BYTES / 255
MASKS = BYTES > 127
SIXTEEN = load_digits().images[:20]
LEVELS = RNG.integers(0, 3, (20, 8, 8))
BRIGHT = RNG.random((20, 8, 8)) * 3.7


def seen(fitted: NDArray, given: NDArray) -> NDArray:
    """The observations that a model fitted on some images makes of others."""
    return Pictures.of(fitted).dataset(given).images[:].numpy()[:, 0]


@pytest.mark.parametrize(
    ("fitted", "given", "expected"),
    [
        (BYTES, BYTES.astype(float), UNIT),
        (BYTES, BYTES.astype(np.int64), UNIT),
        (BYTES, BYTES.astype(np.float32)[:, ::-1], UNIT[:, ::-1]),
        (BYTES, BYTES // 128, (BYTES // 128) / 255),
        (BYTES, np.zeros((2, 8, 8)), np.zeros((2, 8, 8))),
        (BYTES, np.zeros((2, 8, 8), bool), np.zeros((2, 8, 8))),
        (BYTES, BYTES * 1.2, np.minimum(UNIT * 1.2, 1)),
        (UNIT, UNIT.astype(np.float32), UNIT),
        (UNIT, MASKS, MASKS),
        (UNIT, MASKS.astype(np.uint8), MASKS),
        (UNIT, UNIT * 1.2, np.minimum(UNIT * 1.2, 1)),
        (UNIT, np.where(UNIT > 0.99, 40.5, UNIT), np.where(UNIT > 0.99, 1, UNIT)),
        (MASKS, UNIT, UNIT),
        (MASKS.astype(np.uint8), MASKS.astype(np.uint8), MASKS),
        (MASKS.astype(np.uint8), UNIT, UNIT),
        (SIXTEEN, SIXTEEN * 1.1, np.minimum(SIXTEEN * 1.1 / 16, 1)),
        (LEVELS, np.minimum(LEVELS, 1).astype(float), np.minimum(LEVELS, 1) / 2),
        (BRIGHT, UNIT, UNIT / BRIGHT.max()),
    ],
)
def test_images_on_the_same_scale_and_unclear_ones_are_taken(fitted, given, expected):
    np.testing.assert_allclose(seen(fitted, given), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("fitted", "given", "advice"),
    [
        (BYTES, UNIT, "multiply X by 255, or pass uint8 if they are very dark bytes"),
        (BYTES, UNIT.astype(np.float32)[:1] / 9, "multiply X by 255"),
        (BYTES, MASKS, "holds bool images in 0–1, .* multiply X by 255"),
        (BYTES, MASKS.astype(float), "multiply X by 255, or pass uint8"),
        (BYTES, BYTES.astype(np.uint16) * 257, "bring X to that scale"),
        (BYTES.astype(float), UNIT, f"in 0–{BYTES.max()}: multiply X by {BYTES.max()}"),
        (SIXTEEN, SIXTEEN / 16, r"in 0–16: multiply X by 16\."),
        (SIXTEEN, SIXTEEN * 16, "fitted on images in 0–16, and most of X would be white"),
        (UNIT, BYTES, "up to 255, but the model was fitted on images in 0–1: divide X by 255"),
        (UNIT, BYTES // 64, "divide X by 255"),
        (UNIT, BYTES.astype(np.float32), "divide X by 255"),
        (UNIT, BYTES * 0.99, "most of X would be white"),
        (UNIT, BYTES.astype(np.uint16) * 257, "divide X by its value of white"),
        (MASKS.astype(np.uint8), BYTES, "divide X by 255"),
    ],
)
def test_images_evidently_on_another_scale_are_one_sentence(fitted, given, advice):
    with pytest.raises(DistaffError, match=advice) as raised:
        seen(fitted, given)
    assert "\n" not in str(raised.value)


def test_the_estimator_keeps_the_scale_and_pickles_it():
    model = Disentangler("vae", steps=2, latents=2, batch_size=8, accelerator="cpu", random_state=0)
    model.fit(BYTES)
    for kept in (model, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(kept.transform(BYTES.astype(float)), kept.transform(BYTES))
        for method in (kept.transform, kept.score):
            with pytest.raises(DistaffError, match="multiply X by 255"):
                method(UNIT)


def test_bytes_of_black_and_white_come_back_as_such():
    masks = Pictures.of(MASKS.astype(np.uint8))
    np.testing.assert_array_equal(masks.back(masks.dataset(MASKS).images[:].numpy()), MASKS)
