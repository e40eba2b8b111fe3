"""``Score``: what every metric returns; ``Result``: what its formula finds."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Breakdown = NDArray[np.float64] | Mapping[str, float]


@dataclass(frozen=True)
class Score:
    """A number with where it comes from.

    Args:
        name: the metric.
        value: the number.
        protocol: the named preset it follows, such as ``"kim18"``.
        direction: whether higher or lower is better.
        settings: every value the protocol fixed or the caller overrode; ``observations``, if a sample of that
            many was scored.
        per_factor: the breakdown over factors, by factor name, where there is one.
        per_latent: the breakdown over latents, by latent name, where there is one.
        interval: a (low, high) 95% interval, if asked for: see ``distaff.metrics.intervals``.
        details: what else a reader may want: the MI matrix, active latents, counts of votes,
            the ``standard_error`` of a mean over a sample.
        notes: sentences about what was dropped, pruned or out of range.
        metric: what ``evaluate`` was asked for, such as ``dci`` or ``mig:chen18``; some metrics have several
            scores.
    """

    name: str
    value: float
    protocol: str
    direction: Literal["higher", "lower"] = "higher"
    settings: Mapping[str, Any] = field(default_factory=dict)
    per_factor: Mapping[str, float] | None = None
    per_latent: Mapping[str, float] | None = None
    interval: tuple[float, float] | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    metric: str = ""

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        interval = "" if self.interval is None else f" [{self.interval[0]:.4f}, {self.interval[1]:.4f}]"
        error = f" ± {self.details['standard_error']:.4f}" if "standard_error" in self.details else ""
        sample = (
            f", {self.settings['observations']:,} observations" if "observations" in self.settings else ""
        )
        about = f"{self.protocol}{sample}, {self.direction} is better"
        lines = [f"{self.name} {self.value:.4f}{error}{interval}  ({about})"]
        breakdowns = [parts for parts in (self.per_factor, self.per_latent) if parts]
        lines += [
            "  " + "  ".join(f"{name} {value:.4f}" for name, value in parts.items()) for parts in breakdowns
        ]
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-ready values; arrays become lists."""
        return {key: _plain(value) for key, value in asdict(self).items() if value not in (None, {}, (), "")}


@dataclass(frozen=True)
class Error:
    """The variance of a value, with the degrees of freedom it was estimated with."""

    variance: float
    freedom: float

    def __add__(self, other: "Error") -> "Error":
        """Of the sum of two independent errors (Welch and Satterthwaite)."""
        variance = self.variance + other.variance
        squares = self.variance**2 / self.freedom + other.variance**2 / other.freedom
        return Error(variance, variance**2 / squares) if squares > 0 else self


@dataclass(frozen=True)
class Result:
    """What a formula found: ``@metric`` makes a ``Score`` of it.

    Args:
        value: the number.
        per_factor: (K,) the breakdown over factors, or by name.
        per_latent: (L,) the breakdown over latents, or by name.
        details: what else a reader may want.
        notes: what a reader should know, beside what the labels' own notes say.
        settings: what the score's settings say beside those of the protocol.
        rows: how many observations the value is a mean over, if not over all.
        trials: how many guesses it is the share of right ones of, if it is such a share.
        bounds: the range of values, if it is not the metric's usual one.
        error: of sources other than rows and draws, for the interval.
        interval: set by ``@metric``, if asked for.
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
    interval: tuple[float, float] | None = None


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value
