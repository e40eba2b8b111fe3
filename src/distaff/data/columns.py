"""The columns of a table: real numbers, counts and classes, learnt once and applied to other rows."""

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
"""Of one column."""


@dataclass(frozen=True)
class Column:
    """One column of a table and what the model sees of it: one number, or one per class.

    Args:
        name: its heading; for arrays its number.
        kind: ``real`` numbers are standardised, counts stay as they are, classes become 0 and 1.
        mean: that is taken off a real number.
        scale: that it is divided by then.
        classes: the values of a column of classes, in the order of the model.
    """

    name: str
    kind: Kind = "real"
    mean: float = 0.0
    scale: float = 1.0
    classes: tuple[Value, ...] = ()

    @property
    def width(self) -> int:
        """How many numbers the model sees of it."""
        return len(self.classes) or 1

    def numbers(self, values: "pd.Series[Any]", where: str) -> FloatArray:
        """(N, width) what the model sees of some values; a missing one is NaN."""
        if self.kind == "classes":
            return self._one_hot(values, where)
        numbers = as_numbers(values, self.name, where)
        if self.kind == "count":
            check_counts(numbers, self.name, where)
        return ((numbers - self.mean) / self.scale)[:, None]

    def values(self, numbers: FloatArray) -> "pd.Series[Any]":
        """The user's values of what the model gives (N, width): the likeliest class of several."""
        if self.kind == "classes":
            return pd.Series(np.array(self.classes, object)[numbers.argmax(1)]).infer_objects()
        return pd.Series(numbers[:, 0].astype(np.float64) * self.scale + self.mean)

    def _one_hot(self, values: "pd.Series[Any]", where: str) -> FloatArray:
        plain = plain_values(values)
        known = {value: place for place, value in enumerate(self.classes)}
        places = np.array([-1 if value is None else known.get(value, -2) for value in plain])
        if (places == -2).any():
            row = int(np.argmax(places == -2))
            raise DistaffError(
                f"column {self.name!r} of {where} holds {plain[row]!r} in row {row}, which training never "
                f"saw: it knows {', '.join(map(str, self.classes))}."
            )
        one_hot = np.zeros((len(places), len(self.classes)))
        one_hot[np.arange(len(places)), places] = 1
        one_hot[places == -1] = np.nan
        return one_hot


def learn_column(name: str, values: "pd.Series[Any]", kind: Kind, standardise: bool, where: str) -> Column:
    """A column as its values ask for it.

    Args:
        name: its heading.
        values: (N,) of the rows to learn from.
        kind: how it is read.
        standardise: whether real numbers are brought to mean 0 and variance 1.
        where: what a message calls the table.
    """
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
    deviation = float(seen.std())
    # A constant column's deviation is rounding, and dividing by it would make noise of it.
    varies = deviation > 10 * np.finfo(np.float64).eps * float(np.abs(seen).max())
    return Column(name, "real", float(seen.mean()), deviation if varies else 1.0)


def as_numbers(values: "pd.Series[Any]", name: str, where: str) -> NDArray[np.float64]:
    """A column as numbers, NaN where nothing is; anything else in it is named with its row."""
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    wrong = np.isnan(numbers) & values.notna().to_numpy()
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DistaffError(
            f"column {name!r} of {where} holds {str(values.iloc[row])!r} in row {row}, which is no number: "
            "correct it, leave the column out, or name it among categorical."
        )
    if np.isinf(numbers).any():
        row = int(np.argmax(np.isinf(numbers)))
        raise DistaffError(f"column {name!r} of {where} is infinite in row {row}: correct it first.")
    return numbers


def check_counts(numbers: NDArray[np.float64], name: str, where: str) -> None:
    """Counts are whole and not negative."""
    seen = numbers[~np.isnan(numbers)]
    wrong = (seen < 0) | (seen != np.floor(seen))
    if wrong.any():
        value = float(seen[np.argmax(wrong)])
        raise DistaffError(
            f"column {name!r} of {where} holds {value:g}, which is no count: leave it out of counts."
        )


def plain_values(values: "pd.Series[Any]") -> list[Value | None]:
    """A column's values as plain ones, None where nothing is."""
    missing = values.isna().to_numpy()
    listed = (v.item() if isinstance(v, np.generic) else v for v in values.tolist())
    return [
        None if gone else (v if isinstance(v, str | int | float | bool) else str(v))
        for v, gone in zip(listed, missing, strict=True)
    ]


def listed(names: Any) -> list[str]:
    """Names that were given as one text or as several."""
    if names is None:
        return []
    return [names] if isinstance(names, str) else [str(name) for name in _sequence(names)]


def _sequence(names: Any) -> Sequence[Any]:
    return names if isinstance(names, list | tuple) else [names]
