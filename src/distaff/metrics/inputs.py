"""Convert what users pass to what metrics read: ``Codes``, and ``Factors`` with their classes numbered.

``frames`` reads codes in frames and dicts, and ``factor_columns`` labels that are not whole numbers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from distaff.codes import MISSING, UNSHARED, Codes
from distaff.foundation.errors import DistaffError, unknown
from distaff.metrics.factor_columns import (
    FEW,
    Column,
    note_of_few_rows,
    numbered,
    parse_column,
    split_columns,
)
from distaff.metrics.frames import check_order, latents_of

IntArray = NDArray[np.int64]
Float64Array = NDArray[np.float64]

_LARGEST_MEAN, _LARGEST_LOGVAR = 1e35, 80.0
"""Some metrics add means in single precision, where larger ones overflow; on some, liblinear never stops."""
_SPAN = 1 << 16
"""Integers within a range of this size are counted, which is much faster than sorting them."""


class RealValued(DistaffError):
    """A metric that needs classes was given real-valued factors."""


@dataclass(frozen=True, eq=False)
class Factors:
    """The K ground-truth factors of N observations; made by ``as_factors``.

    Args:
        values: (N, K) the numbers as given; for labels such as strings, the class number. NaN is missing.
        indices: (N, K) class numbers from 0, in the order of the values; -1 where missing or real-valued.
        names: one name per factor.
        sizes: the number of classes of each factor; 0 for a real-valued one.
        notes: what a reader of a score should know, such as rows dropped or factors quantized.
        nominal: for each factor, whether its classes are names, whose order says nothing.
    """

    values: Float64Array
    indices: IntArray
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    notes: tuple[str, ...] = ()
    nominal: tuple[bool, ...] = ()

    def __len__(self) -> int:
        return len(self.values)

    @property
    def missing(self) -> NDArray[np.bool_]:
        """(N,) whether any label of the row is missing."""
        return np.asarray(np.isnan(self.values).any(axis=1))

    @property
    def classes(self) -> IntArray:
        """(N, K) class numbers, for metrics that need classes; an error if a factor is real-valued."""
        self.refuse_real()
        return self.indices

    def refuse_real(self) -> None:
        """Raise an error that says how to bin, if any factor is real-valued."""
        if 0 in self.sizes:
            real = [name for name, size in zip(self.names, self.sizes, strict=True) if size == 0]
            raise RealValued(
                f"this metric needs classes but {listed(real)} is real-valued: bin it with factor_bins=20 "
                "in evaluate, --factor-bins 20 on the command line, or distaff.metrics.quantize_factors."
            )

    def select(self, rows: Any) -> "Factors":
        """Select observations (by mask, slice or indices), and remove classes that no longer occur."""
        columns = [
            numbered(value[rows], None if size == 0 else index[rows])
            for value, index, size in zip(self.values.T, self.indices.T, self.sizes, strict=True)
        ]
        return replace(assemble(columns, self.names, self.notes), nominal=self.nominal)

    def choose(self, wanted: Sequence[bool] | NDArray[np.bool_], *notes: str) -> "Factors":
        """Select factors by a mask, and add notes."""
        chosen = np.flatnonzero(wanted)
        return Factors(
            self.values[:, chosen],
            self.indices[:, chosen],
            tuple(self.names[k] for k in chosen),
            tuple(self.sizes[k] for k in chosen),
            (*self.notes, *notes),
            tuple(self.nominal[k] for k in chosen if self.nominal),
        )

    def read_as_numbers(self) -> tuple[str, ...]:
        """A note on a score that reads classes as numbers, if the classes of a factor are names."""
        each = zip(self.names, self.sizes, self.nominal, strict=False)
        named = [name for name, size, nominal in each if nominal and size > 2]
        how = "read as 0, 1, … in the order of the names: other names would give another score"
        return (f"{listed(named)} {how}",) if named else ()

    def without_real(self) -> "Factors":
        """The factors that are classes, with a note that names the others; an error if there are none."""
        kept = np.array(self.sizes) > 0
        if not kept.any():
            self.refuse_real()
        real = [name for name, keep in zip(self.names, kept, strict=True) if not keep]
        return self.choose(kept, f"{listed(real)} left out: real-valued, and no bins were asked for")

    def without_constant(self) -> "Factors":
        """The factors of more than one value, with a note that names the others; all if none has more."""
        varies = np.fmax.reduce(self.values) > np.fmin.reduce(self.values)
        if varies.all() or not varies.any():
            return self
        still = [name for name, moves in zip(self.names, varies, strict=True) if not moves]
        return self.choose(varies, f"{listed(still)} left out: fewer than two values")


CodesLike = Codes | Mapping[str, ArrayLike] | ArrayLike
FactorsLike = Factors | Mapping[str, ArrayLike] | ArrayLike


def codes_of(codes: Any, logvar: Any = None) -> Codes:
    """``Codes`` from a ``Codes``, from (N, D) means or a dict of them, or from means and log-variances."""
    if isinstance(codes, Codes):
        return codes if logvar is None else replace(codes, logvars=logvar)
    names: tuple[str, ...] = ()
    if isinstance(codes, str | Path | Mapping) or hasattr(codes, "columns") or hasattr(codes, "obsm"):
        codes, names = latents_of(codes)
    check_index(codes, logvar, "codes and log-variances")
    UNSHARED.add(made := Codes(codes, logvar, latents=names))
    return made


def as_codes(codes: CodesLike, logvar: ArrayLike | None = None) -> Codes:
    """Like ``codes_of``, with the checks of metrics: two rows, a latent, and numbers that can be squared."""
    codes = codes_of(codes, logvar)
    if not codes.names:
        raise DistaffError("the codes have no latents: give an array (N, D) with D of at least 1.")
    if len(codes) < 2:
        raise DistaffError(f"the codes have {len(codes)} rows: a metric needs at least 2 observations.")
    if max(float(codes.means.max(initial=0)), -float(codes.means.min(initial=0))) > _LARGEST_MEAN:
        raise DistaffError(
            f"means beyond {_LARGEST_MEAN:g} overflow where they are added up: rescale the latents."
        )
    if codes.logvars is not None and codes.logvars.max(initial=0) > _LARGEST_LOGVAR:
        raise DistaffError(
            f"a log-variance is {codes.logvars.max():.3g}, which is absurdly large: are these logarithms?"
        )
    return codes


def as_factors(
    values: FactorsLike, names: Sequence[str] | None = None, *, real: bool | Sequence[str] | None = None
) -> Factors:
    """``Factors`` from an (N, K) array, tensor or list of rows, from a frame or from a dict of columns.

    Integers, strings, booleans and categories are classes, in the order of their values; strings that are
    all numbers ("10", "2") are read as numbers, and ordered categories keep their order. Fractional numbers
    are classes if there are at least ten rows per distinct value (such as 40 angles over 20,000 rows);
    otherwise the factor is real-valued, which some metrics accept and others refuse. ``notes``, and so every
    score, says which of the two was assumed; ``real`` overrides the guess. NaN or None is a missing label.

    Args:
        values: the labels.
        names: one name per factor; by default the column names.
        real: names of the real-valued factors (all others are classes), or True or False for all factors.
    """
    if isinstance(values, Factors) and real is None:
        return values if names is None else replace(values, names=_checked_names(names, len(values.names)))
    if isinstance(values, Factors):
        columns, given = list(values.values.T), list(values.names)
    elif type(values) is np.ndarray and values.ndim == 2 and values.dtype.kind in "iu":
        columns, given = list(values.T), [f"factor{k}" for k in range(values.shape[1])]
    else:
        columns, given = split_columns(values)
    known = _checked_names(given if names is None else names, len(columns))
    real = [real] if isinstance(real, str) else real
    if not isinstance(real, bool | None):
        for name in real:
            if name not in known:
                raise unknown("factor", str(name), known)
    decided = [real if isinstance(real, bool | None) else name in real for name in known]
    return assemble((_column(*column) for column in zip(columns, known, decided, strict=True)), known)


def _column(labels: "NDArray[Any] | pd.Series[Any]", name: str, real: bool | None) -> Column:
    """Values and classes of one column; whole numbers are counted, ``parse_column`` reads all others."""
    whole = isinstance(labels.dtype, np.dtype) and labels.dtype.kind in "iu"
    counted = _counted(np.asarray(labels)) if whole and not real else None
    if counted is None:
        return parse_column(pd.Series(labels, copy=False), name, real)
    guessed = real is None and counted.size > FEW
    return counted._replace(note=note_of_few_rows(name, counted.size, len(labels))) if guessed else counted


def _counted(numbers: NDArray[Any]) -> Column | None:
    """The classes of integers, found by counting; None if their range is too large or some may be missing."""
    numbers = np.ascontiguousarray(numbers)  # reading would otherwise stride over the other factors
    if not len(numbers):
        return None
    low, high = numbers.min(), int(numbers.max())
    if high - int(low) >= _SPAN or low == MISSING:
        return None
    unsigned = numbers.dtype.kind == "u"
    indices = (numbers - low if unsigned else numbers).astype(np.int64, copy=False)
    if low and not unsigned:
        indices = indices - int(low)
    # Some of many rows nearly always show that all integers of the range occur.
    there = np.bincount(indices[:: 1 + len(indices) // 4096], minlength=high - int(low) + 1) > 0
    if not there.all():
        there = np.bincount(indices) > 0
    if not there.all():
        indices = (np.cumsum(there) - 1)[indices]
    return Column(numbers, indices, int(there.sum()))


def aligned(codes: CodesLike, factors: FactorsLike) -> tuple[Codes, Factors]:
    """Codes, and the factors of the same observations that can be scored; labels may be missing.

    Different lengths are an error. Factors with a different label in every row (names, dates, row numbers)
    are left out and named in ``factors.notes``; an error if there are no others.
    """
    check_index(codes, factors)
    codes, factors = as_codes(codes), as_factors(factors)
    if len(codes) != len(factors):
        raise DistaffError(
            f"{len(codes)} rows of codes but {len(factors)} of factors: both must describe the same rows."
        )
    unique = np.zeros(len(factors.names), bool)
    for k, (size, index) in enumerate(zip(factors.sizes, factors.indices.T, strict=True)):
        # Nearly always the first rows have more labels than there are classes, and no others are counted.
        if size > FEW and np.count_nonzero(index[: size + 1] >= 0) <= size:
            unique[k] = size == np.count_nonzero(index >= 0)
    if not unique.any():
        return codes, factors
    each = listed([name for name, is_unique in zip(factors.names, unique, strict=True) if is_unique])
    if unique.all():
        raise DistaffError(
            f"{each}: the label differs in every row, so it cannot be scored; if it is a measured number, "
            "say so with distaff.metrics.as_factors(..., real=True), or --real on the command line."
        )
    return codes, factors.choose(~unique, f"{each} left out: the label differs in every row")


def refuse_constant(names: Sequence[str], sizes: Sequence[int]) -> None:
    """Raise an error if a factor has a single class."""
    if constant := [name for name, size in zip(names, sizes, strict=True) if size == 1]:
        raise DistaffError(f"{listed(constant)} has only one value and cannot be scored: leave it out.")


def check_index(codes: Any, other: Any, what: str = "codes and factors") -> None:
    """Frames are paired row by row; raise an error if their indices hold the same rows in another order."""
    given = [codes, *(other.values() if isinstance(other, Mapping) else [other])]
    indices = [one.index for one in given if isinstance(one, pd.DataFrame | pd.Series)]
    if len(indices) > 1:
        check_order(indices, what)


def assemble(columns: Iterable[Column], names: tuple[str, ...], notes: tuple[str, ...] = ()) -> Factors:
    """The factors of some columns; columns are consumed one at a time to save memory."""
    sizes: list[int] = []
    nominal: list[bool] = []
    for column in columns:
        if not len(column.values):
            raise DistaffError("the factors have no rows.")
        if not sizes:
            # Each factor is contiguous in memory, since most metrics read one after the other.
            values = np.empty((len(names), len(column.values)))
            indices = np.empty(values.shape, np.int64)
        values[len(sizes)], indices[len(sizes)] = column.values, column.indices
        sizes.append(column.size)
        nominal.append(column.nominal)
        notes += (column.note,) if column.note else ()
    return Factors(values.T, indices.T, names, tuple(sizes), notes, tuple(nominal))


def _checked_names(names: Sequence[str], count: int) -> tuple[str, ...]:
    if count == 0:
        raise DistaffError("there are no factors: give an array (N, K) with K of at least 1.")
    if len(names) != count:
        raise DistaffError(f"{len(names)} names for {count} factors: give one name per factor.")
    if len(set(names)) != count:
        raise DistaffError(f"two factors have the same name among {listed(names)}: rename one.")
    return tuple(str(name) for name in names)


def listed(names: Sequence[str]) -> str:
    """Factors in a message."""
    return "factor " * (len(names) == 1) + ", ".join(repr(str(name)) for name in names)
