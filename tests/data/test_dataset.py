import numpy as np
import pytest

from distaff.data import Dataset, FloatImages, from_array
from distaff.foundation.errors import DistaffError

SIZES = (3, 4, 5)
GRID = np.indices(SIZES).reshape(3, -1).T
NAMES = ("shape", "scale", "angle")


def made(classes: np.ndarray = GRID) -> Dataset:
    """Vectors that are their own factors, so that an index can be checked by what it brings."""
    return Dataset(FloatImages(classes.astype(np.float32)), classes, NAMES, SIZES)


def test_a_full_grid_in_order_is_a_grid_and_nothing_else_is() -> None:
    assert made().is_grid
    assert not made(GRID[::-1]).is_grid
    assert not made(GRID[:-1]).is_grid
    twice = GRID.copy()
    twice[5] = twice[6]
    assert not made(twice).is_grid
    assert not Dataset(FloatImages(GRID.astype(np.float32))).is_grid


@pytest.mark.parametrize("order", ["grid", "shuffled"])
def test_samples_hold_what_is_fixed_and_are_uniform_elsewhere(order: str) -> None:
    rng = np.random.default_rng(0)
    data = made(GRID if order == "grid" else rng.permutation(GRID))
    assert data.is_grid == (order == "grid")
    rows = data.sample(60_000, rng, fixed={"scale": 2})
    drawn = data.images[rows].numpy().astype(int)
    assert (drawn[:, 1] == 2).all()
    counts = np.bincount(drawn[:, 0] * 5 + drawn[:, 2], minlength=15)
    # Each of the 15 free combinations is expected 4,000 times with a standard deviation of 61.
    assert np.abs(counts - 4000).max() < 5 * 61


def test_samples_follow_the_generator() -> None:
    first, second = (made().sample(9, np.random.default_rng(3), {"shape": 1}) for _ in range(2))
    assert (first == second).all()


def test_all_factors_fixed_name_one_row() -> None:
    row = made().sample(4, np.random.default_rng(0), {"shape": 2, "scale": 3, "angle": 4})
    assert (row == 59).all()


def test_without_factors_samples_are_uniform_rows() -> None:
    data = Dataset(FloatImages(np.zeros((7, 2))))
    rows = data.sample(7_000, np.random.default_rng(0))
    assert np.bincount(rows, minlength=7).min() > 800
    with pytest.raises(DistaffError, match="has no factors"):
        data.sample(3, np.random.default_rng(0), {"shape": 1})


def test_misspelt_factors_and_impossible_classes_are_explained() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(DistaffError, match="did you mean 'angle'"):
        made().sample(3, rng, {"angel": 1})
    with pytest.raises(DistaffError, match=r"classes 0 … 3, not 4"):
        made().sample(3, rng, {"scale": 4})
    with pytest.raises(DistaffError, match="no observation"):
        made(GRID[GRID[:, 0] == 0]).sample(3, rng, {"shape": 1})


def test_values_are_looked_up_in_the_tables() -> None:
    tables = (np.array([1.0, 2.0, 3.0]), np.linspace(0.5, 1, 4), np.linspace(0, 6, 5))
    data = Dataset(FloatImages(GRID), GRID, NAMES, SIZES, tables)
    values = data.values
    assert values is not None
    assert values[23] == pytest.approx([2.0, 0.5, 4.5])
    np.testing.assert_array_equal(made().values, GRID)
    assert Dataset(FloatImages(GRID)).values is None


def test_a_subset_keeps_images_and_factors_together() -> None:
    part = made().subset([7, 3, 50]).subset([2, 0])
    np.testing.assert_array_equal(part.images[:].numpy(), GRID[[50, 7]])
    np.testing.assert_array_equal(part.factors, GRID[[50, 7]])


def test_the_fingerprint_sees_images_factors_and_order() -> None:
    images = np.random.default_rng(0).random((9, 4, 4))
    labels = np.arange(9) % 3
    first = from_array(images, labels).fingerprint
    assert from_array(images.copy(), labels.copy()).fingerprint == first
    others = [
        from_array(images[::-1], labels),
        from_array(images, labels[::-1]),
        from_array(images, labels, ["kind"]),
        from_array(images[:8], labels[:8]),
        from_array(images),
    ]
    assert len({first, *(other.fingerprint for other in others)}) == 6


def test_parts_that_disagree_are_refused() -> None:
    images = FloatImages(np.zeros((60, 2)))
    for wrong, message in [
        ({"factors": GRID[:9], "names": NAMES, "sizes": SIZES}, "do not fit 60"),
        ({"factors": GRID[:, 0], "names": NAMES, "sizes": SIZES}, "do not fit 60"),
        ({"factors": GRID, "names": NAMES[:2], "sizes": SIZES}, "3 factors but 2 names"),
        ({"factors": GRID, "names": ("a", "a", "b"), "sizes": SIZES}, "must differ"),
        ({"factors": GRID, "names": NAMES, "sizes": (3, 4, 4)}, "'angle' has 4 classes"),
        ({"factors": GRID - 1, "names": NAMES, "sizes": SIZES}, "'shape' has 3 classes"),
        ({"factors": GRID, "names": NAMES, "sizes": SIZES, "factor_values": (np.zeros(3),) * 3}, "one value"),
        ({"names": NAMES}, "no factor array"),
    ]:
        with pytest.raises(DistaffError, match=message):
            Dataset(images, **wrong)
    with pytest.raises(DistaffError, match="no observations"):
        Dataset(FloatImages(np.zeros((0, 2))))


def test_it_prints_what_it_is() -> None:
    assert repr(made()) == "data: 60 × (3,), shape 3, scale 4, angle 5"
