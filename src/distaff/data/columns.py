"""The columns of a table: real numbers, counts and classes; fitted once and applied to other rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from distaff.codes import FloatArray
from distaff.foundation.errors import DistaffError

Kind = Literal["real", "count", "classes"]
Value = str | int | float | bool
MOST_CLASSES = 200
"""Maximum number of classes of a column."""
Names = str | Sequence[str] | None


@dataclass(frozen=True)
class Column:
    """One column of a table and its encoding for the model: one number, or one per class.

    Args:
        name: its heading; for arrays, its number.
        kind: ``real`` numbers are standardised, counts are unchanged, classes become 0 and 1.
        mean: the mean that is subtracted from a real number.
        scale: the scale by which it is then divided.
        classes: the values of a categorical column, in the model's order.
    """

    name: str
    kind: Kind = "real"
    mean: float = 0.0
    scale: float = 1.0
    classes: tuple[Value, ...] = ()

    @property
    def width(self) -> int:
        """The number of values that the model sees of it."""
        return len(self.classes) or 1

    def numbers(self, values: "pd.Series[Any]", where: str) -> FloatArray:
        """(N, width) the encoding of some values; NaN if missing."""
        if self.kind == "classes":
            return self._one_hot(values, where)
        numbers = as_numbers(values, self.name, where)
        if self.kind == "count":
            check_counts(numbers, self.name, where)
        return ((numbers - self.mean) / self.scale)[:, None]

    def values(self, numbers: FloatArray) -> "pd.Series[Any]":
        """The user's values for the model's output (N, width); for classes, the most likely one."""
        if self.kind == "classes":
            likeliest = np.array(self.classes, object)[numbers.argmax(1)]
            likeliest[np.isnan(numbers).any(axis=1)] = None
            return pd.Series(likeliest).infer_objects()
        return pd.Series(numbers[:, 0].astype(np.float64) * self.scale + self.mean)

    def _one_hot(self, values: "pd.Series[Any]", where: str) -> FloatArray:
        plain = plain_values(values)
        known = {value: place for place, value in enumerate(self.classes)}
        # A column of 1, 2 and "x" was texts; rows without the "x" are read as numbers.
        texts = {_text(value): place for place, value in enumerate(self.classes)}
        places = np.array(
            [-1 if v is None else known[v] if v in known else texts.get(_text(v), -2) for v in plain]
        )
        if (places == -2).any():
            row = int(np.argmax(places == -2))
            raise DistaffError(
                f"column {self.name!r} of {where} holds {plain[row]!r} in row {row}, which was not "
                f"in training: the known values are {', '.join(map(str, self.classes))}."
            )
        one_hot = np.zeros((len(places), len(self.classes)))
        one_hot[np.arange(len(places)), places] = 1
        one_hot[places == -1] = np.nan
        return one_hot


def learn_column(name: str, values: "pd.Series[Any]", kind: Kind, standardise: bool, where: str) -> Column:
    """Fit a column to its values."""
    if kind == "classes":
        known = {value for value in plain_values(values) if value is not None}
        if len(known) > MOST_CLASSES:
            raise DistaffError(
                f"column {name!r} of {where} holds {len(known):,} different values, too many for classes: "
                "turn it into numbers, name it among factors, or name those to train on among columns."
            )
        if not known:
            raise DistaffError(f"column {name!r} of {where} is empty: leave it out.")
        return Column(name, kind, classes=tuple(sorted(known, key=lambda value: (str(type(value)), value))))
    numbers = as_numbers(values, name, where)
    seen = numbers[~np.isnan(numbers)]
    if not len(seen):
        raise DistaffError(f"column {name!r} of {where} is empty: leave it out.")
    if kind == "count":
        check_counts(numbers, name, where)
        return Column(name, kind)
    if not standardise:
        return Column(name)
    with np.errstate(over="ignore"):
        deviation = float(seen.std())
    if not np.isfinite(deviation):
        raise DistaffError(
            f"column {name!r} of {where} holds numbers up to {np.abs(seen).max():g}, too large to be "
            "standardised: rescale them, or leave those cells empty that stand for missing numbers."
        )
    # The deviation of a constant column is rounding error; dividing by it would produce noise.
    varies = deviation > 10 * np.finfo(np.float64).eps * float(np.abs(seen).max())
    return Column(name, "real", float(seen.mean()), deviation if varies else 1.0)


def as_numbers(values: "pd.Series[Any]", name: str, where: str) -> NDArray[np.float64]:
    """A column as numbers, NaN where empty; an error names any other value and its row."""
    if pd.api.types.is_complex_dtype(values):
        raise DistaffError(
            f"column {name!r} of {where} holds complex numbers: make two columns of it, such as of real and "
            "imaginary parts."
        )
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    wrong = np.isnan(numbers) & values.notna().to_numpy()
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DistaffError(
            f"column {name!r} of {where} holds {str(values.iloc[row])!r} in row {row}, which is not a "
            "number: correct it, leave the column out, or name it among categorical."
        )
    if np.isinf(numbers).any():
        row = int(np.argmax(np.isinf(numbers)))
        raise DistaffError(f"column {name!r} of {where} is infinite in row {row}: correct it first.")
    return numbers


def refuse_lists(values: "pd.Series[Any]", name: str, where: str) -> None:
    """Raise an error if a cell holds several values, such as a list."""
    if values.dtype != object:
        return
    for row, value in enumerate(values):
        if isinstance(value, list | tuple | dict | set | np.ndarray):
            raise DistaffError(
                f"column {name!r} of {where} holds a {type(value).__name__} in row {row}, where a number or "
                "a text belongs: make a column of each of its values, or leave the column out."
            )


def check_counts(numbers: NDArray[np.float64], name: str, where: str) -> None:
    """Raise an error unless all counts are non-negative integers."""
    seen = numbers[~np.isnan(numbers)]
    wrong = (seen < 0) | (seen != np.floor(seen))
    if wrong.any():
        value = float(seen[np.argmax(wrong)])
        raise DistaffError(
            f"column {name!r} of {where} holds {value:g}, which is not a count: leave it out of counts."
        )


def plain_values(values: "pd.Series[Any]") -> list[Value | None]:
    """The values of a column as plain Python values, None where empty."""
    missing = values.isna().to_numpy()
    listed = (v.item() if isinstance(v, np.generic) else v for v in values.tolist())
    return [
        None if gone else (v if isinstance(v, str | int | float | bool) else str(v))
        for v, gone in zip(listed, missing, strict=True)
    ]


def _text(value: Value) -> str:
    """A class as it is written in a file: beside a missing cell, 2 is read as 2.0."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def listed(names: Any) -> list[str]:
    """Names that were given as one text or as several."""
    if names is None:
        return []
    return [names] if isinstance(names, str) else [str(name) for name in _sequence(names)]


def _sequence(names: Any) -> Sequence[Any]:
    return names if isinstance(names, list | tuple) else [names]
