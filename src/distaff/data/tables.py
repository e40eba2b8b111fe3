"""Tables: data frames, CSV, parquet, h5ad, and arrays of vectors, with standardised columns."""

import os
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from distaff.data.arrangements import Table
from distaff.data.arrays import with_factors
from distaff.data.columns import Kind, Names, learn_column, listed, refuse_lists
from distaff.data.dataset import Dataset
from distaff.data.label_tables import label_column
from distaff.foundation.errors import DataNotice, DistaffError, unknown, whole
from distaff.foundation.files import ending
from distaff.foundation.h5ad import read_annotated
from distaff.foundation.table_files import UNNAMED, named_rows, numbers_rows, read_csv, read_parquet

DATE = r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2}))(?:[T ].*)?"
"""A date, with or without a time, such as 2024-05-31, 5/31/2024 or 31.5.24."""
SUFFIXES = (".csv", ".tsv", ".parquet", ".h5ad")


def load(
    file: str | Path,
    columns: Names = None,
    factors: Names = None,
    categorical: Names = None,
    counts: Names = None,
    standardise: bool = True,
    matrix: str | None = None,
    like: Table | None = None,
) -> Dataset:
    """The rows of a table in a file.

    Args:
        file: a ``.csv`` or ``.tsv`` with a header, a ``.parquet``, or an AnnData ``.h5ad``; of its ``obs``,
            only the columns named here are read.
        columns: columns to train on; by default all but the factors.
        factors: columns of labels, which the model does not see.
        categorical: numeric columns that hold classes; columns of text are always classes.
        counts: columns of counts, or ``"all"`` for every numeric column.
        standardise: scale columns of real numbers to mean 0 and variance 1.
        matrix: matrix of an ``.h5ad``: ``X`` by default, a layer such as ``counts``, or an array of ``obsm``.
        like: how the rows of a trained model were read, to read these alike.
    """
    path = Path(file)
    kind = ending(path)
    if matrix is not None and kind != ".h5ad":
        raise DistaffError(f"matrix={matrix} is for an .h5ad file, which {path} is not.")
    named = [] if like is None else [column.name for column in like.columns]
    named += [name for names in (columns, factors, categorical) for name in several(names)]
    with whole(path, f"{kind} table"):
        if kind == ".h5ad":
            matrix = matrix or (None if like is None else like.matrix)
            frame = read_annotated(path, matrix, named, absent=like is not None)
        elif kind == ".parquet":
            frame = read_parquet(path)
        else:
            frame = read_csv(path)
            if not any(name.startswith(UNNAMED) for name in named):
                frame = named_rows(frame)
    where = os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
    data = from_frame(frame, columns, factors, categorical, counts, standardise, like, path.stem, where)
    return of_matrix(data, matrix)


def of_matrix(data: Dataset, matrix: str | None) -> Dataset:
    """The same data set, marked as coming from another matrix of an AnnData than ``X``."""
    if matrix is None or not isinstance(data.arrangement, Table):
        return data
    return replace(data, arrangement=replace(data.arrangement, matrix=matrix))


def from_frame(
    frame: Any,
    columns: Names = None,
    factors: Names = None,
    categorical: Names = None,
    counts: Names = None,
    standardise: bool = True,
    like: Table | None = None,
    name: str = "table",
    where: str = "the DataFrame",
) -> Dataset:
    """A data set from the rows of a data frame; the arguments are those of ``load``.

    >>> frame = pd.DataFrame({"size": [1.0, 2.0, None], "colour": ["red", "blue", "red"]})
    >>> from_frame(frame)
    table: 3 × (3,), no factors
    """
    frame = frame.to_pandas() if hasattr(frame, "to_pandas") else pd.DataFrame(frame)
    frame = frame.rename(columns=str)
    if not len(frame) or not len(frame.columns):
        raise DistaffError(f"{where} has no rows or no columns.")
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise DistaffError(f"{where} has two columns {twice[0]!r}: give each its own name.")
    labels = _known(factors, frame, where, absent=like is not None)
    if like is None:
        kinds = _kinds(frame, columns, labels, categorical, counts, where)
        learnt = [learn_column(c, frame[c], kind, standardise, where) for c, kind in kinds.items()]
        like = Table.of(learnt, frame)
    data = like.dataset(frame, name, where)
    names = None if isinstance(frame.index, pd.RangeIndex) else np.array(list(map(str, frame.index)))
    data = replace(data, row_names=names)
    return (
        with_factors(data, [label_column(frame[label], label, where) for label in labels], labels)
        if labels
        else data
    )


