"""``Score``: what every metric returns; ``Result``: what its formula finds."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from distaff.foundation.snippets import Bar, Cell, snippet

Breakdown = NDArray[np.float64] | Mapping[str, float]


@dataclass(frozen=True)
class Null:
    """What a metric scores if there is nothing to find; see ``distaff.metrics.null``.

    Args:
        shuffled: scores of the same codes against shuffled factors; empty if the metric reads no factors.
        baselines: scores of other codes by name.
        best: the best value of the metric, if it has one.
    """

    shuffled: tuple[float, ...] = ()
    baselines: Mapping[str, float] = field(default_factory=dict)
    best: float | None = None

    @property
    def mean(self) -> float | None:
        """The mean over shuffles."""
        return float(np.mean(self.shuffled)) if self.shuffled else None

    @property
    def range(self) -> tuple[float, float] | None:
        """The lowest and the highest score over shuffles."""
        return (min(self.shuffled), max(self.shuffled)) if self.shuffled else None

    def gap(self, value: float) -> float | None:
        """The share of the way from the null to the best value: (value − null) / (best − null)."""
        if self.mean is None or self.best is None or self.mean == self.best:
            return None
        return (value - self.mean) / (self.best - self.mean)


@dataclass(frozen=True)
class Score:
    """A metric's value, with how it was computed.

    Args:
        name: the metric.
        value: the number.
        protocol: the named preset, such as ``"kim18"``.
        direction: whether higher or lower is better.
        settings: all settings, from the protocol or the caller; ``observations`` if a sample of that many was
            scored.
        per_factor: the breakdown over factors, by factor name, if there is one.
        per_latent: the breakdown over latents, by latent name, if there is one.
        interval: a (low, high) 95% interval, if requested: see ``distaff.metrics.intervals``.
        details: further results, such as the MI matrix, active latents, counts of votes, or the
            ``standard_error`` of a mean over a sample.
        notes: sentences about what was dropped, pruned or out of range.
        metric: the name passed to ``evaluate``, such as ``dci`` or ``mig:chen18``; some metrics have several
            scores.
        null: what the metric scores if there is nothing to find, if requested.
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
    null: Null | None = None

    @property
    def gap(self) -> float | None:
        """The share of the way from the null to the metric's best value, if both are known."""
        return None if self.null is None else self.null.gap(self.value)

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
        if self.null is not None:
            lines.append(f"  {_null_line(self.null, self.gap)}")
        breakdowns = [parts for parts in (self.per_factor, self.per_latent) if parts]
        lines += [
            "  " + "  ".join(f"{name} {value:.4f}" for name, value in parts.items()) for parts in breakdowns
        ]
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        """The notebook view: the value, and its breakdown as bars."""
        interval = "" if self.interval is None else f" [{self.interval[0]:.4f}, {self.interval[1]:.4f}]"
        parts = {**(self.per_factor or {}), **(self.per_latent or {})}
        full = max([1.0, *(value for value in parts.values() if np.isfinite(value))])
        about = f"{self.protocol}, {self.direction} is better"
        null = [] if self.null is None else [_null_line(self.null, self.gap)]
        return snippet(
            f"{self.name} {self.value:.4f}{interval}",
            about,
            rows=[("all", shown_value(self)), *((name, Bar(value, full)) for name, value in parts.items())],
            notes=[*null, *self.notes],
        )

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain JSON-ready values; arrays become lists."""
        return {key: _plain(value) for key, value in asdict(self).items() if value not in (None, {}, (), "")}


def shown_value(score: Score) -> Cell:
    """The value as shown in a notebook: with a bar if it can be a number from 0 to 1."""
    return Bar(score.value) if -0.001 <= score.value <= 1.001 else score.value


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


def _null_line(null: Null, gap: float | None) -> str:
    told = []
    if null.range is not None:
        told.append(f"shuffled factors {null.mean:.4f} ({null.range[0]:.4f} to {null.range[1]:.4f})")
    told += [f"{name} {value:.4f}" for name, value in null.baselines.items()]
    if gap is not None:
        told.append(f"{gap:.0%} of the gap to {null.best:g}")
    return "null: " + ", ".join(told)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value
