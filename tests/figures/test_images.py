import numpy as np
import pytest

from distaff.figures import image_rows as images
from distaff.figures.image_rows import wrap
from distaff.figures.montage import TALLEST, montage
from distaff.figures.style import COLUMN, PAGE
from distaff.foundation.errors import DistaffError
from tests.figures.drawings import distinct, drawn, texts


def test_montage_puts_each_image_in_its_cell_on_white():
    grid = distinct(2, 3)
    picture = montage(grid)
    assert picture.shape == (33, 50, 3)
    assert np.all(picture[16] == 1)
    assert np.all(picture[:, [16, 33]] == 1)
    for row in range(2):
        for column in range(3):
            cell = picture[17 * row : 17 * row + 16, 17 * column : 17 * column + 16]
            assert np.all(cell == grid[row, column, 0, 0, 0])


def test_montage_keeps_colours_and_non_square_images():
    image = np.zeros((1, 1, 3, 4, 6))
    image[0, 0, 1, 3, 5] = 1
    picture = montage(image)
    assert picture.shape == (4, 6, 3)
    np.testing.assert_array_equal(picture[3, 5], [0, 1, 0])
    assert picture.sum() == 1


def test_montage_breaks_open_wider_gaps():
    picture = montage(distinct(3, 1), breaks=[1])
    assert np.all(picture[16:19] == 1)
    assert picture.shape[0] == 3 * 16 + 2 + 2


def test_image_grid_of_rows_is_labelled_at_its_cells():
    figure = images.image_grid(
        distinct(2, 3), row_labels=["a", "b"], column_labels=["x", "y", "z"], title="T"
    )
    (axes,) = figure.axes
    np.testing.assert_array_equal(drawn(axes), montage(distinct(2, 3)))
    assert texts(axes.get_yticklabels()) == ["a", "b"]
    assert texts(axes.get_xticklabels()) == ["x", "y", "z"]
    np.testing.assert_allclose(axes.get_yticks(), [7.5, 24.5])
    assert figure.get_suptitle() == "T"


def test_image_grid_of_a_list_fills_the_last_row_with_white():
    (axes,) = images.image_grid(distinct(5), columns=3).axes
    picture = drawn(axes)
    assert picture.shape == (33, 50, 3)
    assert np.all(picture[17:, 34:] == 1)
    assert np.all(picture[17:, 17:33] == 0.9)


@pytest.mark.parametrize("count", [1, 9, 100, 2000])
def test_grids_fit_a_paper(count):
    width, height = images.image_grid(distinct(count, side=4)).get_size_inches()
    assert width <= PAGE + 0.01
    assert height <= TALLEST + 0.01
    if count <= 9:
        assert width <= COLUMN


def test_samples_are_a_grid():
    (axes,) = images.samples(distinct(6, channels=3), columns=6).axes
    np.testing.assert_array_equal(drawn(axes), montage(distinct(1, 6, channels=3)))


def test_reconstructions_lie_under_their_originals():
    originals = distinct(5)
    figure = images.reconstructions(originals, originals / 2, columns=3)
    (axes,) = figure.axes
    assert texts(axes.get_yticklabels()) == ["original", "reconstruction"] * 2
    originals, rebuilt = wrap(originals, 3), wrap(originals / 2, 3)
    rows = np.stack([originals[0], rebuilt[0], originals[1], rebuilt[1]])
    np.testing.assert_array_equal(drawn(axes), montage(rows, breaks=[2]))


def test_wrong_shapes_are_refused():
    with pytest.raises(DistaffError, match="originals have the shape"):
        images.reconstructions(distinct(3), distinct(4))
    with pytest.raises(DistaffError, match="in rows already"):
        images.image_grid(distinct(2, 2), columns=2)
    with pytest.raises(DistaffError, match="row_labels: 1 names for 2 rows"):
        images.image_grid(distinct(2, 2), row_labels=["a"])
    with pytest.raises(DistaffError, match="columns must be 1 or more"):
        images.image_grid(distinct(2), columns=0)
