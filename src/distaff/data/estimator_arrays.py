"""Convert between a user's arrays and the model's observations: standardised vectors, images in 0–1."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distaff.codes import FloatArray
from distaff.data.arrays import from_array
from distaff.data.dataset import Dataset
from distaff.foundation.errors import DistaffError

BYTE = 255
MOST_CHANNELS = 4


@dataclass(frozen=True, eq=False)
class Standardised:
    """Vectors (N, D), with each column scaled to mean 0 and variance 1.

    Args:
        mean: (D,) means of the columns.
        scale: (D,) their standard deviations; 1 for a constant column.
    """

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def of(cls, vectors: NDArray[Any]) -> "Standardised":
        """Fit to the columns of ``vectors``."""
        values = vectors.astype(np.float64)
        deviation = values.std(0)
        # The deviation of a constant column is rounding error; dividing by it would produce noise.
        varies = deviation > 10 * np.finfo(np.float64).eps * np.abs(values).max(0)
        return cls(values.mean(0), np.where(varies, deviation, 1.0))

    @property
    def log_density(self) -> float:
        """The change in log p(x) due to the change of units: −Σ log scale."""
        return -float(np.log(self.scale).sum())

    def dataset(self, vectors: NDArray[Any]) -> Dataset:
        """Convert vectors to the model's observations."""
        return from_array((vectors - self.mean) / self.scale)

    def back(self, observations: FloatArray) -> FloatArray:
        """Convert the model's observations to the user's units."""
        return np.asarray(observations * self.scale + self.mean)


@dataclass(frozen=True)
class Pictures:
    """Images (N, H, W), (N, H, W, C) or (N, C, H, W), divided by their white and clipped to 0–1.

    Args:
        shape: shape of one image as the user gives it.
        white: the value that becomes 1.
    """

    shape: tuple[int, ...]
    white: float

    @classmethod
    def of(cls, images: NDArray[Any]) -> "Pictures":
        """Fit to ``images``: white is 255 for bytes, otherwise the largest value if that is above 1."""
        if images.ndim > 4 or images.min() < 0:
            raise DistaffError(
                "X must be vectors (N, D) or images (N, H, W), (N, H, W, C) or (N, C, H, W) of values from 0 "
                f"up, not {images.shape} from {images.min():g} to {images.max():g}."
            )
        white = BYTE if images.dtype == np.uint8 else max(1.0, float(images.max()))
        return cls(images.shape[1:], white)

    @property
    def log_density(self) -> float:
        """0: a Bernoulli likelihood of pixels is not a density of their values."""
        return 0.0

    @property
    def channels_last(self) -> bool:
        """Whether the last axis holds the channels: true for all but (C, H, W) with C ≤ 4 < W."""
        return len(self.shape) == 3 and not self.shape[0] <= MOST_CHANNELS < self.shape[2]

    def dataset(self, images: NDArray[Any]) -> Dataset:
        """Convert images to the model's observations."""
        if images.shape[1:] != self.shape:
            raise DistaffError(f"X holds images of shape {images.shape[1:]}, but was fitted on {self.shape}.")
        values = np.clip(np.asarray(images, np.float32) / np.float32(self.white), 0, 1)
        if self.channels_last:
            values = np.moveaxis(values, 3, 1)
        return from_array(values, channels="first")

    def back(self, observations: FloatArray) -> FloatArray:
        """Convert the model's observations (N, C, H, W) to the user's shape and units."""
        values = np.moveaxis(observations, 1, 3) if self.channels_last else observations
        return np.asarray(values.reshape(-1, *self.shape) * self.white)


EstimatorArrangement = Standardised | Pictures


def arrange(values: NDArray[Any], standardise: bool = True) -> EstimatorArrangement:
    """The arrangement for an array (N, ...); vectors are unchanged unless ``standardise``."""
    if values.ndim > 2:
        return Pictures.of(values)
    columns = values.shape[1]
    return Standardised.of(values) if standardise else Standardised(np.zeros(columns), np.ones(columns))
