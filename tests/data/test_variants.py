"""dSprites in other clothes, correlated factors and held-out combinations."""

import numpy as np
import pytest
import torch
from PIL import Image

from distaff.data import dsprites, from_array, open_dataset
from distaff.data.color_dsprites import coloured
from distaff.data.correlated_factors import correlated, tied
from distaff.data.dataset import Dataset, grid
from distaff.data.images import BitImages
from distaff.data.left_out import leave_out
from distaff.data.noisy_dsprites import on_noise
from distaff.data.painted import PaintedImages
from distaff.data.scream_dsprites import _picture, on_patch
from distaff.foundation.errors import DistaffError

MASKS = np.zeros((6, 1, 64, 64), np.uint8)
for number, mask in enumerate(MASKS):
    mask[0, 5 * number : 5 * number + 9, 20:40] = 1
STORE = BitImages.pack(MASKS)


def stand_in() -> Dataset:
    """dSprites' factors without its images."""
    return Dataset(
        BitImages(np.zeros((dsprites.COUNT, 1), np.uint8), (1, 2, 2)),
        grid(dsprites.SIZES),
        dsprites.NAMES,
        dsprites.SIZES,
        dsprites.VALUES,
        "dsprites",
    )


def test_shapes_have_a_colour_of_their_own_each():
    images = PaintedImages(STORE, coloured)[:]
    inside = torch.from_numpy(MASKS) == 1
    for image, mask in zip(images, inside, strict=True):
        colours = image[:, mask[0]]
        assert (colours == colours[:, :1]).all()
        assert 0.5 <= colours.min() <= colours.max() <= 1
        assert (image[:, ~mask[0]] == 0).all()
    assert len({tuple(image[:, m[0]][:, 0].tolist()) for image, m in zip(images, inside, strict=True)}) == 6


def test_shapes_are_white_on_noise():
    images = PaintedImages(STORE, on_noise)[:]
    inside = (torch.from_numpy(MASKS) == 1).expand(-1, 3, -1, -1)
    assert (images[inside] == 1).all()
    around = images[~inside]
    assert around.mean() == pytest.approx(0.5, abs=0.01)
    assert around.var() == pytest.approx(1 / 12, abs=0.01)


def test_shapes_invert_the_picture_they_lie_on(tmp_path):
    rng = np.random.default_rng(0)
    Image.fromarray(rng.integers(0, 256, (300, 400, 3), dtype=np.uint8)).save(tmp_path / "mine.png")
    picture = _picture(tmp_path / "mine.png")
    assert picture.shape[2] == 350
    assert picture.shape[1] in (262, 263)
    whole = np.ones((1, 64, 64), np.float32)
    with_shape, without = (on_patch(m, np.random.default_rng(1), picture) for m in (whole, 0 * whole))
    np.testing.assert_allclose(with_shape, 1 - without, atol=1e-6)
    Image.fromarray(np.zeros((20, 20, 3), np.uint8)).save(tmp_path / "small.png")
    with pytest.raises(DistaffError, match="needs 64 each way"):
        _picture(tmp_path / "small.png")
    (tmp_path / "no.png").write_text("none")
    with pytest.raises(DistaffError, match="cannot be read as a picture"):
        _picture(tmp_path / "no.png")
    with pytest.raises(DistaffError, match="needs a picture"):
        _picture(tmp_path / "absent.png")


def test_an_image_looks_the_same_however_it_is_asked_for():
    images = PaintedImages(STORE, on_noise, seed=3)
    torch.testing.assert_close(images[[4, 1]], images[:][[4, 1]])
    torch.testing.assert_close(images[4], images[:][4])
    assert not images[:].equal(PaintedImages(STORE, on_noise, seed=4)[:])


