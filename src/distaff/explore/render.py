"""Pictures of observations: images themselves, signals as curves, vectors as points or bars."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from distaff.codes import FloatArray
from distaff.foundation.colours import on_a_screen

Pixels = NDArray[np.uint8]
SIDE = 128
"""Side, in pixels, of a picture of a vector."""

PAPER, FAINT, INK = (255, 255, 255), (196, 202, 208), (0, 89, 140)
CHANNELS = (INK, (196, 90, 0), (0, 120, 90), (150, 60, 130), (120, 120, 0), (90, 90, 90))
"""Colours of a signal's channels, in turn."""
DOT = 4
"""Radius of the point that represents a vector of two numbers."""
NAMED = 40
"""Largest number of columns of a table that are named below its bars."""


class Renderer(Protocol):
    """Draws N observations."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """(height, width, channels) of a picture; the channels are 1 or 3."""

    @property
    def drawn(self) -> bool:
        """Whether pictures are drawn in ink on white, which a dark page inverts."""

    @property
    def explains(self) -> str | None:
        """An explanation of the pictures for the reader, if needed."""

    def __call__(self, observations: FloatArray) -> Pixels:
        """(N, height, width, channels) of observations (N, *shape)."""


def renderer_for(shape: tuple[int, ...], some: FloatArray, names: Sequence[str] = ()) -> Renderer:
    """The renderer of observations of a shape."""
    if len(shape) == 3:
        return Images(shape)
    if len(shape) == 2:
        return Curves(some)
    return Points(some) if shape == (2,) else Bars(some, names)


class Images:
    """Images (C, H, W) with values in [0, 1]; RGBA is shown on white, other channels by their mean."""

    drawn = False

    def __init__(self, shape: tuple[int, ...]) -> None:
        channels, height, width = shape
        averaged = channels not in (1, 3, 4)
        self.shape = (height, width, 1 if averaged else min(channels, 3))
        self.explains = f"The mean of {channels} channels is shown." if averaged else None

    def __call__(self, observations: FloatArray) -> Pixels:
        """Pictures with levels 0 … 255."""
        levels = on_a_screen(np.nan_to_num(observations, nan=1.0).clip(0, 1)) * 255
        return np.ascontiguousarray(levels.round().astype(np.uint8).transpose(0, 2, 3, 1))


class Points:
    """Vectors of two numbers: each is a point in the plane, over the data in grey."""

    shape = (SIDE, SIDE, 3)
    drawn = True
    explains = "Each observation is a point of the plane, drawn over the data in grey."

    def __init__(self, some: FloatArray) -> None:
        some = some[np.isfinite(some).all(axis=1)]
        low, high = some.min(axis=0, initial=0), some.max(axis=0, initial=0)
        self.centre, self.reach = (low + high) / 2, 0.6 * max(float((high - low).max()), 1e-6)
        self.paper = np.full(self.shape, PAPER, np.uint8)
        rows, columns = self._places(some)
        self.paper[rows, columns] = FAINT

    def __call__(self, observations: FloatArray) -> Pixels:
        """One dot per observation."""
        pictures = np.repeat(self.paper[None], len(observations), axis=0)
        y, x = np.mgrid[:SIDE, :SIDE]
        for picture, row, column in zip(pictures, *self._places(observations), strict=True):
            picture[(y - row) ** 2 + (x - column) ** 2 <= DOT**2] = INK
        return pictures

    def _places(self, points: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows, upwards, and columns of the picture; points outside are moved to its edge."""
        scaled = np.nan_to_num((points - self.centre) / self.reach).clip(-1, 1)
        places = ((scaled + 1) / 2 * (SIDE - 1)).round().astype(np.int64)
        return SIDE - 1 - places[:, 1], places[:, 0]


class Curves:
    """Signals (C, T): one curve per channel, over time."""

    shape = (SIDE, SIDE, 3)
    drawn = True

    def __init__(self, some: FloatArray) -> None:
        self.low, self.high = float(some.min()), float(some.max())
        channels = some.shape[1]
        each = "Each picture is a signal" if channels == 1 else f"Each curve is one of {channels} channels"
        self.explains = f"{each} over time, from left to right."

    def __call__(self, observations: FloatArray) -> Pixels:
        """One picture of all channels per observation; earlier channels are in front."""
        count, channels, times = observations.shape
        places = np.linspace(0, times - 1, SIDE)
        before, share = places.astype(np.int64), places % 1
        after = np.minimum(before + 1, times - 1)
        values = (1 - share) * observations[..., before] + share * observations[..., after]
        height = (self.high - values) / max(self.high - self.low, 1e-6)
        rows = (height.clip(0, 1) * (SIDE - 1)).round().astype(np.int64)[:, :, None]
        ends = np.concatenate([rows[..., 1:], rows[..., -1:]], axis=-1)
        y = np.arange(SIDE)[:, None]
        pictures = np.full((count, SIDE, SIDE, 3), PAPER, np.uint8)
        for channel in reversed(range(channels)):
            one, next_one = rows[:, channel], ends[:, channel]
            inside = (np.minimum(one, next_one) - 1 <= y) & (y <= np.maximum(one, next_one) + 1)
            pictures[inside] = CHANNELS[channel % len(CHANNELS)]
        return pictures


class Bars:
    """Longer vectors: one bar per number, up or down from zero."""

    shape = (SIDE, SIDE, 3)
    drawn = True

    def __init__(self, some: FloatArray, names: Sequence[str] = ()) -> None:
        known = some[np.isfinite(some)]
        self.low, self.high = float(known.min(initial=0)), float(known.max(initial=0))
        self.explains = f"Each bar is one of an observation's {some.shape[1]} numbers."
        if names:
            told = ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")
            self.explains = f"{self.explains[:-1]}, from left to right {told}."

    def __call__(self, observations: FloatArray) -> Pixels:
        """One row of bars per observation; if there are more numbers than pixels, some are left out."""
        numbers = observations[:, np.arange(SIDE) * observations.shape[1] // SIDE]
        ends, zero = self._rows(np.nan_to_num(numbers))[:, None], self._rows(np.zeros(1))
        y = np.arange(SIDE)[:, None]
        inside = (np.minimum(ends, zero) <= y) & (y <= np.maximum(ends, zero))
        return np.where(inside[..., None], INK, PAPER).astype(np.uint8)

    def _rows(self, numbers: FloatArray) -> NDArray[np.int64]:
        share = (self.high - numbers) / max(self.high - self.low, 1e-6)
        return np.asarray((share.clip(0, 1) * (SIDE - 1)).round().astype(np.int64))
