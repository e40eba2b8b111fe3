"""Convert between a user's arrays and the model's observations: standardised vectors, images in 0–1."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from distaff.codes import FloatArray
from distaff.data.arrays import from_array
from distaff.data.dataset import Dataset
from distaff.foundation.errors import DistaffError

BYTE = 255
MOST_CHANNELS = 4
FAR = 2
"""Pixels above this many times white are on another scale if they are the majority."""


@dataclass(frozen=True, eq=False)
class Standardised:
    """Vectors (N, D), with each column scaled to mean 0 and variance 1."""

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def of(cls, vectors: NDArray[Any]) -> "Standardised":
        """Fit to the columns of ``vectors``."""
        values = vectors.astype(np.float64)
        with np.errstate(over="ignore"):
            deviation = values.std(0)
        if not np.isfinite(deviation).all():
            raise DistaffError(
                f"X holds numbers up to {np.abs(values).max():g}, too large to be standardised: rescale them."
            )
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


Numbers = Literal["bytes", "whole", "any"]
"""The numbers that images were fitted on: bytes, other whole numbers that exceed 1, or any others."""


@dataclass(frozen=True)
class Pictures:
    """Images (N, H, W), (N, H, W, C) or (N, C, H, W), divided by their white and clipped to 0–1.

    Args:
        shape: shape of one image as the user gives it.
        white: the value that becomes 1.
        numbers: the numbers that were fitted, from which images on another scale are recognised.
    """

    shape: tuple[int, ...]
    white: float
    numbers: Numbers = "any"

    @classmethod
    def of(cls, images: NDArray[Any]) -> "Pictures":
        """Fit to ``images``: white is 255 for bytes, otherwise the largest value, but never below 1.

        Bytes that are all 0 or 1 are black and white; their white is 1.
        """
        if images.ndim > 4 or images.min() < 0:
            raise DistaffError(
                "X must be vectors (N, D) or images (N, H, W), (N, H, W, C) or (N, C, H, W) of values from 0 "
                f"up, not {images.shape} from {images.min():g} to {images.max():g}."
            )
        largest = float(images.max())
        if largest <= 1:
            return cls(images.shape[1:], 1.0)
        if images.dtype == np.uint8:
            return cls(images.shape[1:], BYTE, "bytes")
        return cls(images.shape[1:], largest, "any" if _has_fractions(images) else "whole")

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
            raise DistaffError(
                f"X holds images of shape {images.shape[1:]}, but the model was fitted on {self.shape}."
            )
        self._refuse_other_scale(images)
        values = np.clip(np.asarray(images, np.float32) / np.float32(self.white), 0, 1)
        if self.channels_last:
            values = np.moveaxis(values, 3, 1)
        return from_array(values, channels="first")

    def _refuse_other_scale(self, images: NDArray[Any]) -> None:
        """Raise if images are evidently on another scale than those that were fitted.

        Too dark: after bytes, bools and floats whose largest value is above 0 and at most 1 are refused. If
        all of them are 0 or 1, they could be very dark bytes, but black and white is far likelier; such bytes
        can be passed as uint8. After other whole numbers, they are refused only if some are fractions: where
        there are few levels of grey, images of 0 and 1 are common.

        Too bright: after a white of 1, whole numbers above 1 are refused, and so are any images in which most
        pixels that are not black are above ``FAR`` times white. Other values above white are clipped:
        resampling goes a little above it, and single pixels may be far above it.
        """
        largest = float(images.max())
        if 0 < largest <= 1 and images.dtype.kind in "fb":
            if self.numbers == "bytes" or (self.numbers == "whole" and _has_fractions(images)):
                bytes_too = ", or pass uint8 if they are very dark bytes" if self.numbers == "bytes" else ""
                raise DistaffError(
                    f"X holds {images.dtype} images in 0–1, but the model was fitted on whole numbers in "
                    f"0–{self.white:g}: multiply X by {self.white:g}{bytes_too}."
                )
        elif self.white == 1 < largest and not _has_fractions(images):
            raise DistaffError(
                f"X holds whole numbers up to {largest:g}, but the model was fitted on images in 0–1: "
                f"divide X by {BYTE if largest <= BYTE else 'its value of white'}."
            )
        elif largest > FAR * self.white and (images > FAR * self.white).sum() > (images > 0).sum() / 2:
            raise DistaffError(
                f"X holds images up to {largest:g}, but the model was fitted on images in 0–{self.white:g}, "
                "and most of X would be white: bring X to that scale."
            )

    def back(self, observations: FloatArray) -> FloatArray:
        """Convert the model's observations (N, C, H, W) to the user's shape and units."""
        values = np.moveaxis(observations, 1, 3) if self.channels_last else observations
        return np.asarray(values.reshape(-1, *self.shape) * self.white)


def _has_fractions(values: NDArray[Any]) -> bool:
    return values.dtype.kind == "f" and bool((values % 1 != 0).any())


EstimatorArrangement = Standardised | Pictures


def arrange(values: NDArray[Any], standardise: bool = True) -> EstimatorArrangement:
    """The arrangement for an array (N, ...); vectors are unchanged unless ``standardise``."""
    if values.ndim > 2:
        return Pictures.of(values)
    columns = values.shape[1]
    return Standardised.of(values) if standardise else Standardised(np.zeros(columns), np.ones(columns))
