"""Pinwheel, correlated factors, splits, held-out combinations, strokes."""

from pathlib import Path

import numpy as np
import pytest

from distaff.data import Dataset, FloatImages, from_array, mnist, open_dataset
from distaff.data.correlated_factors import correlated, from_joint
from distaff.data.dataset import grid
from distaff.data.splits import some, some_rows, split, without
from distaff.data.strokes import measure_strokes, zero_shot
from distaff.foundation.errors import DistaffError

SIZES = (3, 4, 5)
TOY = Dataset(FloatImages(grid(SIZES)), grid(SIZES), ("shape", "scale", "angle"), SIZES)


@pytest.mark.parametrize(
    ("options", "spreads"),
    [({}, (0.3, 0.1)), ({"radial": 0.1, "tangential": 0.3}, (0.1, 0.3))],
    ids=["as the authors made them", "as the paper prints them"],
)
def test_pinwheel_arms_are_gaussians_turned(options, spreads) -> None:
    """Each arm has the moments of (x₁ + i x₂) exp(−i (its angle + ¼ exp x₁)), by the complex plane.

    The authors call pinwheel(0.1, 0.3, …), radial and tangential, whose first step is
    randn * diag([tangential radial]) + [1 0].
    """
    data = open_dataset("pinwheel", count=40_000, **options)
    assert (data.names, data.sizes, data.shape) == (("arm",), (4,), (2,))
    assert np.bincount(data.column("arm")).tolist() == [10_000] * 4
    rng = np.random.default_rng(7)
    first, second = 1 + spreads[0] * rng.normal(size=100_000), spreads[1] * rng.normal(size=100_000)
    for arm in range(4):
        x, y = data.images[:].numpy()[data.column("arm") == arm].T
        expected = (first + 1j * second) * np.exp(-1j * (np.pi / 2 * arm + 0.25 * np.exp(first)))
        for found, wanted in ((x, expected.real), (y, expected.imag), (x * y, expected.real * expected.imag)):
            assert found.mean() == pytest.approx(wanted.mean(), abs=0.02)
            assert found.std() == pytest.approx(wanted.std(), abs=0.01)


def test_pinwheel_follows_its_seed_and_refuses_uneven_arms() -> None:
    assert open_dataset("pinwheel").fingerprint == open_dataset("pinwheel", seed=0).fingerprint
    assert open_dataset("pinwheel").fingerprint != open_dataset("pinwheel", seed=1).fingerprint
    assert len(open_dataset("pinwheel")) == 400
    with pytest.raises(DistaffError, match="cannot be divided evenly"):
        open_dataset("pinwheel", count=401)


def test_line_is_evenly_spread() -> None:
    data = open_dataset("toy_line", count=5, end=1)
    np.testing.assert_array_equal(data.images[:].numpy()[:, 0], [-1, -0.5, 0, 0.5, 1])
    assert data.column("point").tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(DistaffError, match="needs two points"):
        open_dataset("toy_line", count=1)


def test_factors_follow_the_joint_they_are_drawn_from() -> None:
    joint = np.random.default_rng(0).random((3, 5))
    joint[1, 2] = 0
    data = from_joint(TOY, ["shape", "angle"], joint, count=200_000)
    drawn = np.zeros((3, 5))
    np.add.at(drawn, (data.column("shape"), data.column("angle")), 1)
    np.testing.assert_allclose(drawn / 200_000, joint / joint.sum(), atol=0.004)
    assert drawn[1, 2] == 0
    np.testing.assert_allclose(np.bincount(data.column("scale")) / 200_000, 0.25, atol=0.005)
    np.testing.assert_array_equal(data.images[:100].numpy(), data.factors[:100])


def test_a_narrow_tie_correlates_and_a_wide_one_does_not() -> None:
    def correlation(width: float) -> float:
        data = correlated(TOY, "scale", "angle", width, count=50_000)
        return float(np.corrcoef(data.column("scale"), data.column("angle"))[0, 1])

    assert correlation(0.05) > 0.95
    assert 0.3 < correlation(0.3) < 0.9
    assert abs(correlation(100.0)) < 0.02


def test_joints_that_cannot_be_are_refused() -> None:
    for names, joint, message in [
        (["shape"], np.ones(4), "must have the shape"),
        (["shap"], np.ones(3), "did you mean 'shape'"),
        (["shape"], np.array([1, -1, 1]), "not negative"),
        (["shape"], np.array([1, np.nan, 1]), "finite"),
        (["shape"], np.zeros(3), "all be zero"),
    ]:
        with pytest.raises(DistaffError, match=message):
            from_joint(TOY, names, joint)
    with pytest.raises(DistaffError, match="has no rows"):
        from_joint(TOY.subset(TOY.where({"shape": 0})), ["shape"], np.ones(3))
    with pytest.raises(DistaffError, match="correlated factors need a width above 0"):
        correlated(TOY, "shape", "shape")