def test_recombinations_of_dsprites_are_those_of_the_authors():
    data = stand_in()
    kept, held = leave_out(data, "recombination_to_range")
    assert len(kept) + len(held) == len(data)
    values = held.values
    assert (values[:, 0] == 1).all()
    assert values[:, 3].min() > 0.5
    assert len(held) == 6 * 40 * 16 * 32
    _, held = leave_out(data, "recombination_to_element")
    values = held.values
    assert (values[:, 0] == 2).all()
    assert values[:, 1].min() > 0.6
    assert 2 * np.pi / 3 < values[:, 2].min() < values[:, 2].max() < 4 * np.pi / 3
    assert values[:, 3:].min() > 0.66
    for name in data.names:
        assert set(leave_out(data, "recombination_to_element")[0].column(name)) == set(data.column(name))


SQUARE = from_array(np.zeros((60, 2)), grid((10, 6)), ["row", "column"])


def test_a_composition_leaves_out_no_value():
    kept, held = leave_out(SQUARE, "composition")
    assert held.column("row").min() == 5
    assert held.column("column").min() == 3
    assert len(held) == 15
    assert set(kept.column("row")) == set(range(10))


def test_interpolation_and_extrapolation_leave_out_values():
    kept, held = leave_out(SQUARE, "interpolation:row")
    assert set(held.column("row")) == {4, 5}
    assert not set(kept.column("row")) & {4, 5}
    kept, held = leave_out(SQUARE, "extrapolation:row, column")
    assert set(kept.column("row")) == set(range(8))
    assert set(kept.column("column")) == set(range(5))


@pytest.mark.parametrize(
    ("which", "message"),
    [
        ("recombination_to_range", "use composition, interpolation or extrapolation"),
        ("extrapolate", "did you mean 'extrapolation'"),
        ("extrapolation:rows", "did you mean 'row'"),
        ("composition:row", "needs two factors"),
    ],
)
def test_combinations_that_cannot_be_left_out_are_refused(which, message):
    with pytest.raises(DistaffError, match=message):
        leave_out(SQUARE, which)


def test_correlated_factors_follow_a_gaussian_of_their_distance():
    """Träuble et al. 2021, Eq. 1, with c₁ − α c₂, α the ratio of their ranges, in units of the range."""
    data = correlated(SQUARE, "row", "column", width=0.4, count=300_000)
    row, column = np.indices((10, 6))
    expected = np.exp(-((row - 9 / 5 * column) ** 2) / (2 * (0.4 * 9) ** 2))
    found = np.zeros((10, 6))
    np.add.at(found, tuple(data.factors.T), 1 / len(data))
    np.testing.assert_allclose(found, expected / expected.sum(), atol=1e-3)


def test_correlated_factors_as_a_text():
    data = tied(SQUARE, "row,column:0.1")
    assert np.corrcoef(data.factors.T)[0, 1] > 0.8
    for text in ("row", "row,column:", "row,column:x", "row,column:-1"):
        with pytest.raises(DistaffError, match="two factors and a width"):
            tied(SQUARE, text)


def test_both_are_options_of_any_data_set(tmp_path):
    np.savez(tmp_path / "mine.npz", images=np.zeros((60, 4)), factors=SQUARE.factors)
    kept = open_dataset(tmp_path / "mine.npz", leave_out="composition")
    held = open_dataset(tmp_path / "mine.npz", leave_out="composition", left_out=True)
    assert (len(kept), len(held)) == (45, 15)
    both = open_dataset(tmp_path / "mine.npz", leave_out="composition", correlate="factor0,factor1:0.1")
    assert 0 < len(both) < 60
    assert not both.where({"factor0": [5, 6, 7, 8, 9], "factor1": [3, 4, 5]}).any()


def test_scream_dsprites_are_painted_over_a_picture_of_the_users(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (100, 120, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "mine.png")
    data = open_dataset("scream_dsprites", tmp_path / "mine.png")
    assert (len(data), data.shape, data.names) == (dsprites.COUNT, (3, 64, 64), dsprites.NAMES)
    shape, behind = dsprites.load().images[[7]][0, 0] == 1, data.images[7]
    assert bool((behind[:, shape] != behind[:, ~shape].mean(1, keepdim=True)).any())
