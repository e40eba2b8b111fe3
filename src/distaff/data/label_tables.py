"""Labels of observations: classes numbered in order, real numbers unchanged."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from distaff.foundation.errors import DistaffError
from distaff.foundation.table_files import ways_to_name


def rows_named(keys: Sequence[str], names: Sequence[str], where: str) -> list[int]:
    """The row of a table that names each observation, by its whole name or by that of its file alone.

    Tables often leave out the ending of a file, and readers of tables the zeros before a number.

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
