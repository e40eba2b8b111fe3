"""From what users have (arrays, tensors, frames) to what metrics read: ``Codes`` and ``Factors``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from distaff.codes import Codes, as_array
from distaff.errors import DistaffError
from distaff.metrics.options import BinCount, check

IntArray = NDArray[np.int64]
Float64Array = NDArray[np.float64]

_LARGEST_MEAN, _LARGEST_LOGVAR = 1e100, 80.0


@dataclass(frozen=True, eq=False)
class Factors:
    """The K ground-truth factors of N observations; made by ``as_factors``.

    Args:
        values: (N, K) numbers as given; for labels such as strings, the number of the class. NaN is missing.
        indices: (N, K) class numbers from 0, in the order of the values; -1 where missing or real-valued.
        names: one name a factor.
        sizes: the number of classes of each factor; 0 for a real-valued one.
        notes: what a reader of a score should know: rows dropped, factors quantized.
    """

    values: Float64Array
    indices: IntArray
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.values)

    @property
    def missing(self) -> NDArray[np.bool_]:
        """(N,) whether any label of the row is missing."""
        return np.asarray(np.isnan(self.values).any(axis=1))

    @property
    def classes(self) -> IntArray:
        """(N, K) class numbers, for metrics that need classes: an error if a factor is real-valued."""
        if 0 in self.sizes:
            real = [name for name, size in zip(self.names, self.sizes, strict=True) if size == 0]
            raise DistaffError(
                f"this metric needs classes but {_listed(real)} is real-valued: bin it first with "
                "distaff.metrics.quantize_factors(factors, bins=20)."
            )
        return self.indices

    def select(self, rows: Any) -> "Factors":
        """Some observations (a mask, a slice or indices), with classes that no longer occur removed."""
        columns = [
            _column(value, None if size == 0 else index)
            for value, index, size in zip(self.values[rows].T, self.indices[rows].T, self.sizes, strict=True)
        ]
        return _assemble(columns, self.names, self.notes)


CodesLike = Codes | ArrayLike
FactorsLike = Factors | Mapping[str, ArrayLike] | ArrayLike


def as_codes(codes: CodesLike, logvar: ArrayLike | None = None) -> Codes:
    """``Codes`` of a ``Codes``, of an (N, D) array of means, or of means and log-variances."""
    if not isinstance(codes, Codes):
        codes = Codes(as_array(codes), None if logvar is None else as_array(logvar))
    elif logvar is not None:
        codes = replace(codes, logvars=as_array(logvar))
    if not codes.names:
        raise DistaffError("the codes have no latents: give an array (N, D) with D of at least 1.")
    if len(codes) < 2:
        raise DistaffError(f"the codes have {len(codes)} rows: a metric needs at least 2 observations.")
    if max(float(codes.means.max(initial=0)), -float(codes.means.min(initial=0))) > _LARGEST_MEAN:
        raise DistaffError(f"means beyond {_LARGEST_MEAN:g} cannot be squared safely: rescale the latents.")
    if codes.logvars is not None and codes.logvars.max(initial=0) > _LARGEST_LOGVAR:
        raise DistaffError(
            f"a log-variance is {codes.logvars.max():.3g}, a variance beyond any sense: are these logarithms?"
        )
    return codes


def as_factors(values: FactorsLike, names: Sequence[str] | None = None) -> Factors:
    """``Factors`` of an (N, K) array or tensor, a frame (columns name the factors) or a dict of columns.

    Integers, strings, booleans and categories are classes. Floats are classes when all are whole numbers or
    when at most one row in ten holds a new value (such as 40 angles over 20,000 rows); otherwise the factor
    is real-valued, which some metrics take as it is and others refuse. NaN or None is a missing label.
    """
    if isinstance(values, Factors):
        return values if names is None else replace(values, names=_checked_names(names, len(values.names)))
    columns, given = _split(values)
    return _assemble([_parse(column) for column in columns], _checked_names(names or given, len(columns)))


def quantize_factors(
    factors: FactorsLike, bins: int = 20, *, method: Literal["uniform", "quantile"] = "uniform"
) -> Factors:
    """Real-valued factors binned into classes: ``bins`` of equal width, or of equal counts (``quantile``)."""
    check("bins", bins, BinCount)
    check("method", method, Literal["uniform", "quantile"])
    factors = as_factors(factors)
    columns: list[_Column] = []
    for value, index, size in zip(factors.values.T, factors.indices.T, factors.sizes, strict=True):
        if size == 0:
            present = value[~np.isnan(value)]
            levels = np.linspace(0, 1, bins + 1)[1:-1]
            low, high = present.min(), present.max()
            edges = np.quantile(present, levels) if method == "quantile" else low + levels * (high - low)
            index = np.where(np.isnan(value), -1, np.searchsorted(edges, value, side="right"))
        columns.append(_column(value, index.astype(np.int64)))
    real = [name for name, size in zip(factors.names, factors.sizes, strict=True) if size == 0]
    note = (f"{_listed(real)} binned into {bins} classes ({method})",) if real else ()
    return _assemble(columns, factors.names, factors.notes + note)


def labelled(
    codes: CodesLike, factors: FactorsLike, logvar: ArrayLike | None = None
) -> tuple[Codes, Factors]:
    """Codes and factors of the same observations, as every labelled metric reads them.

    Rows with a missing label are dropped (``factors.notes`` says how many); lengths that disagree and factors
    with a single value are errors.
    """
    codes, factors = as_codes(codes, logvar), as_factors(factors)
    if len(codes) != len(factors):
        raise DistaffError(
            f"{len(codes)} rows of codes but {len(factors)} of factors: both must describe the same rows."
        )
    missing = factors.missing
    if missing.any():
        present = ~missing
        if present.sum() < 2:
            raise DistaffError(f"only {present.sum()} rows have all their labels: a metric needs 2 or more.")
        dropped = f"{int((~present).sum())} of {len(present)} rows dropped: a label is missing"
        codes, factors = codes[present], factors.select(present)
        factors = replace(factors, notes=(*factors.notes, dropped))
    constant = [name for name, size in zip(factors.names, factors.sizes, strict=True) if size == 1]
    if constant:
        raise DistaffError(f"{_listed(constant)} has one value only: leave it out, it cannot be scored.")
    return codes, factors


_Column = tuple[Float64Array, IntArray, int]


def _split(values: Any) -> tuple[list[Any], list[str]]:
    """The columns of a frame, mapping or array, with their names."""
    if isinstance(values, pd.Series):
        values = values.to_frame()
    if isinstance(values, pd.DataFrame):
        return [values.iloc[:, k] for k in range(values.shape[1])], [str(name) for name in values.columns]
    if isinstance(values, Mapping):
        columns = [as_array(column) for column in values.values()]
        for name, column in zip(values, columns, strict=True):
            if column.ndim != 1 or len(column) != len(columns[0]):
                raise DistaffError(
                    f"factor {name!r} has shape {column.shape}: factors must be columns of equal length."
                )
        return columns, [str(name) for name in values]
    array = as_array(values)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise DistaffError(f"factors must be a matrix (N, K), not an array of shape {array.shape}.")
    return list(array.T), [f"factor{k}" for k in range(array.shape[1])]


def _parse(column: Any) -> _Column:
    """Values and classes of one column of any type."""
    series = pd.Series(column)
    if isinstance(series.dtype, pd.CategoricalDtype):
        codes = series.cat.remove_unused_categories().cat.codes.to_numpy().astype(np.int64)
        return _column(np.where(codes < 0, np.nan, codes), codes)
    present = series.notna().to_numpy(bool)
    given = series[present]
    kept = given.infer_objects() if given.dtype == object else given
    if pd.api.types.is_complex_dtype(kept.dtype):
        raise DistaffError("factors must be real numbers or labels, not complex numbers.")
    indices = np.full(len(series), -1, dtype=np.int64)
    values = np.full(len(series), np.nan)
    if pd.api.types.is_numeric_dtype(kept.dtype) and not pd.api.types.is_bool_dtype(kept.dtype):
        numbers = kept.to_numpy(np.float64)
        if not np.isfinite(numbers).all():
            raise DistaffError("a factor holds infinite values: remove such rows first.")
        values[present] = numbers
        found, levels = pd.factorize(numbers, sort=True)
        fractions = not np.array_equal(numbers, np.round(numbers))
        if fractions and 10 * len(levels) > len(numbers):
            return _column(values, None)
        indices[present] = found
    else:
        indices[present], _ = pd.factorize(kept.astype(str) if kept.dtype == object else kept, sort=True)
        values[present] = indices[present]
    return _column(values, indices)


def _column(values: Float64Array, indices: IntArray | None) -> _Column:
    """One factor with its classes renumbered without gaps, or real-valued where ``indices`` is None."""
    if indices is None:
        present = values[~np.isnan(values)]
        if len(present) == 0 or (present != present[0]).any():
            return values, np.full(len(values), -1, dtype=np.int64), 0
        indices = np.where(np.isnan(values), -1, 0)
    counts = np.bincount(indices + 1, minlength=1)[1:]
    if (counts == 0).any():
        renumbered = np.concatenate([[-1], np.cumsum(counts > 0) - 1])
        indices = renumbered[indices + 1]
    return values, indices.astype(np.int64), int((counts > 0).sum())


def _assemble(columns: list[_Column], names: tuple[str, ...], notes: tuple[str, ...] = ()) -> Factors:
    values, indices, sizes = zip(*columns, strict=True)
    if len(values[0]) == 0:
        raise DistaffError("the factors have no rows.")
    return Factors(np.stack(values, axis=1), np.stack(indices, axis=1), names, tuple(sizes), notes)


def _checked_names(names: Sequence[str], count: int) -> tuple[str, ...]:
    if count == 0:
        raise DistaffError("there are no factors: give an array (N, K) with K of at least 1.")
    if len(names) != count:
        raise DistaffError(f"{len(names)} names for {count} factors: give one name a factor.")
    if len(set(names)) != count:
        raise DistaffError(f"two factors have the same name among {_listed(names)}: rename one.")
    return tuple(str(name) for name in names)


def _listed(names: Sequence[str]) -> str:
    return "factor " * (len(names) == 1) + ", ".join(repr(str(name)) for name in names)
