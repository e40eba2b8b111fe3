"""``Result``: what the formula of a metric finds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Breakdown = NDArray[np.float64] | Mapping[str, float]


@dataclass(frozen=True)
class Error:
    """The variance of a value, and the degrees of freedom of its estimate."""

    variance: float
    freedom: float

    def __add__(self, other: "Error") -> "Error":
        """The error of the sum of two independent values (Welch and Satterthwaite)."""
        variance = self.variance + other.variance
        squares = self.variance**2 / self.freedom + other.variance**2 / other.freedom
        return Error(variance, variance**2 / squares) if squares > 0 else self


@dataclass(frozen=True)
class Result:
    """The result of a formula, which ``@metric`` turns into a ``Score``.

    Args:
        value: the number.
        per_factor: (K,) the breakdown over factors, or a mapping by name.
        per_latent: (L,) the breakdown over latents, or a mapping by name.
        details: further results.
        notes: what a reader should know, in addition to the notes of the labels.
        settings: settings of the score in addition to those of the protocol.
        rows: number of observations that the value averages over, if not all.
        trials: number of guesses, if the value is the share of correct guesses.
        bounds: the range of values, if it differs from the metric's.
        error: the error due to other sources than rows and draws, for the interval.
        own_error: computes the error due to rows, if the formula knows it better than parts of the rows show.
        interval: the interval; set by ``@metric`` if requested.
    """

    value: float
    per_factor: Breakdown | None = None
    per_latent: Breakdown | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    rows: int | None = None
    trials: int | None = None
    bounds: tuple[float, float] | None = None
    error: Error | None = None
    own_error: Callable[[], Error] | None = None
    interval: tuple[float, float] | None = None
