"""How a run's observations were derived from the user's data, so that new data can be converted alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from distaff.codes import FloatArray
from distaff.data.columns import Column
from distaff.data.dataset import Dataset
from distaff.data.images import UNREADABLE, FloatImages, Scaled
from distaff.data.signals import Signals
from distaff.foundation.errors import DistaffError, foreign


@dataclass(frozen=True)
class Table:
    """Rows of a table as vectors: real columns first, then counts, then each categorical column.

    Args:
        columns: the description of each column, in that order.
        named: whether columns have headings; columns of arrays are numbered.
        missing: whether values may be missing.
        matrix: the matrix of an ``.h5ad`` file that the rows come from, if not ``X``.
    """

    columns: tuple[Column, ...]
    named: bool
    missing: bool = False
    matrix: str | None = None

    @classmethod
    def of(cls, columns: Sequence[Column], frame: pd.DataFrame) -> "Table":
        """Describe the rows of ``frame``, with columns in the model's order."""
        order = sorted(columns, key=lambda column: ("real", "count", "classes").index(column.kind))
        missing = bool(frame[[column.name for column in order]].isna().to_numpy().any())
        return cls(tuple(order), not _numbered(frame), missing)

    @property
    def headings(self) -> list[str]:
        """The name of each number that the model sees: ``price``, ``kind = new``."""
        return [
            heading
            for column in self.columns
            for heading in ([f"{column.name} = {value}" for value in column.classes] or [column.name])
        ]

    @property
    def likelihood(self) -> str:
        """The likelihood that suits the columns, by its name in ``distaff.models.likelihoods``."""
        kinds = [column.kind for column in self.columns]
        if not self.missing and set(kinds) == {"real"}:
            return "unit_gaussian"
        classes = "+".join(str(column.width) for column in self.columns if column.kind == "classes")
        parts = {"real": kinds.count("real"), "counts": kinds.count("count"), "classes": classes}
        parts["missing"] = str(self.missing).lower() if self.missing else ""
        return "by_column:" + ",".join(f"{name}={value}" for name, value in parts.items() if value)

    def dataset(self, frame: Any, name: str = "table", where: str = "the table") -> Dataset:
        """Convert the rows of a data frame, or of an array without headings, to what the model sees."""
        table = pd.DataFrame(frame).rename(columns=str)
        if not self.named and len(table.columns) == len(self.columns):
            table.columns = pd.Index([str(number) for number in range(len(table.columns))])
        lacking = [column.name for column in self.columns if column.name not in table.columns]
        if lacking:
            raise DistaffError(f"{where} lacks the column {lacking[0]!r} that the model was trained on.")
        parts = [column.numbers(table[column.name], where) for column in self.columns]
        values = np.concatenate(parts, axis=1).astype(np.float32)
        if not self.missing and np.isnan(values).any():
            row, place = np.argwhere(np.isnan(values))[0]
            raise DistaffError(
                f"row {row} of {where} lacks a value of {self._owner(int(place))!r}, and the model was "
                "trained on rows that lack none: fill it in first."
            )
        return Dataset(FloatImages(values), name=name, arrangement=self)

    def back(self, observations: FloatArray) -> Any:
        """Convert the model's observations to the user's columns and units: a data frame, or an array."""
        ends = np.cumsum([column.width for column in self.columns])
        parts = np.split(observations, ends[:-1], axis=1)
        columns = {c.name: c.values(part) for c, part in zip(self.columns, parts, strict=True)}
        frame = pd.DataFrame(columns)
        if self.named:
            return frame
        order = sorted((column.name for column in self.columns), key=int)
        return frame[order].to_numpy()

    def plain(self) -> dict[str, Any]:
        """The form stored in ``run.yaml``: one line per column."""
        told = {column.name: _told(column) for column in self.columns}
        which = {} if self.matrix is None else {"matrix": self.matrix}
        return {"columns": told, "named": self.named, "missing": self.missing, **which}

    def _owner(self, place: int) -> str:
        ends = np.cumsum([column.width for column in self.columns])
        return self.columns[int(np.searchsorted(ends, place, side="right"))].name


def _numbered(frame: pd.DataFrame) -> bool:
    return list(frame.columns) == [str(number) for number in range(len(frame.columns))]


def _told(column: Column) -> str | list[Any]:
    if column.kind == "classes":
        return list(column.classes)
    return "count" if column.kind == "count" else f"real {column.mean!r} {column.scale!r}"


def _column(name: str, told: Any) -> Column:
    if isinstance(told, list):
        return Column(name, "classes", classes=tuple(told))
    kind, *numbers = str(told).split()
    if kind == "count":
        return Column(name, "count")
    mean, scale = map(float, numbers)
    return Column(name, "real", mean, scale)


Arrangement = Table | Scaled | Signals
"""How a run's observations were derived from the user's data."""


def read_arrangement(plain: Any) -> Arrangement | None:
    """Parse the arrangement that ``plain`` values describe; None if there is none."""
    if plain is None:
        return None
    with foreign(UNREADABLE.format):
        if "columns" in plain:
            columns = tuple(_column(str(name), told) for name, told in plain["columns"].items())
            matrix = None if plain.get("matrix") is None else str(plain["matrix"])
            return Table(columns, bool(plain["named"]), bool(plain["missing"]), matrix)
        if "signals" in plain:
            mean, scale = (tuple(map(float, plain[name])) for name in ("mean", "scale"))
            return Signals(tuple(map(int, plain["signals"])), mean, scale, bool(plain["flat"]))
        return Scaled.read(plain)
