"""Files of other codes of the same rows, such as those of an untrained encoder, to score beside the codes."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError
from distaff.foundation.files import ending
from distaff.foundation.h5ad import read_h5ad
from distaff.foundation.untrusted_files import open_npz
from distaff.metrics.code_sources import TABLES, codes_in, is_file, read_source, read_table
from distaff.metrics.row_names import (
    FACTOR,
    ROWS,
    NamedRows,
    Names,
    in_place,
    match_rows,
    names_of_rows,
    refuse_other_order,
)


@dataclass(frozen=True, eq=False)
class Baseline:
    """A file of other codes of the same rows.

    Args:
        path: the file.
        table: (N, …) a table that names its rows; it also has the codes, unless these are given.
        codes: the codes, if they are not in the table.
        latents: names of the columns that are codes; by default all columns of numbers.
    """

    path: Path
    table: pd.DataFrame | None = None
    codes: Codes | None = None
    latents: str | None = None

    @classmethod
    def read(
        cls, path: Path | str, factors: str | Path | None = None, latents: str | None = None
    ) -> "Baseline":
        """Read a file; ``factors`` and ``latents`` are those given for the main file.

        In a table, columns that hold labels in the main file are not latents here either. Latents selected by
        name in the main file, as columns or as an array, are selected here if all of them exist.
        """
        path = Path(path)
        if path.suffix.lower() == ".h5ad":
            means, cells = read_h5ad(path)
            return cls(path, cells.iloc[:, :0].rename_axis(None), Codes(means))
        if path.suffix.lower() == ".npz" and path.is_file() and latents is not None:
            with open_npz(path) as archive:
                there = latents in archive
            return cls(path, codes=read_source(path, latents=latents if there else None)[0])
        if ending(path) not in TABLES:
            return cls(path, codes=read_source(path)[0])
        table = read_table(path)
        named = [] if factors is None or is_file(factors) else [c.strip() for c in str(factors).split(",")]
        table = table.drop(columns=[column for column in named if column in table])
        there = latents is not None and all(c.strip() in table for c in latents.split(","))
        return cls(path, table, latents=latents if there else None)

    @property
    def name(self) -> str:
        """The name of the baseline in tables of scores."""
        return self.path.stem

    def codes_of(self, rows: NamedRows) -> Codes:
        """The codes of some rows, found by name if the file names its rows as these are, else by position."""
        if self.table is None:
            assert self.codes is not None
            return self.codes
        names = self._names(rows.names)
        found = match_rows(rows.source, rows.names, self.path, names)
        if found is None:
            refuse_other_order(rows.source, rows.table, self.path, self.table)
            in_place(self.path, self.table)
        codes = self.codes
        if codes is None:
            beside = [*self._labels(rows.labels), *([] if found is None else [found.theirs])]
            codes = codes_in(self.path, self.table.drop(columns=beside, errors="ignore"), self.latents)
        if found is None:
            return codes
        places = names[found.theirs].get_indexer(pd.Index(found.wanted))
        if (places < 0).any():
            absent = found.wanted[int((places < 0).argmax())]
            raise DistaffError(
                f"{self.path} lacks {(places < 0).sum()} of the {len(places)} rows of {rows.source}, such as "
                f"{str(absent)!r}: a baseline holds other codes of the same rows."
            )
        return codes[places]

    def _labels(self, names: Sequence[str]) -> list[str]:
        """The columns that hold labels of these names; a warning tells them."""
        assert self.table is not None
        written = [FACTOR.format(name) for name in names]
        found = [b if b in self.table else a for a, b in zip(names, written, strict=True)]
        if there := [column for column in found if column in self.table]:
            listed = ", ".join(there)
            warnings.warn(
                f"{self.path}: not read as codes, since they are the labels: {listed}.", stacklevel=3
            )
        return there

    def _names(self, known: Names) -> Names:
        """What may name the rows; columns of numbers are latents, unless rows are known by their heading."""
        assert self.table is not None
        numbers = {str(c) for c in self.table if pd.api.types.is_numeric_dtype(self.table[c]) and c != ROWS}
        return {
            heading: names
            for heading, names in names_of_rows(self.table).items()
            if heading in known or heading not in numbers
        }
