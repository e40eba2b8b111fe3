"""``Codes``: the output of an encoder for a data set, as plain arrays from any framework.

``remember`` keeps what was computed from codes, for metrics that share it. ``as_array`` and ``known_labels``
read arrays and labels from outside, for data sets and metrics alike.
"""

import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from distaff.foundation.errors import DistaffError
from distaff.foundation.snippets import Bar, Cell, snippet

FloatArray = NDArray[np.floating[Any]]
Computed = TypeVar("Computed")
MISSING = -1
"""A number that, like NaN, may mark an unknown class."""
_FLOATS = ("float16", "float32", "float64")
"""The floats of torch that numpy has too; the others, such as bfloat16, are smaller than float32."""
_OF_A_LIBRARY = 2
"""What numpy calls types that a library adds to its own, such as the small floats of JAX."""
_PIECE = 1 << 20
"""Bytes to hash at a time."""


def as_array(values: Any) -> NDArray[Any]:
    """Convert a numpy array, a torch tensor, a scipy sparse matrix, a frame or nested lists to a numpy array.

    Masked values become NaN (None among labels that are not numbers).
    """
    try:
        if hasattr(values, "detach"):
            values = values.detach().to_dense().cpu()
            if values.is_floating_point() and str(values.dtype).removeprefix("torch.") not in _FLOATS:
                values = values.float()
        if hasattr(values, "tocsr"):
            return np.asarray(values.toarray())
        if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
            number = np.issubdtype(values.dtype, np.number)
            seen = np.array(values.data, np.float64 if number else object)
            seen[np.ma.getmaskarray(values)] = np.nan if number else None
            return seen
        array = np.asarray(values)
        return array.astype(np.float32) if array.dtype.isbuiltin == _OF_A_LIBRARY else array
    except (ValueError, TypeError, RuntimeError) as error:
        uneven = "inhomogeneous" in str(error)
        reason = "its parts are of different shapes" if uneven else str(error).splitlines()[0].rstrip(".")
        raise DistaffError(f"a {type(values).__name__} cannot be read as an array: {reason}.") from error


def as_frame(values: Any) -> Any:
    """A table of another library, such as polars or Arrow, as a frame of pandas; anything else as it is."""
    return values.to_pandas() if hasattr(values, "to_pandas") and hasattr(values, "columns") else values


def known_labels(column: NDArray[Any]) -> NDArray[np.bool_]:
    """(N,) mask of known labels: NaN is missing, and so is −1 next to at least two classes from 0 on.

    >>> known_labels(np.array([0, 1, -1, 2])).tolist()
    [True, True, False, True]
    >>> known_labels(np.array([-1, 1, -1])).tolist()  # two classes, one of which is −1
    [True, True, True]
    """
    known = ~np.isnan(column)
    stands_for_none = column == MISSING
    if not stands_for_none.any():
        return np.asarray(known)
    others = np.unique(column[known & ~stands_for_none])
    classes = len(others) > 1 and others[0] >= 0 and bool((others == np.floor(others)).all())
    return np.asarray(known & ~stands_for_none if classes else known)


