from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from distaff.data import Dataset, from_array, open_dataset
from distaff.data.dataset import grid
from distaff.figures import preview, save
from distaff.foundation.errors import DistaffError
from tests.figures.drawings import drawn

IMAGES = np.random.default_rng(0).random((24, 3, 8, 8))


def shown(data: Dataset, columns: int = 10) -> list[list[np.ndarray]]:
    """The pictures of each row, but for the white ones that fill it up."""
    (axes,) = preview(data, columns).axes
    sheet, pitch = drawn(axes), 8 + 1
    rows = [
        [sheet[j : j + 8, i : i + 8] for i in range(0, sheet.shape[1], pitch)]
        for j in range(0, len(sheet), pitch)
    ]
    return [[picture for picture in row if not (picture == 1).all()] for row in rows]


def test_each_row_varies_its_own_factor(tmp_path: Path) -> None:
    """Images that are their own factors: within a row one channel moves and the others stay."""
    classes = grid((2, 3, 4))
    images = np.broadcast_to(classes[:, :, None, None] / 4, (24, 3, 8, 8))
    rows = shown(from_array(images, classes, ["a", "b", "c"]))
    assert [len(row) for row in rows] == [2, 3, 4]
    for factor, row in enumerate(rows):
        values = np.array([picture[0, 0] for picture in row])
        assert (np.diff(values[:, factor]) > 0).all()
        assert np.ptp(np.delete(values, factor, axis=1), axis=0).max() == 0


def test_sets_off_the_grid_show_each_class_and_sets_without_factors_random_images() -> None:
    labels = np.arange(24) % 3
    images = np.broadcast_to(labels[:, None, None] / 3, (24, 8, 8))
    [row] = shown(from_array(images, labels))
    assert [picture[0, 0, 0] for picture in row] == pytest.approx([0, 1 / 3, 2 / 3])
    assert [len(row) for row in shown(from_array(IMAGES))] == [10] * 5


def test_sheets_are_drawn_for_images_and_vectors(tmp_path: Path) -> None:
    for data in (open_dataset("pinwheel"), from_array(IMAGES)):
        with Image.open(save(preview(data), tmp_path / "new" / "sheet.png")) as sheet:
            assert min(sheet.size) > 300
            assert len(set(sheet.convert("L").tobytes())) > 10
    with pytest.raises(DistaffError, match="unknown figure format 'xyz': Known: pdf, png, svg"):
        save(preview(from_array(IMAGES)), tmp_path / "sheet.xyz")
    with pytest.raises(DistaffError, match="one dimension"):
        preview(from_array(np.zeros((5, 1))))
