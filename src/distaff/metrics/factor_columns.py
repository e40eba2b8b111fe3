"""Parse labels in any form (frames, dicts, lists, texts, categories, fractions), column by column."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from distaff.codes import MISSING, as_array, as_frame, known_labels
from distaff.foundation.errors import DistaffError

ROWS_PER_CLASS = 10
"""Fractional numbers are classes if there are at least this many rows per distinct value."""

FEW = 20
"""With more rows than this, a factor with a different label in every row is a name, a number or a date."""


class Column(NamedTuple):
    """One factor.

    Args:
        values: (N,) the numbers as given, or the class numbers; NaN where missing.
        indices: (N,) class numbers from 0 without gaps, in the order of the values; -1 if missing or real.
        size: the number of classes; 0 for a real-valued factor.
        note: how the column was interpreted, if that was a guess.
        nominal: whether the classes are names, whose order says nothing.
    """

    values: NDArray[np.float64] | NDArray[np.integer[Any]]
    indices: NDArray[np.int64]
    size: int
    note: str = ""
    nominal: bool = False


def split_columns(values: Any) -> tuple[list["pd.Series[Any]"], list[str]]:
    """The columns of a frame, dict, array, tensor or list of rows, and their names."""
    if isinstance(values, pd.Series):
        values = values.to_frame("factor0" if values.name is None else values.name)
    if isinstance(values, list | tuple):
        values = _rows(values)
    values = as_frame(values)
    if isinstance(values, pd.DataFrame):
        columns = [values.iloc[:, k] for k in range(values.shape[1])]
        return [column.reset_index(drop=True) for column in columns], [str(name) for name in values.columns]
    if isinstance(values, Mapping):
        read = {str(name): _one(str(name), column) for name, column in values.items()}
        if len({len(column) for column in read.values()}) > 1:
            lengths = ", ".join(f"{name!r} {len(column)}" for name, column in read.items())
            raise DistaffError(f"factors must be columns of equal length, and these have rows: {lengths}.")
        return list(read.values()), list(read)
    array = as_array(values)
    if array.dtype.names:
        return split_columns(pd.DataFrame(array))
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.dtype.kind == "V":
        shape = f"an array of shape {array.shape}, {array.dtype}"
        raise DistaffError(f"factors must be a matrix (N, K) of numbers or labels, not {shape}.")
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8", "replace")
    names = [f"factor{k}" for k in range(array.shape[1])]
    return [pd.Series(column, copy=False) for column in array.T], names


def join_columns(parts: list["pd.Series[Any]"]) -> "pd.Series[Any]":
    """Concatenate the columns of several batches; categories keep their order."""
    if all(isinstance(part.dtype, pd.CategoricalDtype) for part in parts):
        try:
            return pd.Series(pd.api.types.union_categoricals(parts))
        except TypeError as error:
            raise DistaffError(f"the categories of a factor differ between batches: {error}.") from error
    return pd.concat(parts, ignore_index=True)


def parse_column(series: "pd.Series[Any]", name: str, real: bool | None = None) -> Column:
    """Values and classes of one column of any type; ``real`` says whether it is real-valued, None guesses.

    A number −1 next to classes 0, 1, … is a missing label; the text "-1" and a category −1 are classes.
    """
    category = isinstance(series.dtype, pd.CategoricalDtype)
    if isinstance(series.dtype, pd.CategoricalDtype):
        if not real and (series.cat.ordered or _numbers(series.cat.categories.to_series()) is None):
            codes = series.cat.remove_unused_categories().cat.codes.to_numpy().astype(np.int64)
            column = numbered(np.where(codes < 0, np.nan, codes), codes)
            return column._replace(nominal=not series.cat.ordered)
        # Unordered numeric categories are sorted as numbers: pandas sorts "10" before "2".
        series, real = series.astype(object), bool(real)
    present = series.notna().to_numpy(bool, copy=True)
    given = series[present]
    numbers, note = _numbers(given), ""
    counts = not category and pd.api.types.is_numeric_dtype(given.infer_objects().dtype)
    if numbers is not None and counts and not real:
        known = known_labels(np.asarray(numbers))
        if not known.all():
            note = f"factor {name!r}: {MISSING} is taken as a missing label beside classes from 0 on"
        present[present], numbers = known, numbers[known]
    values, indices = np.full(len(series), np.nan), np.full(len(series), -1, dtype=np.int64)
    if numbers is None:
        if real:
            raise DistaffError(
                f"factor {name!r} holds labels that are not numbers: it cannot be real-valued."
            )
        text = given.astype(str) if given.dtype == object else given
        indices[present], _ = pd.factorize(text, sort=True)
        values[present] = indices[present]
        nominal = given.dtype == object or pd.api.types.is_string_dtype(given.dtype)
        return numbered(values, indices)._replace(nominal=nominal)
    found, levels = pd.factorize(numbers, sort=True)
    values[present] = numbers
    if not np.isfinite(values[present]).all():
        raise DistaffError(f"factor {name!r} holds infinite values: remove such rows first.")
    if real is None and not np.array_equal(values[present], np.round(values[present])):
        real = ROWS_PER_CLASS * len(levels) > len(numbers)
        kind = "numbers: fewer than" if real else "classes: at least"
        note = (
            f"factor {name!r} has {len(levels)} values with fractions in {len(numbers)} rows, taken as {kind}"
            f" {ROWS_PER_CLASS} rows per value"
        )
    elif real is None:
        note = note or note_of_few_rows(name, len(levels), len(numbers))
    if not real:
        indices[present] = found
    return numbered(values, None if real else indices, note)


def note_of_few_rows(name: str, size: int, rows: int) -> str:
    """A note on whole numbers of so many values that they may be measured, and classes of few rows each."""
    if not FEW < size < rows < ROWS_PER_CLASS * size:
        return ""
    return (
        f"factor {name!r} has {size} whole values in {rows} rows, taken as classes of few rows each: "
        "distaff.metrics.as_factors(..., real=...), or --real on the command line, takes it as numbers"
    )


def numbered(values: NDArray[np.float64], indices: NDArray[np.int64] | None, note: str = "") -> Column:
    """One factor with its classes renumbered without gaps, or a real-valued one if ``indices`` is None."""
    if indices is None:
        present = values[~np.isnan(values)]
        if len(present) == 0 or (present != present[0]).any():
            return Column(values, np.full(len(values), -1, dtype=np.int64), 0, note)
        indices = np.where(np.isnan(values), -1, 0)
    counts = np.bincount(indices + 1, minlength=1)[1:]
    if (counts == 0).any():
        renumbered = np.concatenate([[-1], np.cumsum(counts > 0) - 1])
        indices = renumbered[indices + 1]
    return Column(values, indices.astype(np.int64), int((counts > 0).sum()), note)


def binned(values: NDArray[np.float64], bins: int, method: Literal["uniform", "quantile"]) -> Column:
    """A real-valued factor in ``bins`` classes, of equal width or of equal counts."""
    present = values[~np.isnan(values)]
    if not len(present):
        return numbered(values, np.full(len(values), -1))
    levels = np.linspace(0, 1, bins + 1)[1:-1]
    low, high = present.min(), present.max()
    edges = np.quantile(present, levels) if method == "quantile" else low + levels * (high - low)
    return numbered(values, np.where(np.isnan(values), -1, np.searchsorted(edges, values, side="right")))


def _rows(values: list[Any] | tuple[Any, ...]) -> Any:
    """A list of rows as a frame, so that each column has its own type; a list of arrays as an array."""
    if not values:
        raise DistaffError("the factors have no rows.")
    if any(hasattr(row, "shape") and not isinstance(row, tuple) for row in values):
        return as_array([as_array(row) for row in values])
    if all(isinstance(row, list | tuple) for row in values):
        if len({len(row) for row in values}) > 1:
            raise DistaffError("the rows of factors differ in length: give each row one label per factor.")
        named = hasattr(values[0], "_fields")  # named tuples
        return pd.DataFrame(values).rename(columns=str if named else lambda k: f"factor{k}")
    if all(isinstance(row, Mapping) for row in values):
        return pd.DataFrame(values)
    return pd.DataFrame({"factor0": pd.Series(list(values))})


def _one(name: str, column: Any) -> "pd.Series[Any]":
    """One column of a dict; an index is dropped, since rows are matched by position."""
    if isinstance(column, pd.Series):
        return column.reset_index(drop=True)
    if isinstance(column, pd.Index | pd.api.extensions.ExtensionArray):
        return pd.Series(column)  # as an array it would lose its categories and their order
    array = None if isinstance(column, list | tuple) else as_array(column)
    read = pd.Series(list(column)) if array is None else array
    if read.ndim != 1 or (array is None and any(isinstance(label, list | tuple) for label in column)):
        raise DistaffError(f"factor {name!r} has shape {np.shape(column)}: factors must be columns (N,).")
    return pd.Series(read)


def _numbers(labels: "pd.Series[Any]") -> "NDArray[Any] | None":
    """The labels as numbers, if they are numbers or texts of distinct numbers ("10", "2"); else None."""
    if labels.dtype == object:
        labels = labels.infer_objects()
    if pd.api.types.is_complex_dtype(labels.dtype):
        raise DistaffError("factors must be real numbers or labels, not complex numbers.")
    if pd.api.types.is_bool_dtype(labels.dtype):
        return None
    if pd.api.types.is_integer_dtype(labels.dtype):
        return np.asarray(labels.to_numpy())
    if pd.api.types.is_numeric_dtype(labels.dtype):
        return labels.to_numpy(np.float64)
    if labels.dtype == object or pd.api.types.is_string_dtype(labels.dtype):
        texts = pd.unique(labels.astype(str))
        numbers = pd.to_numeric(pd.Series(texts), errors="coerce").to_numpy(np.float64)
        if len(texts) and np.isfinite(numbers).all() and len(np.unique(numbers)) == len(texts):
            return pd.to_numeric(labels.astype(str)).to_numpy(np.float64)
    return None
