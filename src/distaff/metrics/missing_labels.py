"""Missing labels: which rows a metric reads if some labels are missing.

A metric that reads all factors at once uses the rows with all labels (``all_labelled``). A metric that
handles factors one by one uses, for each factor, the rows with its label (``one_by_one``). Factors with the
same missing labels form a part, which is scored on the rows that have these labels. Parts are then merged as
if all factors had been scored at once: the results of a metric that is a mean over factors (``joined``), or
the columns of a matrix of latents and factors that the formula summarises (``as_columns``).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError
from distaff.metrics.inputs import Factors, IntArray, refuse_constant
from distaff.metrics.result import Result

Found = TypeVar("Found")


@dataclass(frozen=True)
class Part:
    """Some factors and the rows that have their labels.

    Args:
        columns: (k,) indices of the factors.
        rows: (n,) indices of the rows.
        codes: the codes of these rows.
        factors: these k factors on these rows.
    """

    columns: IntArray
    rows: IntArray
    codes: Codes
    factors: Factors


def one_by_one(codes: Codes, factors: Factors) -> tuple[Codes, Factors]:
    """Codes and factors, with notes that count the missing labels; no rows are dropped yet."""
    absent = np.array([np.count_nonzero(np.isnan(values)) for values in factors.values.T])
    for name, count in zip(factors.names, absent, strict=True):
        if len(codes) - count < 2:
            raise DistaffError(
                f"factor {name!r} has {len(codes) - count} labels: a metric needs 2 or more, leave it out."
            )
    refuse_constant(factors.names, factors.sizes)
    lacking = [
        f"factor {name!r}: {count} of {len(codes)} rows dropped, the label is missing"
        for name, count in zip(factors.names, absent, strict=True)
        if count
    ]
    return codes, replace(factors, notes=(*factors.notes, *lacking))


def all_labelled(codes: Codes, factors: Factors) -> tuple[Codes, Factors]:
    """Codes and factors of the rows with all labels, for metrics that read all factors at once.

    ``factors.notes`` says how many rows were dropped; factors with a single value are an error.
    """
    present = ~factors.missing
    if not present.all():
        if present.sum() < 2:
            absent = np.isnan(factors.values).sum(axis=0)
            raise DistaffError(
                f"only {present.sum()} rows have all their labels: a metric needs 2 or more; "
                f"{factors.names[absent.argmax()]!r} lacks most of them, leave it out."
            )
        dropped = f"{int((~present).sum())} of {len(present)} rows dropped: a label is missing"
        codes, factors = codes[present], factors.select(present)
        factors = replace(factors, notes=(*factors.notes, dropped))
    refuse_constant(factors.names, factors.sizes)
    return codes, factors


def parts(codes: Codes, factors: Factors) -> list[Part]:
    """One part per set of factors that have labels on the same rows."""
    absent = np.isnan(factors.values)
    if not absent.any():
        return [Part(np.arange(len(factors.names)), np.arange(len(codes)), codes, factors)]
    patterns, owner = np.unique(absent, axis=1, return_inverse=True)
    found = []
    for pattern, mask in enumerate(patterns.T):
        columns = np.flatnonzero(owner.ravel() == pattern)
        own = factors.choose(owner.ravel() == pattern).select(~mask)
        refuse_constant(own.names, own.sizes)
        found.append(Part(columns, np.flatnonzero(~mask), codes[~mask] if mask.any() else codes, own))
    return found


def of_each(cut: Sequence[Part], find: Callable[[Part], Found]) -> list[Found]:
    """The result of ``find`` for each part; errors name the factors of the part."""
    if len(cut) == 1:
        return [find(cut[0])]
    found = []
    for part in cut:
        try:
            found.append(find(part))
        except DistaffError as error:
            names = ", ".join(map(repr, part.factors.names))
            raise type(error)(f"where {names} has labels: {error}") from error
    return found


def as_columns(cut: Sequence[Part], found: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """(..., K) the arrays (..., k) of the parts, put in the order of the factors."""
    if len(cut) == 1:
        return found[0]
    order = np.argsort(np.concatenate([part.columns for part in cut]))
    return np.asarray(np.concatenate(found, axis=-1)[..., order])


def joined(columns: Sequence[IntArray], results: Sequence[Mapping[str, Result]]) -> dict[str, Result]:
    """Merge the results of all parts; values are again means over factors."""
    if len(results) == 1:
        return dict(results[0])
    order = np.argsort(np.concatenate(columns))
    return {name: _joined(order, columns, [result[name] for result in results]) for name in results[0]}


def _joined(order: IntArray, columns: Sequence[IntArray], results: Sequence[Result]) -> Result:
    per_factor = np.concatenate([np.asarray(result.per_factor) for result in results])[order]
    sizes = [len(part) for part in columns]
    rows = [result.rows for result in results if result.rows is not None]
    return replace(
        results[0],
        value=float(per_factor.mean()),
        per_factor=per_factor,
        details=_merged([result.details for result in results], sizes, order),
        settings=_merged([result.settings for result in results], sizes, order),
        notes=tuple(dict.fromkeys(note for result in results for note in result.notes)),
        rows=min(rows) if rows else None,
    )


def _merged(parts: Sequence[Mapping[str, Any]], sizes: Sequence[int], order: IntArray) -> dict[str, Any]:
    """Merge values by name: arrays with one column per factor side by side, mappings and lists joined."""
    merged: dict[str, Any] = {}
    for key, first in parts[0].items():
        values = [part[key] for part in parts]
        by_factor = isinstance(first, np.ndarray) and all(
            np.ndim(value) and np.shape(value)[-1] == size for value, size in zip(values, sizes, strict=True)
        )
        if by_factor:
            merged[key] = np.concatenate(values, axis=-1)[..., order]
        elif isinstance(first, Mapping):
            merged[key] = {name: item for value in values for name, item in value.items()}
        elif isinstance(first, list):
            merged[key] = [item for value in values for item in value]
        else:
            merged[key] = first
    return merged
