"""Checks of the inputs of figures: shapes of arrays, numbers of names, and means with intervals."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student_t

from distaff.codes import as_array
from distaff.foundation.colours import on_a_screen
from distaff.foundation.errors import DistaffError

Array = NDArray[np.float64]
MOST_CHANNELS = 4
"""A last axis of at most this length, after longer ones, holds channels rather than a side."""


def numbers(what: str, values: Any, axes: str, *, finite: bool = False) -> Array:
    """``values`` as floats with the named axes: ``numbers("kl", kl, "D")`` is a vector, "D K" a matrix."""
    try:
        array = as_array(values).astype(np.float64)
    except (TypeError, ValueError):
        raise DistaffError(f"{what} must be an array of numbers of shape ({_shape(axes)}).") from None
    if array.ndim != len(axes.split()) or not array.size:
        raise DistaffError(
            f"{what} must have the shape ({_shape(axes)}) with nothing empty, not {array.shape}."
        )
    if finite and not np.isfinite(array).all():
        raise DistaffError(f"{what} holds values that are not finite: remove them first.")
    return array


def seeds(what: str, values: Any, points: int) -> Array:
    """Repeated measurements (S, points), one row per seed; a plain vector (points,) is one seed."""
    array = np.atleast_2d(as_array(values))
    array = numbers(what, array, "S P")
    if array.shape[1] != points:
        raise DistaffError(f"{what} has {array.shape[1]} values per seed, but there are {points} points.")
    return array


def pictures(what: str, values: Any, axes: str) -> Array:
    """Images in [0, 1], channels first, returned with 1 or 3 channels; ``axes`` are those before C, H, W."""
    array = numbers(what, values, f"{axes} C H W")
    if array.shape[-3] not in (1, 3) and array.shape[-1] <= MOST_CHANNELS < array.shape[-3]:
        raise DistaffError(
            f"{what} must have 1 or 3 channels at the third axis from the end, not shape {array.shape}."
        )
    if not (array.min() > -1e-3 and array.max() < 1 + 1e-3):
        raise DistaffError(
            f"{what} must lie in [0, 1], not [{array.min():.3g}, {array.max():.3g}]: scale them first."
        )
    return on_a_screen(array.clip(0, 1))


def named(what: str, names: Sequence[str] | None, count: int) -> list[str]:
    """``names`` as a list if there are ``count`` of them; ``None`` gives z0, z1 and so on."""
    if names is None:
        return [f"z{i}" for i in range(count)]
    if len(names) != count:
        raise DistaffError(f"{what}: {len(names)} names for {count} rows; give one each.")
    return [str(name) for name in names]


def filled(what: str, series: Mapping[Any, Any]) -> None:
    """Raise an error for an empty mapping."""
    if not series:
        raise DistaffError(f"{what} is empty: there is nothing to draw.")


def same_length(**columns: Any) -> None:
    """Raise an error that names vectors of different lengths."""
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise DistaffError(
            "lengths differ: "
            + ", ".join(f"{name} {n}" for name, n in lengths.items())
            + "; they must agree."
        )


def mean_interval(values: Any) -> tuple[Array, Array, Array]:
    """The mean over the first axis (seeds) and its 95% Student-t interval: (mean, low, high).

    NaN is a missing run and is ignored; with fewer than two runs left, the interval is unknown and NaN.
    """
    array = as_array(values).astype(np.float64)
    count = np.isfinite(array).sum(0)
    total = np.where(np.isfinite(array), array, 0.0).sum(0)
    mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    squares = np.where(np.isfinite(array), (array - mean) ** 2, 0.0).sum(0)
    error = np.sqrt(squares / np.maximum(count - 1, 1) / np.maximum(count, 1))
    reach = np.where(count > 1, student_t.ppf(0.975, np.maximum(count - 1, 1)) * error, np.nan)
    return mean, mean - reach, mean + reach


def short(value: float) -> str:
    """A number with two significant digits and a true minus sign."""
    return f"{value:.2g}".replace("-", "−")


def _shape(axes: str) -> str:
    return ", ".join(axes.split()) + ("," if len(axes.split()) == 1 else "")