@dataclass(frozen=True, eq=False)
class Codes:
    """The posteriors q(z|x) of N observations: Gaussian latents, and optionally categorical ones.

    Args:
        means: (N, D) means of the Gaussian latents; D may be 0 if there are categorical latents.
        logvars: (N, D) their log-variances; ``-inf`` is a deterministic latent. ``None`` if unknown.
        categories: name → (N, k) class probabilities of one categorical latent.
        latents: D names of the Gaussian latents; ``z0`` … by default.
    """

    means: FloatArray
    logvars: FloatArray | None = None
    categories: Mapping[str, FloatArray] = field(default_factory=dict)
    latents: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        given, logvars = as_frame(self.means), as_frame(self.logvars)
        _refuse_other_columns(self.latents or _columns(given), _columns(logvars))
        means = _matrix("means", given, names=self.latents)
        object.__setattr__(self, "means", means)
        if logvars is not None:
            logvars = _matrix("log-variances", logvars, minus_infinity=True, names=self.latents)
            if logvars.shape != means.shape:
                raise DistaffError(
                    f"log-variances have shape {logvars.shape} but means {means.shape}: they must agree."
                )
            object.__setattr__(self, "logvars", logvars)
        if not isinstance(self.categories, Mapping):
            raise DistaffError(
                f"categories are class probabilities by name, not a {type(self.categories).__name__}: give a "
                'dict such as {"shape": probabilities}.'
            )
        groups = {name: _probabilities(name, p, len(means)) for name, p in self.categories.items()}
        object.__setattr__(self, "categories", groups)
        if self.latents and len(self.latents) != means.shape[1]:
            raise DistaffError(
                f"{len(self.latents)} names for {means.shape[1]} latents: give each its own name."
            )
        if (self.latents or groups) and len(set(names := self.names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise DistaffError(f"two latents are called {twice!r}: give each its own name.")

    def __len__(self) -> int:
        return len(self.means)

    def _repr_html_(self) -> str:
        """The notebook view: each latent's spread, and its information in nats if known."""
        about = f"{len(self):,} observations, {len(self.names)} latents"
        named = zip(self.names, self.means.T, strict=False)
        spread = [(name, float(column.mean()), float(column.std())) for name, column in named if len(self)]
        rows: list[tuple[Cell, ...]]
        if self.logvars is None or np.isneginf(self.logvars).any():
            widest = max((deviation for *_, deviation in spread), default=0.0)
            headers = ["latent", "mean", "standard deviation"]
            rows = [(name, mean, Bar(deviation, widest)) for name, mean, deviation in spread]
        else:
            kl = 0.5 * (np.exp(self.logvars) + self.means**2 - 1 - self.logvars).mean(0)
            headers = ["latent", "mean", "standard deviation", "KL to N(0, 1), nats"]
            rows = [
                (*one, Bar(float(value), float(kl.max()))) for one, value in zip(spread, kl, strict=False)
            ]
        rows += [(name, "", f"{p.shape[1]} classes") for name, p in self.categories.items()]
        return snippet("Codes", about, headers=headers, rows=rows)

    def __getitem__(self, rows: Any) -> "Codes":
        """The codes of some observations, selected by a slice, a mask or an index array over rows."""
        return Codes(
            self.means[rows],
            None if self.logvars is None else self.logvars[rows],
            {name: probabilities[rows] for name, probabilities in self.categories.items()},
            self.latents,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """One name per latent: first the Gaussian, then the categorical ones."""
        return (*(self.latents or (f"z{d}" for d in range(self.means.shape[1]))), *self.categories)


def _columns(table: Any) -> tuple[str, ...]:
    """The names of the columns of a frame; none for other arrays."""
    return tuple(map(str, getattr(table, "columns", ())))


def _refuse_other_columns(means: Sequence[str], logvars: Sequence[str]) -> None:
    """Latents are paired by position; raise an error if both call them alike, in another order."""
    if means != logvars and sorted(means) == sorted(logvars):
        raise DistaffError(
            f"the columns of the log-variances are those of the means in another order ({', '.join(logvars)} "
            f"and not {', '.join(means)}): put them in the same order."
        )


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _matrix(what: str, values: Any, minus_infinity: bool = False, names: Sequence[str] = ()) -> FloatArray:
    array = as_array(values)
    if array.ndim != 2:
        alone = "None" if values is None else f"a {type(values).__name__}"
        given = f"an array of shape {array.shape}" if array.ndim else alone
        raise DistaffError(f"{what} must be a matrix (N, D), not {given}.")
    if array.dtype == object:  # for frames with mixed or nullable columns
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            place, value = next(
                (i, v) for i, values in enumerate(array.T) for v in values if not _is_number(v)
            )
            column = repr(names[place]) if names else str(place)
            raise DistaffError(
                f"{what} must be real numbers, and column {column} holds {value!r}: leave it out."
            ) from None
    if array.dtype == bool:  # for example, whether each feature of a sparse auto-encoder is active
        array = array.astype(np.float32)
    if not np.issubdtype(array.dtype, np.number) or np.iscomplexobj(array):
        raise DistaffError(f"{what} must be real numbers, not {array.dtype}.")
    if not np.issubdtype(array.dtype, np.floating) or array.dtype.itemsize not in (4, 8):
        array = array.astype(np.float32 if array.dtype.itemsize < 4 else np.float64)
    if not (array.flags.writeable and array.dtype.isnative and min(array.strides) >= 0):
        array = array.astype(array.dtype.newbyteorder("="))  # torch cannot share memory with such an array
    finite = np.isfinite(array)
    if minus_infinity:
        finite |= np.isneginf(array)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise DistaffError(
            f"{what} hold {array[row, column]} at row {row}, column {column}: remove such rows first."
        )
    return array


def _probabilities(name: str, values: Any, count: int) -> FloatArray:
    array = _matrix(f"probabilities of {name!r}", values)
    if len(array) != count:
        raise DistaffError(f"probabilities of {name!r} have {len(array)} rows but the means {count}.")
    if array.shape[1] < 2 or array.min(initial=0) < -1e-6 or np.abs(array.sum(1) - 1).max(initial=0) > 1e-3:
        raise DistaffError(
            f"each row of {name!r} must hold the probabilities of two or more classes and sum to 1."
        )
    return array.clip(min=0) if array.min(initial=0) < 0 else array  # such as the rounding of 1 − p


UNSHARED: weakref.WeakSet[Codes] = weakref.WeakSet()
"""Codes that a call has made of its caller's arrays: nobody else has them, so they stay as they are."""

_memory: weakref.WeakKeyDictionary[Codes, tuple[Hashable, dict[Hashable, Any]]] = weakref.WeakKeyDictionary()


def remember(codes: Codes, key: Hashable, compute: Callable[[], Computed]) -> Computed:
    """``compute()``, or its cached result for the same codes with the same contents and the same key.

    Several metrics read the same densities, which take most of their time. The contents are identified by
    their digest, unless a call has made them itself: arrays changed in place are recomputed and their old
    results dropped.
    """
    contents: Hashable = ()
    if codes not in UNSHARED:
        contents = digest(codes.means, codes.logvars, *codes.categories.values())
    known, kept = _memory.get(codes, (None, {}))
    if known != contents:
        kept = {}
        _memory[codes] = contents, kept
    if key not in kept:
        kept[key] = compute()
    result: Computed = kept[key]
    return result


def digest(*arrays: NDArray[Any] | None) -> Hashable:
    """The types, shapes and memory orders of the arrays, and Python's 64-bit hash of each megabyte of them.

    It takes half the time of SHA-256, which would dominate the time of metrics that only count. It need not
    resist deliberate collisions, since the arrays come from the same process.
    """
    return tuple(None if array is None else _contents(array) for array in arrays)


def _contents(array: NDArray[Any]) -> Hashable:
    turned = array.flags.f_contiguous and not array.flags.c_contiguous
    flat = np.ascontiguousarray(array.T if turned else array).reshape(-1).view(np.uint8)
    pieces = tuple(hash(flat[at : at + _PIECE].tobytes()) for at in range(0, len(flat), _PIECE))
    return str(array.dtype), array.shape, turned, pieces
