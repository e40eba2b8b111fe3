"""The values of black and white in a user's images: the full range, percentiles, or given values."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distaff.foundation.errors import DistaffError

LOOKED_AT = 2_000_000
"""Number of values, spread over all images, from which percentiles are computed."""
BLOCK = 1 << 24
NAMED = {"signed": (-1.0, 1.0), "unit": (0.0, 1.0), "bytes": (0.0, 255.0), "16-bit": (0.0, 65535.0)}
DEPTHS = (255, 1023, 4095, 16383, 65535)
"""The value of white in images of 8 to 16 bits."""
FORMS = "min-max, percentiles, percentiles:1:99, signed (−1 to 1) or LOW:HIGH such as 0:4095"


def find_range(text: str, values: NDArray[Any], name: str) -> tuple[float, float]:
    """The values that become 0 and 1.

    Args:
        text: ``min-max``; ``percentiles`` (1 and 99) or ``percentiles:LOW:HIGH``; ``signed`` for −1 … 1,
            ``unit``, ``bytes``, ``16-bit``; or the two numbers, as in ``0:4095``.
        values: (N, ...) all images, which may be memory-mapped.
        name: the name of the images in messages.

    Returns:
        The low and the high value.

    >>> find_range("0:4095", np.zeros(1), "scans"), find_range("min-max", np.array([3, 7]), "scans")
    ((0.0, 4095.0), (3.0, 7.0))
    """
    word, *numbers = str(text).split(":")
    if text in NAMED:
        return NAMED[text]
    if word in ("min-max", "minmax") and not numbers:
        low, high = extremes(values, name)
    elif word == "percentiles":
        below, above = _two(numbers or ["1", "99"], text)
        if not 0 <= below < above <= 100:
            raise DistaffError(f"percentiles must rise from 0 to 100, not {text!r}.")
        low, high = (float(p) for p in np.percentile(_spread(values, name), [below, above]))
    else:
        low, high = _two([word, *numbers], text)
    if not low < high:
        raise DistaffError(
            f"images of {name} run from {low:g} to {high:g} by --range {text}: nothing varies."
        )
    return low, high


class OutOfRange(DistaffError):
    """Images whose values need a range, which was not given."""


def ways(low: float, high: float) -> str:
    """Flags that define black and white for images with these values, the most likely one first.

    >>> ways(-0.99, 0.97)
    '--range signed, --range min-max or --range percentiles'
    """
    if low >= -1 and high <= 1:
        return "--range signed, --range min-max or --range percentiles"
    white = next((white for white in DEPTHS if low >= 0 and high <= white), None)
    if white is not None:
        return f"--range 0:{white}, --range min-max or --range percentiles"
    return f"--range min-max, --range percentiles or --range={low:g}:{high:g}"


def _two(numbers: list[str], text: str) -> tuple[float, float]:
    try:
        low, high = map(float, numbers)
    except ValueError:
        low = high = math.nan
    if not (math.isfinite(low) and math.isfinite(high)):
        raise DistaffError(f"--range is {FORMS}, not {text!r}.")
    return low, high


def extremes(values: NDArray[Any], name: str) -> tuple[float, float]:
    """The smallest and the largest value, found block by block."""
    low, high = np.inf, -np.inf
    rows = max(1, BLOCK * len(values) // max(values.size, 1))
    for start in range(0, len(values), rows):
        block = _finite(np.asarray(values[start : start + rows]), name)
        low, high = min(low, float(block.min())), max(high, float(block.max()))
    return low, high


def _spread(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Whole images, spread from the first to the last, with about as many values as are examined."""
    count = max(1, min(len(values), LOOKED_AT * len(values) // max(values.size, 1)))
    rows = np.unique(np.linspace(0, len(values) - 1, count).astype(np.int64))
    return _finite(np.asarray(values[rows]), name)


def _finite(block: NDArray[Any], name: str) -> NDArray[Any]:
    if block.dtype.kind == "f" and not np.isfinite(block).all():
        raise DistaffError(f"images of {name} hold values that are not finite: remove such images first.")
    return block
