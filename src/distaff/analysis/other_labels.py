"""Labels of a run's observations that lie in a file of their own."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from distaff.data.arrays import with_factors
from distaff.data.dataset import Dataset
from distaff.data.label_tables import rows_named
from distaff.foundation.errors import DistaffError
from distaff.foundation.files import ending
from distaff.foundation.table_files import ways_to_name
from distaff.metrics import as_factors
from distaff.metrics.code_sources import ARRAYS, TABLES, read_labels_file
from distaff.metrics.row_names import in_place, names_of_rows


def with_labels(data: Dataset, file: str | Path, real: Sequence[str] | None = None) -> Dataset:
    """The same observations with the labels of a file as their factors.

    A column that names the observations, such as by their files, pairs them by it: one that it does not name
    has no label. Otherwise rows are paired by their place. Factors named in ``real`` are measured numbers.
    """
    path = Path(file)
    if ending(path) not in (*ARRAYS, *TABLES):
        raise DistaffError(
            f"--factors of a run is a file of labels, one that ends in {', '.join((*ARRAYS, *TABLES))}, not "
            f"{str(file)!r}."
        )
    labels = read_labels_file(path, real)
    if isinstance(labels, pd.DataFrame):
        labels = _in_order(path, labels, data)
    factors = as_factors(labels, real=real)
    if len(factors) != len(data):
        raise DistaffError(
            f"{path} has {len(factors)} rows of labels, and {data.name} {len(data)} observations: give one "
            "for each, in their order or with a column that names them."
        )
    return with_factors(data, list(factors.values.T), factors.names)


def _in_order(path: Path, labels: pd.DataFrame, data: Dataset) -> Any:
    """The labels in the order of the observations, by the column or index that names them, if any does."""
    names = [] if data.row_names is None else [str(name) for name in data.row_names]
    files = {way for name in names for way in ways_to_name(name)[:2]}
    for heading, keys in names_of_rows(labels).items():
        known = {*keys}
        # Numbers without the ending of a file may be alike by chance, if only some of them are.
        if not known.isdisjoint(files) or all(
            not known.isdisjoint(ways_to_name(name)) for name in names or [""]
        ):
            rows = rows_named(list(keys), names, str(path))
            kept = labels.drop(columns=heading, errors="ignore").reset_index(drop=True)
            return kept.reindex(rows).reset_index(drop=True)
    return in_place(path, labels)
