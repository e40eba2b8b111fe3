"""Signals over time: (N, T), or (N, C, T) with several channels, each standardised as a whole."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distaff.codes import FloatArray
from distaff.data.dataset import Dataset, called
from distaff.data.images import FloatImages
from distaff.foundation.errors import DistaffError


@dataclass(frozen=True)
class Signals:
    """Signals (C, T), with each channel scaled to mean 0 and variance 1 over all signals and times.

    Args:
        shape: (C, T).
        mean: mean of each channel.
        scale: standard deviation of each channel; 1 for a constant one.
        flat: whether signals were given without a channel axis.
    """

    shape: tuple[int, ...]
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    flat: bool

    @classmethod
    def of(cls, signals: NDArray[Any], standardise: bool = True) -> "Signals":
        """Fit to signals (N, T) or (N, C, T)."""
        values, flat = _with_channels(signals), signals.ndim == 2
        channels = values.shape[1]
        if not standardise:
            return cls(values.shape[1:], (0.0,) * channels, (1.0,) * channels, flat)
        mean = values.mean((0, 2), dtype=np.float64)
        deviation = values.std((0, 2), dtype=np.float64)
        varies = deviation > 10 * np.finfo(np.float64).eps * np.abs(values).max((0, 2))
        scale = np.where(varies, deviation, 1.0)
        return cls(values.shape[1:], tuple(mean.tolist()), tuple(scale.tolist()), flat)

    def dataset(self, signals: NDArray[Any], name: str = "signals") -> Dataset:
        """Convert signals, one (T,) or (C, T) or many, to the model's observations."""
        own = self.shape[1:] if self.flat else self.shape
        values = _with_channels(signals[None] if signals.shape == own else signals)
        if values.shape[1:] != self.shape:
            raise DistaffError(
                f"{called(name)} holds signals of shape {values.shape[1:]}, but the model was trained on "
                f"{self.shape}."
            )
        mean, scale = (np.array(numbers)[:, None] for numbers in (self.mean, self.scale))
        return Dataset(FloatImages(((values - mean) / scale).astype(np.float32)), name=name, arrangement=self)

    def back(self, observations: FloatArray) -> FloatArray:
        """Convert the model's observations (N, C, T) to the user's shape and units."""
        mean, scale = (np.array(numbers)[:, None] for numbers in (self.mean, self.scale))
        values = observations * scale + mean
        return np.asarray(values[:, 0] if self.flat else values)

    def plain(self) -> dict[str, Any]:
        """The form stored in ``run.yaml``."""
        told = {"signals": list(self.shape), "mean": list(self.mean), "scale": list(self.scale)}
        return {**told, "flat": self.flat}


def from_signals(signals: Any, name: str = "signals", standardise: bool = True) -> Dataset:
    """A data set of signals (N, T) or (N, C, T).

    >>> from_signals(np.sin(np.arange(60.0)).reshape(2, 3, 10))
    signals: 2 × (3, 10), no factors
    """
    values = np.asarray(signals)
    return Signals.of(values, standardise).dataset(values, name)


def _with_channels(signals: NDArray[Any]) -> NDArray[Any]:
    if signals.ndim not in (2, 3) or 0 in signals.shape or signals.dtype.kind not in "buif":
        raise DistaffError(
            f"signals must be numbers (N, T) or (N, C, T), not {signals.dtype} of shape {signals.shape}."
        )
    if not np.isfinite(signals).all():
        row = int(np.argwhere(~np.isfinite(signals))[0][0])
        raise DistaffError(f"signal {row} holds a value that is not finite: remove it first.")
    return signals[:, None] if signals.ndim == 2 else signals
