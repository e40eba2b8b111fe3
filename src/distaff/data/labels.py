"""Labels of observations: classes numbered in order, real numbers unchanged."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from distaff.codes import as_array, known_labels
from distaff.data.dataset import Dataset, called
from distaff.foundation.errors import DistaffError
from distaff.foundation.table_files import ways_to_name


def labelled(data: Dataset, factors: Any, names: Sequence[str] | None = None) -> Dataset:
    """``data`` with factors from an array (N, K) or (N,)."""
    table = as_array(factors)
    if table.ndim not in (1, 2):
        raise DistaffError(f"factors of {called(data.name)} must be of shape (N, K), not {table.shape}.")
    return with_factors(data, [table] if table.ndim == 1 else list(table.T), names)


def with_factors(data: Dataset, columns: Sequence[Any], names: Sequence[str] | None = None) -> Dataset:
    """``data`` with factors from K columns (N,): classes are numbered in order, real numbers are kept."""
    numbered = [_classes(as_array(column), called(data.name), k) for k, column in enumerate(columns)]
    lengths = sorted({len(classes) for classes, _, _ in numbered})
    if lengths != [len(data)]:
        raise DistaffError(
            f"{len(numbered)} factors of {lengths} rows"
            f" do not fit {len(data)} observations: they must be (N, K)."
        )
    tables = tuple(table for _, table, _ in numbered)
    labels = tuple(map(str, names)) if names is not None else tuple(f"factor{k}" for k in range(len(tables)))
    classes = np.stack([classes for classes, _, _ in numbered], axis=1)
    sizes = tuple(map(len, tables))
    texts = {label: texts for label, (_, _, texts) in zip(labels, numbered, strict=False) if texts}
    return replace(data, factors=classes, names=labels, sizes=sizes, factor_values=tables, class_names=texts)


def rows_named(keys: Sequence[str], names: Sequence[str], where: str) -> list[int]:
    """The row of a table that names each observation, by its whole name or by that of its file alone.

    Tables often leave out the ending of a file, and readers of tables the zeros before a number.

    Args:
        keys: what the rows of the table name.
        names: of the observations, such as ``birds/1.png``.
        where: what an error calls the table.

    Returns:
        A row for each observation; −1 for one that is not there.

    >>> rows_named(["2.png", "birds/1.png"], ["birds/1.png", "birds/2.png", "3.png"], "labels.csv")
    [1, 0, -1]
    >>> rows_named(["2", "dog"], ["birds/002.png", "dog.jpg"], "labels.csv")
    [0, 1]
    """
    rows = {key: row for row, key in enumerate(keys)}
    if len(rows) < len(keys):
        twice = next(key for row, key in enumerate(keys) if rows[key] != row)
        raise DistaffError(f"{where} has two rows for {twice}: keep one.")
    found: list[int] = []
    shared: dict[str, str] = {}
    for name in names:
        key = next((key for key in ways_to_name(name) if key in rows), None)
        if key is not None and shared.setdefault(key, name) != name:
            raise DistaffError(
                f"{where} has one row for {key}, which is {shared[key]} and {name}: write their folders and "
                "endings."
            )
        found.append(-1 if key is None else rows[key])
    return found


def label_column(values: "pd.Series[Any]", name: str, where: str) -> Any:
    """A column of labels as factors take it; one that is missing is NaN, or None among texts."""
    missing = values.isna().to_numpy()
    if missing.all():
        raise DistaffError(f"factor {name!r} of {where} has no value in any row: leave it out.")
    if pd.api.types.is_numeric_dtype(values):
        return values.to_numpy(np.float64, na_value=np.nan) if missing.any() else values.to_numpy()
    texts = values.astype(str).to_numpy(object)
    texts[missing] = None
    return texts


def _classes(
    column: NDArray[Any], name: str, k: int
) -> tuple[NDArray[Any], NDArray[np.float64], tuple[str, ...]]:
    """Number the classes of a factor in order, and return the value and the text (if any) of each class.

    A real-valued factor has no class values. Missing texts are None in an object array.
    """
    if column.dtype == object and any(isinstance(label, str) for label in column.ravel()):
        column = np.ma.masked_array(
            np.array(["" if label is None else label for label in column]),
            [label is None for label in column],
        )
    if column.ndim != 1 or column.dtype.kind not in "buifUS":
        raise DistaffError(
            f"factors of {name} must be numbers or strings in K columns, not {column.dtype} {column.shape}."
        )
    numeric = column.dtype.kind not in "US"
    if numeric and np.isinf(column).any():
        raise DistaffError(f"factor {k} of {name} holds a value that is not finite: remove such rows first.")
    known = known_labels(column) if numeric else ~np.ma.getmaskarray(column)
    if not known.any():
        raise DistaffError(
            f"factor {k} of {name} holds a value that is not finite in every row: leave the factor out."
        )
    if numeric and (column[known] != np.floor(column[known])).any():
        return np.where(known, column, np.nan).astype(np.float64), np.empty(0), ()
    values, found = np.unique(np.asarray(column)[known], return_inverse=True)
    classes = found
    if not known.all():
        classes = np.full(len(column), np.nan)
        classes[known] = found
    if numeric:
        return classes, values.astype(np.float64), ()
    return classes, np.arange(len(values), dtype=np.float64), tuple(map(str, values))
