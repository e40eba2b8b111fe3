"""``scores.json``: scores in the one format that all commands write and read, and the check of what is read.

``{"step": 300000, "seconds": 12.3, "scores": [{"metric": "mig:chen18", "observations": null, "seed": 0,
"factor_bins": null, "name": "mig", "value": 0.31, …}], "skipped": [{"metric": "sap", …, "reason": "…"}]}``:
scores of the weights after ``step``, over ``observations`` observations (null for all). JSON has no infinite
numbers, for which the texts ``"Infinity"`` and ``"-Infinity"`` stand; null is a number that is not known.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, NamedTuple

from annotated_types import Len
from pydantic import ConfigDict, StrictFloat, StrictInt, StrictStr, TypeAdapter

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
class Facts:
    """The content of a file beside its scores: see ``distaff.metrics.score.Scores``."""

    step: StrictInt | None = None
    seconds: StrictFloat = 0.0


class Held(NamedTuple):
    """One score, or why a metric has none, as the file holds it: see ``distaff.metrics.score.Entry``."""

    metric: str
    setup: Setup
    content: Mapping[str, Any]
    reason: str = ""


def checked(content: Mapping[str, Any]) -> tuple[Facts, list[Held]]:
    """The content of a file of any version; a ``ValueError``, ``TypeError`` or similar if it is none."""
    facts = _FACTS.validate_python({name: content[name] for name in FACTS if name in content})
    return facts, list(_entries(content))


def _entries(content: Mapping[str, Any]) -> Iterable[Held]:
    if isinstance(content["skipped"], Mapping):
        return _entries_of_first_version(content)
    return [_entry(entry) for entry in (*content["scores"], *content["skipped"])]


def _entry(entry: Mapping[str, Any]) -> Held:
    setup = _SETUP.validate_python({name: entry[name] for name in OF_SETUP})
    reason = _text(entry.get("reason", ""))
    return Held(_text(entry["metric"]), setup, {} if reason else _checked(entry), reason)


def _entries_of_first_version(content: Mapping[str, Any]) -> Iterable[Held]:
    """Version 0.1 had two formats: scores of a study named their metric, those of ``evaluate`` did not."""
    setup = _SETUP.validate_python({"observations": content.get("observations")})
    of_study = "asked" in content
    for one in content["scores"]:
        unnamed = ELBO if one["name"] in ELBO_SCORES else ""
        yield Held(_text(one.get("metric", unnamed)), setup, _checked(one))
    if of_study and not any(one["name"] in ELBO_SCORES for one in content["scores"]):
        yield Held(ELBO, setup, {}, "the model has no likelihood.")
    for metric, reason in content["skipped"].items() if of_study else ():
        yield Held(metric, setup, {}, _text(reason))


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
        if not isinstance(restored(error), int | float) or type(count) is not int:
            raise ValueError("standard errors and observations are numbers")


FACTS, OF_SETUP = (tuple(part.name for part in fields(kind)) for kind in (Facts, Setup))
_FACTS, _SETUP, _SCORE = TypeAdapter(Facts), TypeAdapter(Setup), TypeAdapter(_HeldScore)


def _checked(score: Mapping[str, Any]) -> dict[str, Any]:
    _SCORE.validate_python(dict(score))
    return dict(score)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def restored(value: Any) -> Any:
    """A value with the numbers that JSON has no word for, within mappings and lists too."""
    if isinstance(value, Mapping):
        return {key: restored(item) for key, item in value.items()}
    if isinstance(value, list):
        return [restored(item) for item in value]
    return math.nan if value is None else INFINITE.get(value, value) if isinstance(value, str) else value
