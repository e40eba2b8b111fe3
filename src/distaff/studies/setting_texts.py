"""Settings on the page of a study: scheduled weights in short, as ``→ 3``, wherever that is clear."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from distaff.figures.html import Cell, Short
from distaff.objectives.schedules import weight_text

Setting = tuple[Any, ...]
"""The values of a setting's columns; None where it has none."""


class SettingTexts:
    """The cells of a study's settings.

    A schedule is written as the value that it ends with; its full text shows if the pointer rests on it.
    Settings that would look alike in this form have the full texts in the columns in which they differ.

    Args:
        table: one row per run, with the columns ``names`` and ``steps``.
        names: the columns that tell settings apart.
    """

    def __init__(self, table: pd.DataFrame, names: Sequence[str]) -> None:
        self.names = tuple(names)
        needed = table[list(dict.fromkeys([*names, "steps"]))].drop_duplicates()
        steps = {self._setting(row): int(row["steps"]) for row in needed.to_dict("records")}
        alike: dict[Setting, list[Setting]] = {}
        for setting in steps:
            alike.setdefault(tuple(_short(value, steps[setting]) for value in setting), []).append(setting)
        self._cells = {
            setting: tuple(
                _cell(value, short if len(set(values)) == 1 else None)
                for value, short, values in zip(setting, shorts, zip(*group, strict=True), strict=True)
            )
            for shorts, group in alike.items()
            for setting in group
        }

    def cells(self, row: Mapping[Any, Any]) -> tuple[Cell, ...]:
        """The cells of a row of the table, or of another with the same columns."""
        return self._cells[self._setting(row)]

    def sentence(self, row: Mapping[Any, Any]) -> Cell:
        """A setting in words, as in ``beta_vae, beta → 3``; columns without a value are left out."""
        said = [pair for pair in zip(self.names, self.cells(row), strict=True) if pair[1] is not None]
        short = ", ".join(_words(name, cell.text if isinstance(cell, Short) else cell) for name, cell in said)
        full = ", ".join(_words(name, cell.full if isinstance(cell, Short) else cell) for name, cell in said)
        return short if short == full else Short(short, full)

    def _setting(self, row: Mapping[Any, Any]) -> Setting:
        return tuple(None if pd.isna(row[name]) else row[name] for name in self.names)


def _short(value: Any, steps: int) -> Any:
    """A schedule by the value it ends with; any other value unchanged."""
    return weight_text(value, steps) if isinstance(value, str) and ":" in value else value


def _cell(value: Any, short: Any) -> Cell:
    """The cell of a value: in short, if that is another text and clear."""
    plain: Cell = value.item() if hasattr(value, "item") else value
    return Short(short, str(plain)) if short is not None and short != value else plain


def _words(name: str, value: Cell) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if name == "recipe" else f"{name} {text}"
