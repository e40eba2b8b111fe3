"""Things found by being there: what a module defines of one sort, by name, or anything as ``module:name``."""

import re
import sys
from collections.abc import Mapping
from typing import Any, TypeVar

from distaff.foundation.binding import find_function
from distaff.foundation.errors import DistaffError, unknown

Thing = TypeVar("Thing")


def classes_of(names: Mapping[str, Any], *methods: str) -> dict[str, Any]:
    """The public classes that a module defines itself and that have all of ``methods``.

    Args:
        names: the module's, as ``globals()`` has them.
        methods: what tells the sort.

    Returns:
        The classes by their names in small letters, ``unit_gaussian`` for ``UnitGaussian``.
    """
    return {
        re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower(): value
        for name, value in names.items()
        if isinstance(value, type)
        and value.__module__ == names["__name__"]
        and not name.startswith("_")
        and not getattr(value, "_is_protocol", False)
        and all(hasattr(value, method) for method in methods)
    }


def values_of(names: Mapping[str, Any], sort: type[Thing]) -> dict[str, Thing]:
    """The public values of one sort that a module defines, by their names in it.

    Args:
        names: the module's, as ``globals()`` has them.
        sort: their class.
    """
    return {n: value for n, value in names.items() if isinstance(value, sort) and not n.startswith("_")}


def find(kind: str, name: str, known: Mapping[str, Thing], others: tuple[str, ...] = ()) -> Thing:
    """One of ``known`` by its name, or any other by ``package.module:name``.

    Args:
        kind: what errors call it, such as ``"density"``.
        name: what is looked for.
        known: what the library has.
        others: names that a caller knows beside these.
    """
    if ":" not in name:
        if name not in known:
            raise unknown(kind, name, [*known, *others])
        return known[name]
    found: Any = find_function(kind, name, sys.modules[__name__])
    some = next(iter(known.values()))
    fits = isinstance(found, type) if isinstance(some, type) else isinstance(found, type(some))
    if not fits:
        wanted = "class" if isinstance(some, type) else type(some).__name__
        raise DistaffError(f"the {kind} {name!r} is no {wanted}: see how those of the library are defined.")
    result: Thing = found
    return result
