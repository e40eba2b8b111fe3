"""Reading untrusted tables: CSV files as spreadsheets write them, also compressed, and parquet files. A small
file may unpack to more than fits in memory.
"""

import bz2
import gzip
import io
import itertools
import lzma
import re
import warnings
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import IO, Any

import numpy as np
import pandas as pd

from distaff.foundation.errors import DataNotice, DistaffError, whole
from distaff.foundation.files import ending

MOST_CELLS = 10_000_000
"""Number of values that any parquet file may hold, however small it is."""
PER_BYTE = 2_000
"""Number of values per byte that a larger file may hold: repeated values take almost no space."""
UNPACK: dict[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
"""How texts are unpacked, by the ending of the file's name."""
MOST_UNPACKED = 1 << 28
"""Number of bytes that any compressed text may hold, however small it is."""
PER_PACKED = 100
"""Number of bytes per byte that a larger one may hold."""
UNNAMED = "Unnamed: "
"""The prefix of what pandas calls a column of a CSV file that has no heading."""
FEW_ROWS = 20
"""With up to this many rows, numbers that increase by one may be a coincidence."""
LOOKED_AT = 100
"""Number of rows that are read to see how decimals are written."""


def read_csv(path: Path) -> pd.DataFrame:
    """The table of a ``.csv`` or ``.tsv`` file, which may be compressed, as in ``.csv.gz``.

    Its first line names the columns, unless it has fractions.
    """
    text = _unpacked(path)
    comma, point, named = _punctuation(path, text)
    try:
        heading = 0 if named else None
        source = path if text is None else io.BytesIO(text)
        frame = pd.read_csv(source, sep=comma, decimal=point, header=heading, skipinitialspace=True)
    except UnicodeDecodeError as problem:
        raise DistaffError(f"{path} is not a text in UTF-8: save it again with that encoding.") from problem
    named_by_cell = not isinstance(frame.index, pd.RangeIndex) and frame.index.nlevels == 1
    if named_by_cell and frame.iloc[:, -1].isna().all() and _ends_with(path, text, comma):
        frame = frame.reset_index().set_axis([*frame.columns, UNNAMED], axis=1)
    # One cell more is the row's name, as R writes it, which is no fraction.
    if frame.index.nlevels > 1 or pd.api.types.is_float_dtype(frame.index):
        raise DistaffError(f"{path} has rows with more cells than its heading has names.")
    last = frame.columns[-1]
    if str(last).startswith(UNNAMED) and frame[last].isna().all():  # every line ends with a separator
        frame = frame.drop(columns=last)
    if not named:
        frame.columns = frame.columns.map(str)
        warnings.warn(
            f"{path} has no line of headings, so that its columns are called 0 to {frame.shape[1] - 1}.",
            DataNotice,
            stacklevel=3,
        )
    return frame


def _unpacked(path: Path) -> bytes | None:
    """The bytes of a compressed text; None for others."""
    if path.suffix.lower() not in UNPACK:
        return None
    most = max(MOST_UNPACKED, PER_PACKED * path.stat().st_size)
    with whole(path, f"{path.suffix.lower()} file"), UNPACK[path.suffix.lower()](path, "rb") as file:
        text: bytes = file.read(most + 1)
    if len(text) > most:
        raise DistaffError(f"{path} unpacks to more than {most:,} bytes: unpack it yourself if it is yours.")
    return text


def _open(path: Path, text: bytes | None) -> IO[str]:
    if text is None:
        return path.open(encoding="utf-8-sig", errors="replace")
    return io.TextIOWrapper(io.BytesIO(text), encoding="utf-8-sig", errors="replace")


def _punctuation(path: Path, text: bytes | None) -> tuple[str, str, bool]:
    """The separator of a table, its decimal sign, and whether its first line is a heading.

    Spreadsheets in much of Europe write ``price;kind`` and ``3,5``.
    """
    with _open(path, text) as file:
        heading, rows = file.readline(), "".join(itertools.islice(file, LOOKED_AT))
    comma, point = ",", "."
    parting = re.sub(r"(?<=\d),(?=\d)", "", heading) if ";" in heading else heading
    if ending(path) == ".tsv" or heading.count("\t") > max(parting.count(","), parting.count(";")):
        comma, point = "\t", "," if re.search(r"\d,\d", rows) and not re.search(r"\d\.\d", rows) else "."
    elif parting.count(";") > parting.count(","):
        comma, point = ";", "," if re.search(r"\d,\d", rows) else "."
    cells = [cell.strip().strip('"') for cell in heading.split(comma)]
    return comma, point, not all(map(_is_number, cells)) or all(cell.isdecimal() for cell in cells)


def _ends_with(path: Path, text: bytes | None, comma: str) -> bool:
    """Whether every line after the heading ends with a separator, which begins no further cell."""
    with _open(path, text) as file:
        return all(line.rstrip("\n").endswith(comma) for line in itertools.islice(file, 1, LOOKED_AT))


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def named_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with the names of rows that were saved with it as its index; 0, 1, … are no names.

    In a CSV file it is a first column without a heading, of texts or whole numbers that are all different.
    """
    first = frame.columns[0] if len(frame.columns) > 1 else None
    if str(first).startswith(UNNAMED) and isinstance(frame.index, pd.RangeIndex):
        names = frame[first]
        if names.is_unique and not names.isna().any() and not pd.api.types.is_float_dtype(names):
            frame = frame.set_index(first).rename_axis(None)
    if pd.api.types.is_integer_dtype(frame.index) and (frame.index == np.arange(len(frame))).all():
        return frame.reset_index(drop=True)
    return frame


def ways_to_name(name: str) -> list[str]:
    """What a table may call a row that another calls ``name``, such as by a file, the most precise first.

    >>> ways_to_name("birds/007.png")
    ['birds/007.png', '007.png', 'birds/007', '007', '7']
    """
    path = PurePath(name)
    plain = str(int(path.stem)) if path.stem.isdecimal() else path.stem
    return [name, path.name, str(path.with_suffix("")) if path.name else name, path.stem, plain]


def numbers_rows(numbers: "pd.Series[Any]") -> bool:
    """Whether a column of numbers increases by one from row to row, as row numbers do, over enough rows."""
    steps = np.diff(pd.to_numeric(numbers, errors="coerce").to_numpy(np.float64))
    return len(numbers) > FEW_ROWS and bool((steps == 1).all())


def read_parquet(path: Path) -> pd.DataFrame:
    """Read the table of a parquet file; anything wrong with its bytes raises a one-sentence error."""
    from pyarrow import parquet  # takes a tenth of a second, and only parquet files need it

    with whole(path, "parquet file"):
        facts = parquet.read_metadata(path)
        rows, columns = facts.num_rows, facts.num_columns
        if rows * columns > max(MOST_CELLS, PER_BYTE * path.stat().st_size):
            raise DistaffError(
                f"{path} claims {rows:,} rows of {columns:,} columns, more than its bytes should hold."
            )
        parquet.read_table(path).validate(full=True)  # pandas would notice invalid text only on access
        return pd.read_parquet(path)
