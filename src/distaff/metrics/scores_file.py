"""``scores.json``: scores in the one format that all commands write and read.

``{"step": 300000, "seconds": 12.3, "scores": [{"metric": "mig:chen18", "observations": null, "seed": 0,
"factor_bins": null, "name": "mig", "value": 0.31, …}], "skipped": [{"metric": "sap", …, "reason": "…"}]}``:
scores of the weights after ``step``, over ``observations`` observations (null for all). JSON has no infinite
numbers, for which the texts ``"Infinity"`` and ``"-Infinity"`` stand; null is a number that is not known.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Len
from pydantic import ConfigDict, StrictFloat, StrictInt, StrictStr, TypeAdapter

from distaff.foundation.files import write_json
from distaff.foundation.untrusted_files import read_json
from distaff.metrics.evaluation import Evaluation
from distaff.metrics.score import Null, Score

ELBO = "elbo"
"""The metric name under which the reconstruction error and the KL are stored."""
ELBO_SCORES = ("reconstruction_error", "kl")
INFINITE = {"Infinity": math.inf, "-Infinity": -math.inf}
OF_NUMBERS = ("value", "per_factor", "per_latent", "interval", "details", "null")
"""Fields of a score in which null is NaN."""


@dataclass(frozen=True)
class Setup:
    """How a metric of a model was measured; measurements with different setups are kept apart.

    Args:
        observations: number of observations that were scored; None for all.
        seed: random seed for every draw.
        factor_bins: number of classes into which real-valued factors were binned; None for no binning.
    """

    observations: StrictInt | None = None
    seed: StrictInt = 0
    factor_bins: StrictInt | None = None


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

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> "Entry":
        """Parse an entry of the file."""
        setup = _SETUP.validate_python({name: entry[name] for name in OF_SETUP})
        reason = _text(entry.get("reason", ""))
        return cls(_text(entry["metric"]), setup, {} if reason else _checked(entry), reason)

    @property
    def value(self) -> float:
        """The score's value; NaN if there is none."""
        return float(_restored(self.content.get("value")))

    @property
    def score(self) -> Score:
        """The score, with the numbers that JSON has no word for."""
        values = {key: value for key, value in self.content.items() if key in OF_SCORE}
        values |= {key: _restored(values[key]) for key in OF_NUMBERS if key in values}
        for name in ("interval", "notes"):
            if name in values:
                values[name] = tuple(values[name])
        if "null" in values:
            null = {
                key: values["null"][key] for key, item in self.content["null"].items() if item is not None
            }
            values["null"] = Null(**{**null, "shuffled": tuple(null["shuffled"])})
        return replace(Score(**values), metric=self.metric)

    def to_dict(self) -> dict[str, Any]:
        """The entry in the format of the file."""
        own = {"metric": self.metric, **asdict(self.setup)}
        return {**own, "reason": self.reason} if self.reason else {**_with_words(self.content), **own}


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
            content = read_json(path)
            facts = _FACTS.validate_python({name: content[name] for name in FACTS if name in content})
            return cls(facts.step, tuple(_entries(content)), facts.seconds)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return cls()

    def write(self, path: Path) -> None:
        """Write the file."""
        parts = {
            "scores": [entry.to_dict() for entry in self.entries if not entry.reason],
            "skipped": [entry.to_dict() for entry in self.entries if entry.reason],
        }
        write_json(path, {"step": self.step, "seconds": round(self.seconds, 2), **parts})

    def at(self, step: int) -> "Scores":
        """These scores if they belong to the weights after ``step``, otherwise none."""
        return self if self.step == step else Scores(step)

    def plus(self, evaluation: Evaluation, setup: Setup = Setup()) -> "Scores":
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


def write_scores(path: Path | str, evaluation: Evaluation, setup: Setup = Setup()) -> None:
    """Write scores with their settings and breakdowns, and the reasons for missing ones, as JSON."""
    Scores().plus(evaluation, setup).write(Path(path))


def _entries(content: Mapping[str, Any]) -> Iterable[Entry]:
    if isinstance(content["skipped"], Mapping):
        return _entries_of_first_version(content)
    return [Entry.from_dict(entry) for entry in (*content["scores"], *content["skipped"])]


def _entries_of_first_version(content: Mapping[str, Any]) -> Iterable[Entry]:
    """Version 0.1 had two formats: scores of a study named their metric, those of ``evaluate`` did not."""
    setup = _SETUP.validate_python({"observations": content.get("observations")})
    of_study = "asked" in content
    for one in content["scores"]:
        unnamed = ELBO if one["name"] in ELBO_SCORES else ""
        yield Entry(_text(one.get("metric", unnamed)), setup, _checked(one))
    if of_study and not any(one["name"] in ELBO_SCORES for one in content["scores"]):
        yield Entry(ELBO, setup, reason="the model has no likelihood.")
    for metric, reason in content["skipped"].items() if of_study else ():
        yield Entry(metric, setup, reason=_text(reason))


@dataclass(frozen=True)
class _Facts:
    step: StrictInt | None = None
    seconds: StrictFloat = 0.0


HeldNumber = StrictFloat | Literal["Infinity", "-Infinity"] | None


@dataclass(frozen=True)
class _HeldNull:
    """A ``Null`` as JSON holds it."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    shuffled: list[HeldNumber]
    baselines: dict[str, HeldNumber] = field(default_factory=dict)
    best: HeldNumber = None


@dataclass(frozen=True)
class _HeldScore:
    """A ``Score`` as JSON holds it: absent fields are omitted, and null stands for NaN."""

    __pydantic_config__ = ConfigDict(extra="ignore")

    name: StrictStr
    value: HeldNumber
    protocol: StrictStr
    direction: Literal["higher", "lower"] = "higher"
    settings: dict[str, Any] = field(default_factory=dict)
    per_factor: dict[str, HeldNumber] = field(default_factory=dict)
    per_latent: dict[str, HeldNumber] = field(default_factory=dict)
    interval: Annotated[list[HeldNumber], Len(2, 2)] = field(default_factory=lambda: [None, None])
    details: dict[str, Any] = field(default_factory=dict)
    notes: list[StrictStr] = field(default_factory=list)
    null: _HeldNull = field(default_factory=lambda: _HeldNull([]))

    def __post_init__(self) -> None:
        error, count = self.details.get("standard_error"), self.settings.get("observations", 0)
        if not isinstance(_restored(error), int | float) or type(count) is not int:
            raise ValueError("standard errors and observations are numbers")


FACTS, OF_SETUP, OF_SCORE = (tuple(part.name for part in fields(kind)) for kind in (_Facts, Setup, Score))
_FACTS, _SETUP, _SCORE = TypeAdapter(_Facts), TypeAdapter(Setup), TypeAdapter(_HeldScore)


def _checked(score: Mapping[str, Any]) -> dict[str, Any]:
    _SCORE.validate_python(dict(score))
    return dict(score)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _restored(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _restored(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_restored(item) for item in value]
    return math.nan if value is None else INFINITE.get(value, value) if isinstance(value, str) else value


def _with_words(value: Any) -> Any:
    """The same with the words of ``INFINITE`` for infinite numbers, within mappings and lists too."""
    if isinstance(value, Mapping):
        return {key: _with_words(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_words(item) for item in value]
    if isinstance(value, float) and math.isinf(value):
        return next(word for word, number in INFINITE.items() if number == value)
    return value
