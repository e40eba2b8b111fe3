"""The claims in a study file: parsed and checked before training.

    claims:
      - says: FactorVAE scores higher than β-VAE (Fig. 5)
        higher: {metric: factor_vae_score, of: {recipe: factor_vae}, than: {recipe: beta_vae}}
        published: [0.82, 0.73]

``distaff.studies.verdicts`` decides them from the runs.
"""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from distaff.foundation.binding import bind, read_value
from distaff.foundation.errors import DistaffError, unknown
from distaff.runs.calls import DataCall
from distaff.runs.request import RunRequest
from distaff.studies.claim_forms import (
    ABOVE,
    BELOW,
    Claim,
    Comparison,
    Correlation,
    Form,
    Quantity,
    Range,
    Trend,
    Where,
)
from distaff.studies.claim_names import with_known_names

KEYS = ("says", "published", "needs")
ALL_RUNS: Where = {}


def read_claims(
    entries: Iterable[Any],
    runs: Sequence[RunRequest],
    metrics: Sequence[str],
    scored_on: DataCall | None = None,
) -> list[Claim]:
    """The claims of a study file; an error in one names the claim."""
    claims = []
    for number, entry in enumerate(entries, 1):
        try:
            claims.append(with_known_names(_claim(entry), runs, metrics, scored_on))
        except DistaffError as problem:
            raise DistaffError(f"claim {number}: {problem}") from problem
    return claims


def _claim(entry: Any) -> Claim:
    if not isinstance(entry, Mapping) or not str(entry.get("says") or "").strip():
        raise DistaffError(f"a claim is a mapping that says what is claimed, not {entry!r}.")
    for key in entry:
        if key not in KEYS and key not in FORMS:
            raise unknown("key of a claim", str(key), [*KEYS, *FORMS])
    forms = [key for key in entry if key in FORMS]
    if len(forms) != 1:
        found = f"has both {' and '.join(forms)}" if forms else "has none"
        raise DistaffError(f"a claim has one of {', '.join(FORMS)}, and this one {found}.")
    (form,) = forms
    return Claim(
        str(entry["says"]).strip(),
        _form(form, entry[form]),
        tuple(read_value(_listed(entry.get("published")), list[float], "published")),
        tuple(read_value(_listed(entry.get("needs")), list[str], "needs")),
    )


def _form(name: str, content: Any) -> Form:
    if not isinstance(content, Mapping):
        raise DistaffError(f"{name} is a mapping such as {{metric: mig, …}}, not {content!r}.")
    options = FORMS[name]
    make = next((option for key, option in options.items() if key in content), None)
    if make is None:  # a misspelt key, perhaps: the reader that lacks the fewest

        def lacking(option: Callable[..., Form]) -> int:
            keys, needed = _keys(name, option)
            return len({*needed} - {*content}) + len({*content} - {*keys})

        make = min(options.values(), key=lacking)
    keys, needed = _keys(name, make)
    for key in content:
        if key not in keys:
            raise unknown(f"key of {name}", str(key), keys)
    for key in needed:
        if key not in content:
            raise DistaffError(f"{name} needs the key {key!r}.")
    given = {"where" if key == "for" else key: value for key, value in content.items()}
    made: Form = make(**bind(make, {**given, **RANGES.get(name, {})}))
    return made


def _keys(name: str, make: Callable[..., Form]) -> tuple[list[str], list[str]]:
    """The keys that a reader knows in a form, and those of them that it needs."""
    parameters = {
        "for" if key == "where" else key: parameter
        for key, parameter in inspect.signature(make).parameters.items()
        if key != "range" or name == "within"
    }
    return list(parameters), [key for key, given in parameters.items() if given.default is given.empty]


def _groups(
    metric: str, of: Where, than: Where, range: list[float], at_equal: str | None = None
) -> Comparison:
    return Comparison(Quantity(metric, of), Quantity(metric, than), _range(range), at_equal)


def _columns(column: str, than: dict[str, str], range: list[float], where: Where = ALL_RUNS) -> Comparison:
    if list(than) != ["column"]:
        raise DistaffError(f"a column is compared with another, as in than: {{column: kl}}, not {than!r}.")
    return Comparison(Quantity(column, where), Quantity(than["column"], where), _range(range))


def _trend(metric: str, over: str, direction: Literal["rising", "falling"], where: Where = ALL_RUNS) -> Trend:
    return Trend(Quantity(metric, where), over, ABOVE if direction == "rising" else BELOW)


def _within(metric: str, range: list[float], where: Where = ALL_RUNS) -> Range:
    return Range(Quantity(metric, where), _range(range))


def _correlation(
    metrics: list[str],
    at_least: float | None = None,
    at_most: float | None = None,
    where: Where = ALL_RUNS,
) -> Correlation:
    if len(metrics) != 2 or (at_least is None and at_most is None):
        raise DistaffError("a correlation is of two metrics, and at_least or at_most a number.")
    low = -math.inf if at_least is None else at_least
    high = math.inf if at_most is None else at_most
    return Correlation(Quantity(metrics[0], where), Quantity(metrics[1], where), _range([low, high]))


def _range(ends: Sequence[float]) -> tuple[float, float]:
    if len(ends) != 2 or not ends[0] <= ends[1]:
        raise DistaffError(f"a range is two numbers, the lower first, not {list(ends)!r}.")
    return ends[0], ends[1]


FORMS: dict[str, dict[str, Callable[..., Form]]] = {
    "higher": {"metric": _groups, "column": _columns},
    "lower": {"metric": _groups, "column": _columns},
    "within": {"of": _groups, "column": _columns, "metric": _within},
    "trend": {"metric": _trend},
    "correlation": {"metrics": _correlation},
}
"""The readers of each form, by the key that distinguishes them."""
RANGES = {"higher": {"range": ABOVE}, "lower": {"range": BELOW}}
"""Range of the difference, for the forms whose names imply it."""


def _listed(value: Any) -> Any:
    return [] if value is None else value if isinstance(value, list) else [value]