def test_splits_share_no_rows_and_lose_none() -> None:
    train, test = split(TOY, test=0.25, seed=3)
    assert (len(train), len(test)) == (45, 15)
    rows = np.concatenate([train.factors, test.factors])
    assert len(np.unique(rows, axis=0)) == 60
    np.testing.assert_array_equal(split(TOY, 0.25, 3)[1].factors, test.factors)
    assert not np.array_equal(split(TOY, 0.25, 4)[1].factors, test.factors)
    for share in (0.0, 1.0, 0.001):
        with pytest.raises(DistaffError, match="leaves nothing"):
            split(TOY, share)


def test_combinations_are_held_out() -> None:
    kept, removed = without(TOY, {"shape": 1, "scale": [2, 3]}, {"angle": lambda a: a > 3})
    expected = ((TOY.column("shape") == 1) & (TOY.column("scale") >= 2)) | (TOY.column("angle") == 4)
    np.testing.assert_array_equal(removed.factors, TOY.factors[expected])
    np.testing.assert_array_equal(kept.factors, TOY.factors[~expected])
    for wrong, message in [
        ([], "say which"),
        ([{}], "say which"),
        ([{"shape": 7}], "no row"),
        ([{"shape": [0, 1, 2]}], "every row"),
        ([{"colour": 1}], "unknown factor"),
    ]:
        with pytest.raises(DistaffError, match=message):
            without(TOY, *wrong)


def drawn(thickness: float, width: float, slant: float = 0.0) -> np.ndarray:
    """A 28×28 image of a bar, anti-aliased: ``thickness`` across, ``width`` along, turned by ``slant``."""
    fine = (np.arange(28 * 8) + 0.5) / 8 - 14
    x, y = np.meshgrid(fine, fine)
    along, across = x * np.cos(slant) + y * np.sin(slant), y * np.cos(slant) - x * np.sin(slant)
    bar = (abs(along) <= width / 2) & (abs(across) <= thickness / 2)
    return bar.reshape(28, 8, 28, 8).mean((1, 3))


@pytest.mark.parametrize("thickness", [2.0, 3.0, 4.5])
@pytest.mark.parametrize("slant", [0.0, 0.6, np.pi / 2])
def test_strokes_of_known_size_measure_as_drawn(thickness: float, slant: float) -> None:
    data = from_array(np.stack([drawn(thickness, 18, slant)] * 2))
    assert measure_strokes(data.images)[0, 0] == pytest.approx(thickness, rel=0.15)


def test_widths_of_known_size_measure_as_drawn() -> None:
    data = from_array(np.stack([drawn(4, width) for width in (6, 12, 20)]))
    np.testing.assert_allclose(measure_strokes(data.images)[:, 1], [0.95 * 6, 0.95 * 12, 0.95 * 20], atol=0.1)
    np.testing.assert_array_equal(measure_strokes(from_array(np.zeros((2, 28, 28))).images), 0)


def test_measures_become_factors_and_choose_what_is_held_out() -> None:
    images = np.stack([drawn(t, w) for t, w in [(2, 18), (5, 18), (3, 8), (3, 20)]])
    sizes = measure_strokes(from_array(images).images)
    data = from_array(images, np.column_stack([[7, 7, 0, 0], sizes]), ["digit", "thickness", "width"])
    assert (data.names, data.sizes) == (("digit", "thickness", "width"), (2, 0, 0))
    np.testing.assert_array_equal(data.values[:, 0], [7, 7, 0, 0])
    kept, removed = without(data, {"digit": 1, "thickness": lambda t: t > 3.5})
    assert (len(kept), len(removed)) == (3, 1)
    with pytest.raises(DistaffError, match="grey images"):
        measure_strokes(from_array(np.zeros((2, 3, 28, 28))).images)


@pytest.mark.slow
def test_thick_sevens_and_narrow_zeros_are_removed_from_the_real_digits(real_data: Path) -> None:
    data = mnist.load(part="test")
    kept, removed = zero_shot(data)
    assert len(kept) + len(removed) == 10_000
    digits = removed.column("digit")
    assert set(digits) == {0, 7}
    assert (digits == 7).sum() == pytest.approx(0.25 * (data.column("digit") == 7).sum(), abs=2)
    # The thick ones hold more ink than the sevens that stay.
    sevens = kept.subset(kept.where({"digit": 7}))
    thick = removed.subset(removed.where({"digit": 7}))
    assert thick.images[:].mean() > 1.2 * sevens.images[:].mean()
    again = {name: mnist.load(part="test", zero_shot=name) for name in ("kept", "removed")}
    assert again["kept"].fingerprint == kept.fingerprint
    assert again["removed"].fingerprint == removed.fingerprint
    with pytest.raises(DistaffError, match="did you mean 'kept'"):
        mnist.load(part="test", zero_shot="kep")


def test_some_observations_are_the_same_ones_every_time() -> None:
    part = some(TOY, 30)
    assert len(part) == 30
    np.testing.assert_array_equal(part.factors, some(TOY, 30).factors)
    rows = some_rows(len(TOY), 30)
    assert (np.diff(rows) > 0).all()
    assert not np.array_equal(rows, some_rows(len(TOY), 30, seed=1))
    assert some(TOY, None) is TOY
    assert some(TOY, len(TOY)) is TOY
