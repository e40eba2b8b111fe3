"""Rows of two tables that are paired by what both call them: labels and baselines with codes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from distaff.foundation.errors import DistaffError
from distaff.foundation.table_files import ways_to_name

ROWS = "observation"
"""The name of the column of row identifiers in tables from ``distaff encode``."""
FACTOR = "factor {}"
"""The heading of a factor's labels there, if its own name is that of a latent."""
INDEX = "row name"
"""What messages call the names of rows that have no heading."""
NUMBERED = "numbered"
"""The attribute of a table that was saved with the index 0, 1, …, which names no rows by itself."""
Names = Mapping[str, pd.Index]
"""Heading → what rows are called under it, as texts that are all different."""


@dataclass(frozen=True, eq=False)
class NamedRows:
    """The rows of codes, as other files may name them.

    Args:
        source: what messages call them, such as their file.
        table: (N, …) a table of these rows; its index and columns may name them.
        latents: columns of the table that are codes, which name no rows.
        labels: names of labels of these rows, as ``distaff encode`` calls columns that are no codes.
    """

    source: str
    table: pd.DataFrame
    latents: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def names(self) -> Names:
        """What may name the rows."""
        return {heading: n for heading, n in names_of_rows(self.table).items() if heading not in self.latents}


@dataclass(frozen=True, eq=False)
class Match:
    """How the rows of one table are found in another.

    Args:
        ours: heading of the names in the one table.
        theirs: heading of the names in the other.
        wanted: (N,) the names, in the words of the other table.
    """

    ours: str
    theirs: str
    wanted: Any


def names_of_rows(table: pd.DataFrame) -> dict[str, pd.Index]:
    """What may name the rows of a table, as texts: its index, and columns without fractions or repeats."""
    columns = [c for c in table if table[c].is_unique and not pd.api.types.is_float_dtype(table[c])]
    names = {str(c): pd.Index(table[c].astype(str)) for c in columns}
    unnamed = isinstance(table.index, pd.RangeIndex) or not table.index.is_unique
    return (
        names if unnamed else {str(table.index.name or INDEX): pd.Index(list(map(str, table.index)))} | names
    )


def match_rows(source: str | Path, ours: Names, beside: str | Path, theirs: Names) -> Match | None:
    """The names that two tables have in common; None if they do not name their rows alike.

    Messages call the tables ``source`` and ``beside``.
    """
    both = [(a, b) for a in ours for b in theirs if a == b or _unnamed_texts(a, b, ours[a], theirs[b])]
    for a, b in both:
        if ours[a].isin(theirs[b]).any():
            return Match(a, b, ours[a])
    files = [str(name) for name in ours.get(ROWS, ours.get(INDEX, ()))]
    for b, keys in theirs.items():
        found = [next((w for w in ways_to_name(name) if w in keys), None) for name in files]
        if found and None not in found and len({*found}) == len(found):  # such as the numbers of files
            return Match(ROWS, b, found)
    if same := [a for a, b in both if a == b]:
        raise DistaffError(f"no {same[0]} of {source} is in {beside}: they describe different rows.")
    return None


def in_order(table: pd.DataFrame, names: pd.Index, found: Match) -> pd.DataFrame:
    """The rows that were matched, in the order of the codes, without what names them."""
    kept = table.set_axis(names, axis=0).drop(columns=found.theirs, errors="ignore")
    return kept.reindex(found.wanted).reset_index(drop=True)


def in_place(path: Path, table: Any) -> Any:
    """Rows in the order of the codes, without row numbers; numbers in another order are an error."""
    if not isinstance(table, pd.DataFrame):
        return table
    if _in_another_order(table.index):
        raise DistaffError(
            f"the rows of {path} are numbered in another order (its unnamed column): sort them by these "
            "numbers, or remove the column if the rows are in the order of the codes."
        )
    return table.reset_index(drop=True)


def refuse_other_order(source: str | Path, table: pd.DataFrame, beside: Path, other: pd.DataFrame) -> None:
    """Refuse two tables whose rows cannot be paired by name, but evidently are in different orders.

    They share a column of texts, some of them repeated, in another order; or both were saved with their row
    numbers, which are in order in one of them only.
    """
    for column in (c for c in other if c in table and not pd.api.types.is_numeric_dtype(other[c])):
        ours, theirs = list(map(str, table[column])), list(map(str, other[column]))
        if ours != theirs and sorted(ours) == sorted(theirs):
            raise DistaffError(
                f"{source} and {beside} have the same {column}s in another order, some of them twice: sort "
                "both alike, or give each row a name of its own."
            )
    if len(table) == len(other) and other.attrs.get(NUMBERED) and _in_another_order(table.index):
        raise DistaffError(
            f"the rows of {source} are numbered in another order than those of {beside}: sort them by these "
            "numbers, or remove the numbers from both if their rows already agree."
        )


def _in_another_order(numbers: pd.Index) -> bool:
    """Whether an index holds the row numbers 0, 1, …, but not in this order."""
    counted = list(range(len(numbers)))
    return pd.api.types.is_integer_dtype(numbers) and sorted(numbers) == counted != list(numbers)


def _unnamed_texts(a: str, b: str, ours: pd.Index, theirs: pd.Index) -> bool:
    """Whether one table has names without a heading, and all are texts, which are not alike by chance."""
    return not {INDEX, ROWS}.isdisjoint((a, b)) and not any(name.isdecimal() for name in (*ours, *theirs))
