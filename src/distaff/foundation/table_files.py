"""Reading parquet files from anywhere: a small one may stand for more rows than memory holds."""

from pathlib import Path

import pandas as pd

from distaff.foundation.errors import DistaffError, whole

MOST_CELLS = 10_000_000
"""Values that any parquet file may hold, however small it is."""
PER_BYTE = 2_000
"""Values that a larger one may hold per byte: repeated ones take next to nothing."""


def read_parquet(path: Path) -> pd.DataFrame:
    """The table of a parquet file; whatever is wrong with its bytes comes out as one sentence."""
    from pyarrow import parquet  # a tenth of a second, which only tables in such files need

    with whole(path, "parquet file"):
        facts = parquet.read_metadata(path)
        rows, columns = facts.num_rows, facts.num_columns
        if rows * columns > max(MOST_CELLS, PER_BYTE * path.stat().st_size):
            raise DistaffError(
                f"{path} claims {rows:,} rows of {columns:,} columns, more than its bytes should hold."
            )
        parquet.read_table(path).validate(
            full=True
        )  # pandas would find bytes that are no text only when asked
        return pd.read_parquet(path)
