"""Grids: a mapping with lists represents one mapping for each combination of their entries."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from distaff.runs.request import RunRequest


def combinations(settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every combination of the entries of lists in ``settings``, at any depth; the last list changes fastest.

    ``{value: [400, 200]}`` is the list itself, not a grid of two.

    >>> list(combinations({"beta": [1, 4], "betas": {"value": [0.5, 0.9]}}))
    [{'beta': 1, 'betas': [0.5, 0.9]}, {'beta': 4, 'betas': [0.5, 0.9]}]
    """
    for chosen in itertools.product(*(_choices(value) for value in settings.values())):
        yield dict(zip(settings, chosen, strict=True))


def requests(settings: Mapping[str, Any], scale: float) -> Iterator[RunRequest]:
    """One request per combination; those that differ only in their seeds are read and checked once."""
    known: dict[str, RunRequest] = {}
    for point in combinations(settings):
        seed = point["seed"]
        setting = repr({name: value for name, value in point.items() if name != "seed"})
        if setting in known and type(seed) is int and seed >= 0:
            yield known[setting].with_seed(seed)
        else:
            known[setting] = RunRequest.of(point, scale)
            yield known[setting]


def how_many(settings: Mapping[str, Any]) -> int:
    """The number of combinations, without making them.

    >>> how_many({"beta": [1, 4], "critic": {"hidden": [10, 20], "layers": [1, 2, 3]}})
    12
    """
    return math.prod(_count(value) for value in settings.values())


def _count(value: Any) -> int:
    match value:
        case list():
            return sum(_count(item) for item in value)
        case {"value": _} if len(value) == 1:
            return 1
        case Mapping():
            return how_many(value)
        case _:
            return 1


def _choices(value: Any) -> list[Any]:
    match value:
        case list():
            return [choice for item in value for choice in _choices(item)]
        case {"value": literal} if len(value) == 1:
            return [literal]
        case Mapping():
            return list(combinations(value))
        case _:
            return [value]


def varied_settings(runs: Iterable[Mapping[str, Any]]) -> list[str]:
    """The settings that have several values among the runs, except seeds and recipes.

    A setting that some runs of a recipe have and others lack, such as an option of the data, counts as
    having two values; a setting that only other recipes take does not.

    >>> varied_settings([{"recipe": "vae"}, {"recipe": "vae", "data.part": "kept"}])
    ['data.part']
    >>> varied_settings([{"recipe": "vae"}, {"recipe": "beta_vae", "beta": 4}])
    []
    """
    by_recipe: dict[Any, list[Mapping[str, Any]]] = {}
    for run in runs:
        by_recipe.setdefault(run.get("recipe"), []).append(run)
    values: dict[str, set[Any]] = {}
    for alike in by_recipe.values():
        for name in dict.fromkeys(itertools.chain.from_iterable(alike)):
            values.setdefault(name, set()).update(run.get(name) for run in alike)
    return [name for name, seen in values.items() if len(seen) > 1 and name not in ("recipe", "seed")]


def has_settings(settings: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
    """Whether settings match ``where``, in which each is a value or a list of accepted values.

    >>> has_settings({"recipe": "vae", "seed": 1}, {"recipe": "vae", "seed": [0, 1]})
    True
    """
    return all(
        settings.get(name) in wanted
        if isinstance(wanted, list | tuple | set)
        else settings.get(name) == wanted
        for name, wanted in where.items()
    )
