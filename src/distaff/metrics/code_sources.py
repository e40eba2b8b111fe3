"""Codes and factors from common file formats: npz, npy, CSV, TSV, parquet and AnnData's h5ad."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError, foreign, unknown
from distaff.foundation.files import ending
from distaff.foundation.h5ad import read_h5ad, read_row_names
from distaff.foundation.table_files import named_rows, numbers_rows, read_csv, read_parquet
from distaff.metrics.codes_file import UNNAMED, factors_in, read_arrays, read_codes
from distaff.metrics.inputs import Factors, as_factors
from distaff.metrics.row_names import (
    NUMBERED,
    ROWS,
    NamedRows,
    in_order,
    in_place,
    match_rows,
    names_of_rows,
    refuse_other_order,
)

ARRAYS = (".npz", ".npy")
TABLES = (".csv", ".tsv", ".parquet")
ENDINGS = (*ARRAYS, *TABLES, ".h5ad")
"""The endings of the names of code files; those of texts may be compressed, as in ``.csv.gz``."""


def read_source(
    path: Path | str,
    factors: str | Path | None = None,
    latents: str | None = None,
    real: Sequence[str] | None = None,
) -> tuple[Codes, Factors | None]:
    """Read the codes of a file, and the factors of the same rows if there are any.

    Args:
        path: an npz or npy file (``read_codes``); a CSV, TSV or parquet table, whose numeric columns are
            latents; or an h5ad file, with codes in ``obsm``.
        factors: a file of labels (CSV, TSV, parquet, npy, or npz with an array ``factors``), one row per row
            of codes; or columns or arrays of the code file itself, such as ``cell_type,batch``. If both files
            name the rows, in a column of the same heading or in their index, rows are matched by these names;
            otherwise by position.
        latents: the columns of a table, the array of an npz file, or the array in an h5ad file's ``obsm`` (or
            ``X``), that hold codes.
        real: names of the factors that are real-valued, as in ``as_factors``.
    """
    path = Path(path)
    kind = ending(path)
    beside = None if factors is None or not is_file(factors) else Path(factors)
    columns = [] if factors is None or beside is not None else [c.strip() for c in str(factors).split(",")]
    if kind in ARRAYS:
        if kind == ".npy" and (columns or latents is not None):
            raise DistaffError(f"{path} has no named arrays: give a file as --factors, and no --latents.")
        codes, own = read_codes(path, latents=latents, factors=columns, real=None if beside else real)
        if beside is None:
            return codes, own
        return codes, as_factors(in_place(beside, read_labels_file(beside, real)), real=real)
    if kind == ".h5ad":
        means, frame = read_h5ad(path, latents, columns)
        codes = Codes(means)
        if beside is not None:
            frame, _ = _paired(path, frame.iloc[:, :0].rename_axis(None), beside, real)
    elif kind in TABLES:
        codes, frame = _of_table(path, columns, beside, latents, real)
    else:
        raise DistaffError(f"{path} is not a file of codes: their names end in {', '.join(ENDINGS)}.")
    if isinstance(frame, pd.DataFrame) and not frame.shape[1]:
        return codes, None
    labels = frame.reset_index(drop=True) if isinstance(frame, pd.DataFrame) else frame
    return codes, as_factors(labels, real=real)


def named_source(path: Path | str, codes: Codes) -> NamedRows:
    """The rows of a file of codes, with their names, if the file has any."""
    path = Path(path)
    match ending(path):
        case ".h5ad":
            return NamedRows(str(path), pd.DataFrame(index=pd.Index(read_row_names(path))))
        case kind if kind in TABLES:
            return NamedRows(str(path), read_table(path), codes.names)
        case _:
            return NamedRows(str(path), pd.DataFrame(index=range(len(codes))))


def read_table(path: Path) -> pd.DataFrame:
    """Read the table of a CSV, TSV or parquet file; its index has the names of its rows, if any."""
    with foreign(lambda why: f"{path} cannot be read as a table: {why}."):
        try:
            parquet = path.suffix.lower() == ".parquet"
            saved = read_parquet(path) if parquet else read_csv(path)
        except FileNotFoundError:
            raise DistaffError(f"{path} does not exist.") from None
        table = named_rows(saved)
        with_index = parquet or table.shape[1] < saved.shape[1]
        table.attrs[NUMBERED] = with_index and isinstance(table.index, pd.RangeIndex)
        return table


def read_labels_file(path: Path, real: Sequence[str] | None = None) -> Any:
    """Read the labels of a file: a frame, an array, or ``Factors``, some of them ``real``-valued."""
    if ending(path) in TABLES:
        return read_table(path)
    if path.suffix.lower() not in ARRAYS:
        raise DistaffError(
            f"{path} is not a file of labels: their names end in {', '.join((*ARRAYS, *TABLES))}."
        )
    arrays = read_arrays(path)
    if path.suffix.lower() == ".npy":
        return arrays["means"]
    if set(arrays) == {UNNAMED}:
        return arrays[UNNAMED]
    if "factors" not in arrays:
        raise DistaffError(f"{path} has no array named factors: it holds {', '.join(arrays)}.")
    return factors_in(arrays, real)


def is_file(given: str | Path) -> bool:
    """Whether ``--factors`` names a file, which must exist, and not columns."""
    name = str(given)
    if ending(Path(name)) in ENDINGS:
        if not Path(name).is_file():
            raise DistaffError(f"{name} does not exist.")
        return True
    if Path(name).suffix and Path(name).is_file():
        raise DistaffError(f"{name} is not a file of labels: their names end in {', '.join(ENDINGS)}.")
    return False


def _of_table(
    path: Path, columns: list[str], beside: Path | None, latents: str | None, real: Sequence[str] | None
) -> tuple[Codes, Any]:
    """The codes of a table, and labels from its own columns or from a file beside it."""
    rows = read_table(path)
    for column in columns:
        if column not in rows:
            raise unknown(f"column of {path.name}", column, rows.columns)
        if latents is not None and column in map(str.strip, latents.split(",")):
            raise DistaffError(f"column {column!r} is in both --factors and --latents: keep one of them.")
    if beside is None:
        return codes_in(path, rows.drop(columns=columns), latents), rows[columns]
    labels, names = _paired(path, rows, beside, real)
    if latents is None:
        rows = _without_labels(path, rows.drop(columns=names), labels)
    return codes_in(path, rows, latents), labels


def codes_in(path: Path, table: pd.DataFrame, latents: str | None) -> Codes:
    """The numeric columns as codes; a warning names the other columns."""
    if latents is not None:
        wanted = [column.strip() for column in latents.split(",")]
        for column in wanted:
            if wanted.count(column) > 1:
                raise DistaffError(f"column {column!r} is twice in --latents: a latent is one column.")
            if column not in table:
                raise unknown(f"column of {path.name}", column, table.columns)
        table = table[wanted]
    numeric = [c for c in table if pd.api.types.is_numeric_dtype(table[c]) and c != ROWS]
    if latents is None and (counted := [c for c in numeric if numbers_rows(table[c])]):
        listed = ", ".join(map(str, counted))
        warnings.warn(f"{path}: not read as codes, since it numbers the rows: {listed}.", stacklevel=2)
        table = table.drop(columns=counted)
        numeric = [c for c in numeric if c not in counted]
    left = [str(c) for c in table if c not in numeric and c != ROWS]
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
    if latents is None and 0 < len(whole := [c for c in numeric if _whole(table[c])]) < len(numeric):
        listed = ", ".join(map(str, whole))
        warnings.warn(
            f"{path}: read as codes, although they hold whole numbers as labels do: {listed}; --factors "
            "names labels, --latents names codes.",
            stacklevel=2,
        )
    names = tuple(str(column) for column in numeric)
    return Codes(table[numeric].to_numpy(np.float64), latents=names)


def _whole(column: "pd.Series[Any]") -> bool:
    """Whether a column holds several whole numbers and no others."""
    numbers = column.to_numpy(np.float64)
    return bool((numbers == np.floor(numbers)).all() and (numbers != numbers[0]).any())


def _without_labels(path: Path, table: pd.DataFrame, labels: Any) -> pd.DataFrame:
    """The table without columns that another file has as labels, number by number; a warning names them."""
    beside = labels if isinstance(labels, pd.DataFrame) and len(labels) == len(table) else table.iloc[:, :0]
    both = [c for c in beside if c in table and np.array_equal(table[c].to_numpy(), beside[c].to_numpy())]
    if numbers := [str(c) for c in both if pd.api.types.is_numeric_dtype(table[c])]:
        listed = ", ".join(numbers)
        warnings.warn(f"{path}: not read as codes, since they are the labels: {listed}.", stacklevel=2)
    return table.drop(columns=both)


def _paired(
    path: Path, table: pd.DataFrame, beside: Path, real: Sequence[str] | None
) -> tuple[Any, list[str]]:
    """The labels of a file in the order of the codes, and the column, if any, by which they were matched."""
    labels = read_labels_file(beside, real)
    if not isinstance(labels, pd.DataFrame):
        return labels, []
    theirs = names_of_rows(labels)
    found = match_rows(path, names_of_rows(table), beside, theirs)
    if found is not None:
        return in_order(labels, theirs[found.theirs], found), [found.ours] if found.ours in table else []
    refuse_other_order(path, table, beside, labels)
    return in_place(beside, labels), []
