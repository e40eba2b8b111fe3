"""Reading untrusted parquet files: a small file may unpack to more rows than fit in memory."""

from pathlib import Path

import pandas as pd

from distaff.foundation.errors import DistaffError, whole

MOST_CELLS = 10_000_000
"""Number of values that any parquet file may hold, however small it is."""
PER_BYTE = 2_000
"""Number of values per byte that a larger file may hold: repeated values take almost no space."""


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