def from_vectors(
    vectors: Any, name: str = "array", counts: Names = None, standardise: bool = True
) -> Dataset:
    """A data set from vectors (N, D), standardised; NaN is a missing value."""
    frame = pd.DataFrame(np.asarray(vectors))
    return from_frame(
        frame,
        columns=[str(column) for column in frame.columns],  # no column of an array names the rows
        counts=counts,
        standardise=standardise,
        name=name,
        where=f"the {name}",
    )


def _kinds(
    frame: pd.DataFrame, columns: Names, labels: list[str], categorical: Names, counts: Names, where: str
) -> dict[str, Kind]:
    """How each training column is read; columns that only identify rows are left out with a warning."""
    wanted = _known(columns, frame, where) or [c for c in frame.columns if c not in labels]
    classes = _known(categorical, frame, where)
    counted = [] if counts == "all" else _known(counts, frame, where)
    _refuse_both(classes, "categorical", counted, "counts", where)
    _refuse_both(wanted, "columns", labels, "factors", where)
    kinds: dict[str, Kind] = {}
    for name in wanted:
        values = frame[name]
        refuse_lists(values, name, where)
        numeric = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
        if name in classes:
            kinds[name] = "classes"
        elif name in counted or (counts == "all" and numeric):
            kinds[name] = "count"
        elif columns is None and (why := _names_rows(values)):
            warnings.warn(f"column {name!r} of {where} is left out: {why}.", DataNotice, stacklevel=2)
        elif numeric or _holds_numbers(values):
            kinds[name] = "real"
        else:
            kinds[name] = "classes"
            _point_out_numbers(values, name, where)
    if not kinds:
        raise DistaffError(f"{where} has no column to train on.")
    return kinds


def _refuse_both(some: list[str], title: str, others: list[str], other: str, where: str) -> None:
    for name in some:
        if name in others:
            raise DistaffError(f"column {name!r} of {where} is named among {title} and {other}: keep one.")


def _known(names: Names, frame: pd.DataFrame, where: str, absent: bool = False) -> list[str]:
    """The named columns, as in ``price+kind``; with ``absent``, only those that exist."""
    wanted = listed(names) if names in list(frame.columns) else several(names)
    for name in [] if absent else wanted:
        if name not in frame.columns:
            raise unknown(f"column of {where}", name, frame.columns)
    return [name for name in wanted if name in frame.columns]


def several(names: Names) -> list[str]:
    """The names of columns; one text may contain several.

    >>> several("price+kind"), several(["price"])
    (['price', 'kind'], ['price'])
    """
    return [name.strip() for name in names.split("+")] if isinstance(names, str) else listed(names)


def _point_out_numbers(values: "pd.Series[Any]", name: str, where: str) -> None:
    """Warn of texts that make classes of a column of numbers, such as a sign for missing values."""
    seen = values.dropna()
    other = seen[pd.to_numeric(seen.astype(str), errors="coerce").isna()]
    if 0 < len(other) < len(seen) / 2:
        warnings.warn(
            f"column {name!r} of {where} is read as classes, since some of its cells are no numbers, such as "
            f"{str(other.iloc[0])!r}: leave these empty if they stand for missing numbers.",
            DataNotice,
            stacklevel=2,
        )


def _holds_numbers(values: "pd.Series[Any]") -> bool:
    """Whether a column of texts holds numbers, except for a few that a message should name."""
    if isinstance(values.dtype, pd.CategoricalDtype):  # its owner says that they are classes
        return False
    if pd.api.types.is_bool_dtype(values) or pd.api.types.is_datetime64_any_dtype(values):
        return False
    seen = values.dropna()
    numbers = pd.to_numeric(seen, errors="coerce")
    return len(seen) > 0 and float(numbers.notna().mean()) > 0.9


def _names_rows(values: "pd.Series[Any]") -> str:
    """Why a column only identifies rows, in words; empty if it may contain more."""
    if pd.api.types.is_datetime64_any_dtype(values):
        return "its values are dates"
    seen = values.dropna()
    if _holds_numbers(values) or pd.api.types.is_bool_dtype(values):
        return "it numbers the rows" if numbers_rows(seen) else ""
    if len(seen) and seen.astype(str).str.fullmatch(DATE).all():
        return "its values are dates"
    return "its values are all different" if len(seen) > 2 and seen.nunique() == len(seen) else ""
