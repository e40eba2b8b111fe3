"""Codes and factors from common file formats: npz, npy, CSV, TSV, parquet and AnnData's h5ad."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError, foreign, unknown
from distaff.foundation.h5ad import read_h5ad
from distaff.foundation.table_files import numbers_rows, read_csv, read_parquet
from distaff.metrics.codes_file import read_arrays, read_codes
from distaff.metrics.inputs import Factors, as_factors

ARRAYS = (".npz", ".npy")
TABLES = (".csv", ".tsv", ".parquet")
ROWS = "observation"
"""The name of the column of row identifiers in tables from ``distaff encode``."""
ENDINGS = (*ARRAYS, *TABLES, ".h5ad")
"""The endings of the names of code files."""
UNNAMED = "Unnamed: "
"""The prefix that pandas gives to an unnamed column, such as a saved index."""


def read_source(
    path: Path | str, factors: str | Path | None = None, latents: str | None = None
) -> tuple[Codes, Factors | None]:
    """Read the codes of a file, and the factors of the same rows if there are any.

    Args:
        path: an npz or npy file (``read_codes``); a CSV, TSV or parquet table, whose numeric columns are
            latents; or an h5ad file, with codes in ``obsm``.
        factors: a file of labels (CSV, TSV, parquet, npy, or npz with an array ``factors``), one row per row
            of codes; or columns of the code file itself, such as ``cell_type,batch``. If both files have a
            column that identifies the rows, rows are matched by it; otherwise by position.
        latents: the columns of a table, or the array in an h5ad file's ``obsm`` (or ``X``), that hold codes.
    """
    path = Path(path)
    kind = path.suffix.lower()
    beside = None if factors is None or not _is_file(factors) else Path(factors)
    columns = [] if factors is None or beside is not None else [c.strip() for c in str(factors).split(",")]
    if kind in ARRAYS:
        if columns or latents is not None:
            raise DistaffError(f"{path} has no named columns: give a file as --factors, and no --latents.")
        codes, own = read_codes(path)
        return codes, own if beside is None else as_factors(in_place(beside, read_labels_file(beside)))
    if kind == ".h5ad":
        means, frame = read_h5ad(path, latents, columns)
        codes, rows = Codes(means), frame.index.to_frame(index=False)
    elif kind in TABLES:
        rows = read_table(path)
        for column in columns:
            if column not in rows:
                raise unknown(f"column of {path.name}", column, rows.columns)
            if latents is not None and column in map(str.strip, latents.split(",")):
                raise DistaffError(f"column {column!r} is in both --factors and --latents: keep one of them.")
        codes, frame = _numbers(path, rows.drop(columns=columns), latents), rows[columns]
    else:
        raise DistaffError(f"{path} is not a file of codes: their names end in {', '.join(ENDINGS)}.")
    if beside is not None:
        return codes, as_factors(_paired(path, rows, beside))
    return codes, as_factors(frame.reset_index(drop=True)) if frame.shape[1] else None


def read_baseline(path: Path | str, factors: str | Path | None = None, latents: str | None = None) -> Codes:
    """Read other codes of the same rows; ``factors`` and ``latents`` are those given for the main file.

    In a table, columns that hold labels in the main file are not latents here either, and latents selected
    by name in the main file are selected here if all of them exist.
    """
    if Path(path).suffix.lower() not in TABLES:
        return read_source(path)[0]
    there = set(read_table(Path(path)).columns)
    named = [] if factors is None or _is_file(factors) else [c.strip() for c in str(factors).split(",")]
    chosen = [] if latents is None else [c.strip() for c in latents.split(",")]
    labels = [column for column in named if column in there]
    same = latents if chosen and there.issuperset(chosen) else None
    return read_source(path, ",".join(labels) or None, same)[0]


def read_table(path: Path) -> pd.DataFrame:
    """Read the table of a CSV, TSV or parquet file."""
    with foreign(lambda why: f"{path} cannot be read as a table: {why}."):
        try:
            if path.suffix.lower() == ".parquet":
                return read_parquet(path).reset_index(drop=True)
            return read_csv(path)
        except FileNotFoundError:
            raise DistaffError(f"{path} does not exist.") from None


def read_labels_file(path: Path) -> Any:
    """Read the labels of a file: a frame, an array, or ``Factors``."""
    if path.suffix.lower() in TABLES:
        return read_table(path)
    if path.suffix.lower() not in ARRAYS:
        raise DistaffError(
            f"{path} is not a file of labels: their names end in {', '.join((*ARRAYS, *TABLES))}."
        )
    arrays = read_arrays(path)
    if path.suffix.lower() == ".npy":
        return arrays["means"]
    if "factors" not in arrays:
        raise DistaffError(f"{path} has no array named factors: it holds {', '.join(arrays)}.")
    names = arrays.get("factor_names")
    return as_factors(arrays["factors"], None if names is None else [str(name) for name in names.ravel()])


def _is_file(given: str | Path) -> bool:
    name = str(given)
    if Path(name).suffix.lower() in ENDINGS:
        if not Path(name).is_file():
            raise DistaffError(f"{name} does not exist.")
        return True
    return False


def _numbers(path: Path, table: pd.DataFrame, latents: str | None) -> Codes:
    """The numeric columns as codes; a warning names the other columns."""
    if latents is not None:
        wanted = [column.strip() for column in latents.split(",")]
        for column in wanted:
            if wanted.count(column) > 1:
                raise DistaffError(f"column {column!r} is twice in --latents: a latent is one column.")
            if column not in table:
                raise unknown(f"column of {path.name}", column, table.columns)
        table = table[wanted]
    numeric = [c for c in table if pd.api.types.is_numeric_dtype(table[c]) and not _is_index(table[c])]
    if latents is None and (numbers := [c for c in numeric if numbers_rows(table[c])]):
        listed = ", ".join(map(str, numbers))
        warnings.warn(f"{path}: not read as codes, since it numbers the rows: {listed}.", stacklevel=2)
        table = table.drop(columns=numbers)
        numeric = [c for c in numeric if c not in numbers]
    left = [str(c) for c in table if c not in numeric and not _is_index(table[c])]
    if not numeric:
        raise DistaffError(f"{path} has no column of numbers: codes are a table of numbers.")
    if left:
        listed = ", ".join(left)
        warnings.warn(
            f"{path}: columns that do not hold numbers are not read as codes: {listed}.", stacklevel=2
        )
    for empty in (c for c in numeric if table[c].isna().any()):
        row = int(table[empty].isna().to_numpy().argmax())
        raise DistaffError(
            f"column {empty!r} of {path} has no value in row {row}: if it holds labels, name it with "
            f"--factors {empty}, or select the columns of codes with --latents."
        )
    names = tuple(str(column) for column in numeric)
    return Codes(table[numeric].to_numpy(np.float64), latents=names)


def _is_index(column: "pd.Series[Any]") -> bool:
    """Whether a column numbers or names the rows, as written by ``distaff encode`` or pandas."""
    if column.name == ROWS:
        return True
    return str(column.name).startswith(UNNAMED) and bool((column == np.arange(len(column))).all())


def _paired(path: Path, table: pd.DataFrame, beside: Path) -> Any:
    """The labels of a file in the order of the codes, matched by a shared identifier column if any."""
    labels = read_labels_file(beside)
    if not isinstance(labels, pd.DataFrame):
        return labels
    named = [c for c in labels if c in table and not str(c).startswith(UNNAMED)]
    keys = [c for c in named if labels[c].is_unique and table[c].is_unique]
    if not keys:
        return in_place(beside, labels)
    key = keys[0]
    ordered = labels.set_index(key).reindex(table[key])
    found = table[key].isin(labels[key])
    if not found.any():
        raise DistaffError(f"no {key!r} of {path} is in {beside}: the two files describe different rows.")
    return ordered.reset_index(drop=True).drop(columns=[c for c in labels if str(c).startswith(UNNAMED)])


def in_place(path: Path, labels: Any) -> Any:
    """Labels in the row order of the codes, without row numbers; numbers in another order are an error."""
    if not isinstance(labels, pd.DataFrame):
        return labels
    numbers = [c for c in labels if str(c).startswith(UNNAMED)]
    for column in numbers:
        if not _is_index(labels[column]) and sorted(labels[column]) == list(range(len(labels))):
            raise DistaffError(
                f"the rows of {path} are numbered in another order (its unnamed column): sort them by these "
                "numbers, or remove the column if the rows are in the order of the codes."
            )
    return labels.drop(columns=numbers)
