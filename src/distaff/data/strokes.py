"""Stroke thickness and width of drawn characters (HFVAE §6.4 removes digits by these)."""

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from distaff.data.dataset import Dataset
from distaff.data.images import Images
from distaff.foundation.errors import DistaffError
from distaff.foundation.progress import progress

FINER = 4
"""Factor by which images are enlarged to measure strokes."""


def measure_strokes(images: Images, rows: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
    """The stroke thickness and the character width of each image, in pixels.

    Thickness is twice the mean distance to the background along the middle of the stroke, in an image
    enlarged four times and thresholded at half of its maximum (as in Castro et al. 2019). Width is the range
    of columns that contains the middle 95% of the ink.

    Args:
        images: grey images (1, H, W).
        rows: (N,) rows to measure; all by default.

    Returns:
        (N, 2) thickness and width.
    """
    if len(images.shape) != 3 or images.shape[0] != 1:
        raise DistaffError(f"strokes are measured on grey images (1, H, W), not on {images.shape}.")
    numbers = range(len(images)) if rows is None else rows.tolist()
    pairs = [_measure(images[number][0].numpy()) for number in progress(numbers, "measuring strokes")]
    return np.array(pairs)


def zero_shot(data: Dataset, thick: float = 0.75, narrow: float = 0.25) -> tuple[Dataset, Dataset]:
    """MNIST without its thick 7s and narrow 0s, and those that were removed (HFVAE §6.4).

    Args:
        data: MNIST, with the factor ``digit``.
        thick: the quantile of the 7s' thickness above which they are removed.
        narrow: the quantile of the 0s' width below which they are removed.
    """
    digit = data.column("digit")
    sizes = np.full((len(data), 2), np.nan)
    for wanted in (0, 7):
        rows = np.flatnonzero(digit == wanted)
        if not len(rows):
            raise DistaffError(f"{data.name} has no {wanted}s to remove.")
        sizes[rows] = measure_strokes(data.images, rows)
    thickness, width = sizes.T
    limit_thick = np.quantile(thickness[digit == 7], thick)
    limit_narrow = np.quantile(width[digit == 0], narrow)
    removed = ((digit == 7) & (thickness > limit_thick)) | ((digit == 0) & (width < limit_narrow))
    return data.subset(~removed, f"{data.name}-kept"), data.subset(removed, f"{data.name}-removed")


def _measure(image: NDArray[np.float32]) -> tuple[float, float]:
    if image.max() <= 0:
        return 0.0, 0.0
    finer = ndimage.zoom(image, FINER, order=1, grid_mode=True, mode="grid-constant")
    # A border of background, so that strokes end at the frame.
    stroke = np.pad(finer >= image.max() / 2, 1)
    depth = ndimage.distance_transform_edt(stroke)
    middle = stroke & (depth >= ndimage.maximum_filter(depth, size=3))
    # Distances are to the centre of the next background pixel, half a pixel beyond the stroke's edge.
    thickness = (2 * depth[middle].mean() - 1) / FINER
    ink = np.concatenate([[0], np.cumsum(image.sum(0))])
    left, right = np.interp([0.025, 0.975], ink / ink[-1], np.arange(len(ink)))
    return float(thickness), float(right - left)
