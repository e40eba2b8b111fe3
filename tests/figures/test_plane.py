import numpy as np
import pytest

from distaff.figures.plane import plane
from distaff.foundation.errors import DistaffError


def test_plane_parts_points_by_class():
    points = np.arange(8.0).reshape(4, 2)
    (axes,) = plane(points, [0, 1, 1, 0]).axes
    np.testing.assert_array_equal(axes.lines[1].get_xydata(), points[1:3])
    assert [line.get_label() for line in axes.lines] == ["class 0", "class 1"]
    assert axes.lines[0].get_marker() != axes.lines[1].get_marker()
    with pytest.raises(DistaffError, match="in the plane"):
        plane(np.ones((4, 3)))
    with pytest.raises(DistaffError, match="points 4, classes 2"):
        plane(points, [0, 1])
