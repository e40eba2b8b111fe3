"""Codes and factors from common file formats: npz, npy, CSV, TSV, parquet and AnnData's h5ad."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError, foreign, unknown
from distaff.foundation.h5ad import read_h5ad
from distaff.foundation.table_files import named_rows, numbers_rows, read_csv, read_parquet, ways_to_name
from distaff.metrics.codes_file import read_arrays, read_codes
from distaff.metrics.inputs import Factors, as_factors

ARRAYS = (".npz", ".npy")
TABLES = (".csv", ".tsv", ".parquet")
ROWS = "observation"
"""The name of the column of row identifiers in tables from ``distaff encode``."""
ENDINGS = (*ARRAYS, *TABLES, ".h5ad")
"""The endings of the names of code files."""
INDEX = "row name"
"""What messages call the names of rows that have no heading."""


def read_source(
    path: Path | str, factors: str | Path | None = None, latents: str | None = None
) -> tuple[Codes, Factors | None]:
    """Read the codes of a file, and the factors of the same rows if there are any.

    Args:
        path: an npz or npy file (``read_codes``); a CSV, TSV or parquet table, whose numeric columns are
            latents; or an h5ad file, with codes in ``obsm``.
        factors: a file of labels (CSV, TSV, parquet, npy, or npz with an array ``factors``), one row per row
            of codes; or columns of the code file itself, such as ``cell_type,batch``. If both files name the
            rows, in a column of the same heading or in their index, rows are matched by these names;
            otherwise by position.
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
        codes = Codes(means)
        if beside is not None:
            frame, _ = _paired(path, frame.iloc[:, :0], beside)
    elif kind in TABLES:
        codes, frame = _of_table(path, columns, beside, latents)
    else:
        raise DistaffError(f"{path} is not a file of codes: their names end in {', '.join(ENDINGS)}.")
    if isinstance(frame, pd.DataFrame) and not frame.shape[1]:
        return codes, None
    return codes, as_factors(frame.reset_index(drop=True) if isinstance(frame, pd.DataFrame) else frame)


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
    """Read the table of a CSV, TSV or parquet file; its index has the names of its rows, if any."""
    with foreign(lambda why: f"{path} cannot be read as a table: {why}."):
        try:
            return named_rows(read_parquet(path) if path.suffix.lower() == ".parquet" else read_csv(path))
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


def _of_table(path: Path, columns: list[str], beside: Path | None, latents: str | None) -> tuple[Codes, Any]:
    """The codes of a table, and labels from its own columns or from a file beside it."""
    rows = read_table(path)
    for column in columns:
        if column not in rows:
            raise unknown(f"column of {path.name}", column, rows.columns)
        if latents is not None and column in map(str.strip, latents.split(",")):
            raise DistaffError(f"column {column!r} is in both --factors and --latents: keep one of them.")
    if beside is None:
        return _numbers(path, rows.drop(columns=columns), latents), rows[columns]
    labels, names = _paired(path, rows, beside)
    if latents is None:
        rows = _without_labels(path, rows.drop(columns=names), labels)
    return _numbers(path, rows, latents), labels


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
    numeric = [c for c in table if pd.api.types.is_numeric_dtype(table[c]) and c != ROWS]
    if latents is None and (numbers := [c for c in numeric if numbers_rows(table[c])]):
        listed = ", ".join(map(str, numbers))
        warnings.warn(f"{path}: not read as codes, since it numbers the rows: {listed}.", stacklevel=2)
        table = table.drop(columns=numbers)
        numeric = [c for c in numeric if c not in numbers]
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


def _paired(path: Path, table: pd.DataFrame, beside: Path) -> tuple[Any, list[str]]:
    """The labels of a file in the order of the codes, and the column, if any, by which they were matched."""
    labels = read_labels_file(beside)
    if not isinstance(labels, pd.DataFrame):
        return labels, []
    ours, theirs = names_of_rows(table), names_of_rows(labels)
    both = [(a, b) for a in ours for b in theirs if a == b or _unnamed_texts(a, b, ours[a], theirs[b])]
    for a, b in both:
        if ours[a].isin(theirs[b]).any():
            return _in_order(labels, theirs[b], b, ours[a]), [a] if a in table else []
    files = [str(name) for name in ours.get(ROWS, ours.get(INDEX, ()))]
    for b, keys in theirs.items():
        found = [next((w for w in ways_to_name(name) if w in keys), None) for name in files]
        if found and None not in found and len({*found}) == len(found):  # such as the numbers of files
            return _in_order(labels, keys, b, found), [ROWS] if ROWS in table else []
    if same := [a for a, b in both if a == b]:
        raise DistaffError(f"no {same[0]} of {path} is in {beside}: the two files describe different rows.")
    _refuse_other_order(path, table, beside, labels)
    return in_place(beside, labels), []


def _in_order(labels: pd.DataFrame, names: pd.Index, heading: str, wanted: Any) -> pd.DataFrame:
    """The rows of some names, which lie under a heading or in the index, without these names."""
    kept = labels.set_axis(names, axis=0).drop(columns=heading, errors="ignore")
    return kept.reindex(wanted).reset_index(drop=True)


def names_of_rows(table: pd.DataFrame) -> dict[str, pd.Index]:
    """What may name the rows of a table, as texts: its index, and columns without fractions or repeats."""
    columns = [c for c in table if table[c].is_unique and not pd.api.types.is_float_dtype(table[c])]
    names = {str(c): pd.Index(table[c].astype(str)) for c in columns}
    unnamed = isinstance(table.index, pd.RangeIndex) or not table.index.is_unique
    return (
        names if unnamed else {str(table.index.name or INDEX): pd.Index(list(map(str, table.index)))} | names
    )


def _unnamed_texts(a: str, b: str, ours: pd.Index, theirs: pd.Index) -> bool:
    """Whether one table has names without a heading, and all are texts, which are not alike by chance."""
    return not {INDEX, ROWS}.isdisjoint((a, b)) and not any(name.isdecimal() for name in (*ours, *theirs))


def _refuse_other_order(path: Path, table: pd.DataFrame, beside: Path, labels: pd.DataFrame) -> None:
    """Refuse two tables that share a column of texts, some of them repeated, in another order."""
    for column in (c for c in labels if c in table and not pd.api.types.is_numeric_dtype(labels[c])):
        ours, theirs = list(map(str, table[column])), list(map(str, labels[column]))
        if ours != theirs and sorted(ours) == sorted(theirs):
            raise DistaffError(
                f"{path} and {beside} have the same {column}s in another order, some of them twice: sort "
                "both alike, or give each row a name of its own."
            )


def in_place(path: Path, labels: Any) -> Any:
    """Labels in the row order of the codes, without row numbers; numbers in another order are an error."""
    if not isinstance(labels, pd.DataFrame):
        return labels
    numbers = labels.index
    if pd.api.types.is_integer_dtype(numbers) and sorted(numbers) == list(range(len(labels))) != list(
        numbers
    ):
        raise DistaffError(
            f"the rows of {path} are numbered in another order (its unnamed column): sort them by these "
            "numbers, or remove the column if the rows are in the order of the codes."
        )
    return labels.reset_index(drop=True)
