"""User-defined metrics: plain functions, given as objects or by name."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from inspect import Parameter, getdoc, signature
from numbers import Real
from typing import Any, cast

import numpy as np

from distaff.codes import Codes, as_array
from distaff.foundation.binding import find_function
from distaff.foundation.errors import DistaffError, told_if_it_fails, unknown
from distaff.foundation.trust import NotTrusted
from distaff.metrics.card import Card, Metric
from distaff.metrics.catalogue import all_metrics
from distaff.metrics.inputs import Factors
from distaff.metrics.metric import metric
from distaff.metrics.result import Result
from distaff.metrics.train_test import columns


@dataclass(frozen=True)
class NoSettings:
    """A plain function has no settings."""


def given_metric(entry: str | Callable[..., Any], known: Collection[str]) -> tuple[Metric, str]:
    """The metric given as a function or as ``module:function``, and its label in tables of scores."""
    metric = as_metric(entry) if callable(entry) else imported_metric(entry, known)
    card = metric.card
    if card.name in all_metrics():
        return metric, card.name
    if isinstance(entry, str):
        return metric, entry
    return metric, card.protocols[0] if len(card.protocols) == 1 else card.name


def metric_of(name: str | Callable[..., Any]) -> Metric:
    """The metric for a name, ``module:function`` or a function."""
    if callable(name):
        return as_metric(name)
    known = all_metrics()
    return known.get(name.partition(":")[0]) or imported_metric(name, known)


def imported_metric(entry: str, known: Collection[str]) -> Metric:
    """The metric that ``module:function`` names; an entry close to a known name raises an error about it."""
    if ":" not in entry:
        raise unknown("metric", entry, [*known, "default", "all"])
    try:
        return as_metric(find_function("metric", entry, {}))
    except NotTrusted:
        raise
    except DistaffError as problem:
        name, absent = entry.partition(":")[0], isinstance(problem.__cause__, ModuleNotFoundError)
        misspelt = absent and get_close_matches(name, known)
        raise unknown("metric", name, known) if misspelt else problem from None


def as_metric(function: Callable[..., Any]) -> Metric:
    """Return a function that is a metric unchanged, or turn a plain function into one."""
    return cast(Metric, function) if isinstance(getattr(function, "card", None), Card) else _made(function)


@lru_cache(maxsize=256)
def _made(function: Callable[..., Any]) -> Metric:
    """Turn a plain function of codes, or of codes and factors, that returns a number into a metric.

    The function receives (N, D) means, with the class probabilities of categorical latents next to them, and
    (N, K) factors: the numbers as given, or class numbers. It returns a float, or a ``Result`` with
    breakdowns. Higher is assumed to be better; use ``@metric`` if it is not.
    """
    name = getattr(function, "__name__", type(function).__name__)
    place = f"{getattr(function, '__module__', '')}:{name}"
    needed = [
        p
        for p in signature(function).parameters.values()
        if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        and (p.default is Parameter.empty or p.name == "factors")
    ]
    if not 1 <= len(needed) <= 2:
        raise DistaffError(
            f"the metric {place} takes {len(needed)} arguments: a plain function takes codes, or codes and "
            "factors, and returns a float."
        )

    def unlabelled(codes: Codes, settings: NoSettings) -> Result:
        return _result(place, function(columns(codes, standardise=False)[0]))

    def labelled(codes: Codes, factors: Factors, settings: NoSettings) -> Result:
        return _result(place, function(columns(codes, standardise=False)[0], factors.values.copy()))

    formula = unlabelled if len(needed) == 1 else labelled
    formula.__name__ = name
    vars(formula)["function"] = function
    formula.__doc__ = getdoc(function) or f"The function {place}."
    declare = metric(paper=place, protocols={place: NoSettings()}, bounds=(-np.inf, np.inf))
    return cast(Metric, declare(formula))


@contextmanager
def named_if_it_fails(own: Metric) -> Iterator[None]:
    """Turn an exception of a user's function into one sentence with place and reason, chained to its cause.

    Exceptions in this library's metrics are not changed.
    """
    with told_if_it_fails("metric", vars(own.card.formula).get("function", own.card.formula)):
        yield


def _result(place: str, found: Any) -> Result:
    if isinstance(found, Result):
        return found
    value = found.item() if hasattr(found, "item") and as_array(found).size == 1 else found
    if not isinstance(value, Real):
        raise DistaffError(f"the metric {place} returned a {type(found).__name__}, not a float.")
    return Result(float(value))
