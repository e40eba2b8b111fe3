"""``Score``: what every metric returns; ``Scores``: the scores in a file, such as a run's ``scores.json``."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from distaff.foundation.files import write_json
from distaff.foundation.snippets import Bar, Cell, snippet
from distaff.foundation.untrusted_files import read_json
from distaff.metrics.scores_json import INFINITE, OF_NUMBERS, Setup, checked, restored

if TYPE_CHECKING:
    from distaff.metrics.evaluation import Evaluation


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


_FIELDS = tuple(one.name for one in fields(Score))


@dataclass(frozen=True)
class Entry:
    """One score, or why a metric has none.

    Args:
        metric: the requested metric, such as ``mig:chen18``.
        setup: how it was measured.
        content: the score's fields as in JSON; empty without a score.
        reason: the reason if there is no score.
    """

    metric: str
    setup: Setup = Setup()
    content: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""

    @property
    def value(self) -> float:
        """The score's value; NaN if there is none."""
        return float(restored(self.content.get("value")))

    @property
    def score(self) -> Score:
        """The score, with the numbers that JSON has no word for."""
        values = {key: value for key, value in self.content.items() if key in _FIELDS}
        values |= {key: restored(values[key]) for key in OF_NUMBERS if key in values}
        for name in ("interval", "notes"):
            if name in values:
                values[name] = tuple(values[name])
        if "null" in values:
            null = {
                key: values["null"][key] for key, item in self.content["null"].items() if item is not None
            }
            values["null"] = Null(**{**null, "shuffled": tuple(null["shuffled"])})
        return replace(Score(**values), metric=self.metric)


@dataclass(frozen=True)
class Scores:
    """The content of a file of scores.

    Args:
        step: training step of the weights; None for codes from elsewhere.
        entries: the scores, and the metrics without one.
        seconds: total time taken.
    """

    step: int | None = None
    entries: tuple[Entry, ...] = ()
    seconds: float = 0.0

    @classmethod
    def read(cls, path: Path) -> "Scores":
        """Read a file; empty if it is missing, truncated or not a file of scores."""
        try:
            facts, entries = checked(read_json(path))
            return cls(facts.step, tuple(Entry(*entry) for entry in entries), facts.seconds)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return cls()

    def write(self, path: Path) -> None:
        """Write the file."""
        found, skipped = [], []
        for entry in self.entries:
            own = {"metric": entry.metric, **asdict(entry.setup)}
            if entry.reason:
                skipped.append({**own, "reason": entry.reason})
            else:
                found.append({**_with_words(entry.content), **own})
        rounded = round(self.seconds, 2)
        write_json(path, {"step": self.step, "seconds": rounded, "scores": found, "skipped": skipped})

    def at(self, step: int) -> "Scores":
        """These scores if they belong to the weights after ``step``, otherwise none."""
        return self if self.step == step else Scores(step)

    def plus(self, evaluation: "Evaluation", setup: Setup = Setup()) -> "Scores":
        """Add the scores of an evaluation; they replace those of the same metrics and setup."""
        new = [Entry(score.metric, setup, score.to_dict()) for score in evaluation.scores]
        new += [Entry(metric, setup, reason=why) for metric, why in evaluation.skipped.items()]
        replaced = {entry.metric for entry in new}
        kept = [e for e in self.entries if e.setup != setup or e.metric not in replaced]
        return Scores(self.step, (*kept, *new), self.seconds)

    def spent(self, seconds: float) -> "Scores":
        """Add to the total time."""
        return replace(self, seconds=self.seconds + seconds)

    def of(self, setup: Setup, metrics: Iterable[str] | None = None) -> list[Entry]:
        """The entries of some metrics, by default all, with this setup."""
        wanted = None if metrics is None else set(metrics)
        return [e for e in self.entries if e.setup == setup and (wanted is None or e.metric in wanted)]


def write_scores(path: Path | str, evaluation: "Evaluation", setup: Setup = Setup()) -> None:
    """Write scores with their settings and breakdowns, and the reasons for missing ones, as JSON."""
    Scores().plus(evaluation, setup).write(Path(path))


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


def _with_words(value: Any) -> Any:
    """The same with the words of ``INFINITE`` for infinite numbers, within mappings and lists too."""
    if isinstance(value, Mapping):
        return {key: _with_words(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_words(item) for item in value]
    if isinstance(value, float) and math.isinf(value):
        return next(word for word, number in INFINITE.items() if number == value)
    return value
