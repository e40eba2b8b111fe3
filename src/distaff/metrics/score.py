"""``Score``: what every metric returns."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Basis:
    """What a value rests on, as far as its interval must know.

    Args:
        rows: how many observations it is a mean over, if not over all.
        trials: how many guesses it is the share of right ones of, if it is such a share.
        bounds: the range of values, if it is not the metric's usual one.
    """

    rows: int | None = None
    trials: int | None = None
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True)
class Score:
    """A number with where it comes from.

    Args:
        name: the metric.
        value: the number.
        protocol: the named preset it follows, such as ``"kim18"``.
        direction: whether higher or lower is better.
        settings: every value the protocol fixed or the caller overrode.
        per_factor: the breakdown over factors, by factor name, where there is one.
        per_latent: the breakdown over latents, by latent name, where there is one.
        interval: a (low, high) 95% interval, if asked for: see ``distaff.metrics.intervals``.
        details: what else a reader may want: the MI matrix, active latents, counts of votes.
        notes: sentences about what was dropped, pruned or out of range.
        metric: what ``evaluate`` was asked for, such as ``dci`` or ``mig:chen18``; some metrics have several
            scores.
        basis: what the interval must know of the value.
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
    basis: Basis = field(default=Basis(), compare=False)

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        interval = "" if self.interval is None else f" [{self.interval[0]:.4f}, {self.interval[1]:.4f}]"
        lines = [f"{self.name} {self.value:.4f}{interval}  ({self.protocol}, {self.direction} is better)"]
        breakdowns = [parts for parts in (self.per_factor, self.per_latent) if parts]
        lines += [
            "  " + "  ".join(f"{name} {value:.4f}" for name, value in parts.items()) for parts in breakdowns
        ]
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-ready values; arrays become lists. The basis is left out: the interval is made."""
        kept = {key: value for key, value in asdict(self).items() if key != "basis"}
        return {key: _plain(value) for key, value in kept.items() if value not in (None, {}, (), "")}


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value
