"""``Dataset``: observations, and the factors that generated them if known."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from distaff.data.images import Chosen, Images, Indices, IntArray, Shape, as_rows
from distaff.foundation.errors import DistaffError, unknown

if TYPE_CHECKING:
    from distaff.data.arrangements import Arrangement

Condition = float | Sequence[float] | Callable[[NDArray[Any]], NDArray[np.bool_]]
SAMPLE = 256
"""Number of observations, spread over the set, that represent all of them."""


def called(name: str) -> str:
    """The name of a data set in messages; unnamed data are "the array"."""
    return f"the {name}" if name == "array" else name


def grid(sizes: Sequence[int]) -> IntArray:
    """(N, K) every combination of classes once, with the last factor changing fastest."""
    return np.indices(tuple(sizes)).reshape(len(sizes), -1).T


@dataclass(frozen=True, eq=False)
class Dataset:
    """N observations with K factors of variation.

    Args:
        images: the observations; ``images[indices]`` gives float32 (B, C, H, W) in [0, 1], or vectors (B, D).
        factors: (N, K) integer classes 0 … size-1, or real numbers in columns of size 0; NaN where a label is
            missing. ``None`` if unknown.
        names: one name per factor.
        sizes: the number of classes of each factor; 0 for a real-valued one.
        factor_values: the real value of each class of each factor; ``None`` for the class numbers themselves.
        name: the name used in messages and run folders.
        pairs: (P, 2) rows that belong together, for recipes that learn from pairs; ``None`` if none.
        arrangement: how the observations were derived from the user's data, so that other data can be
            converted alike; ``None`` if they are unchanged.
        row_names: (N,) the name of each observation, such as its file; ``None`` for row numbers.
        class_names: the original texts of the classes of a factor, by factor name; factors given as numbers
            have none.
    """

    images: Images
    factors: NDArray[Any] | None = None
    names: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    factor_values: tuple[NDArray[np.float64], ...] | None = None
    name: str = "data"
    pairs: IntArray | None = None
    arrangement: "Arrangement | None" = None
    row_names: NDArray[np.str_] | None = None
    class_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Let pydantic accept data sets without further validation: their own checks are below."""
        return handler(Any)

    def __post_init__(self) -> None:
        if len(self.images) == 0:
            raise DistaffError(f"{self.name} holds no observations.")
        if self.pairs is not None:
            checked_pairs(self.pairs, len(self), f"the pairs of {self.name}")
        if self.factors is None:
            if self.names or self.sizes or self.factor_values:
                raise DistaffError(f"{self.name} names factors but has no factor array.")
            return
        if self.factors.ndim != 2 or len(self.factors) != len(self.images):
            raise DistaffError(
                f"factors of shape {self.factors.shape} do not fit {len(self.images)} observations:"
                " they must be (N, K)."
            )
        columns = self.factors.shape[1]
        if not len(self.names) == len(self.sizes) == columns:
            raise DistaffError(
                f"{self.name} has {columns} factors but {len(self.names)} names and {len(self.sizes)} sizes."
            )
        if len(set(self.names)) < columns:
            raise DistaffError(f"factor names must differ, not {', '.join(self.names)}.")
        for name, size, column in zip(self.names, self.sizes, self.factors.T, strict=True):
            low, high = np.fmin.reduce(column), np.fmax.reduce(column)
            if size and not np.isnan(low) and not 0 <= low <= high < size:
                raise DistaffError(f"factor {name!r} has {size} classes but holds {low} … {high}.")
        if self.factor_values is not None and self.sizes != tuple(map(len, self.factor_values)):
            raise DistaffError(f"{self.name} needs one value for each class of each factor.")

    def __len__(self) -> int:
        return len(self.images)

    def __repr__(self) -> str:
        factors = ", ".join(
            f"{name} {size or 'real'}" for name, size in zip(self.names, self.sizes, strict=True)
        )
        return f"{self.name}: {len(self):,} × {self.shape}, {factors or 'no factors'}"

    def _repr_html_(self) -> str:
        """The notebook view: a contact sheet, with one row per factor if any are known."""
        from distaff.data.preview import contact_sheet

        return contact_sheet(self)

    @property
    def shape(self) -> Shape:
        """The shape of one observation: (C, H, W), or (D,) for vectors."""
        return self.images.shape

    @property
    def values(self) -> NDArray[np.float64] | None:
        """(N, K) the factors as real values, looked up by class if there are tables; NaN where missing."""
        if self.factors is None or self.factor_values is None:
            return None if self.factors is None else self.factors.astype(np.float64)
        values = self.factors.astype(np.float64)
        for table, column in zip(self.factor_values, values.T, strict=True):
            if len(table):
                known = ~np.isnan(column)
                column[known] = table[column[known].astype(np.int64)]
        return values

    def labels(self, name: str) -> NDArray[Any]:
        """(N,) one factor as it was given: the texts of its classes, or numbers; None or NaN where missing.

        >>> from distaff.data import from_array
        >>> from_array(np.zeros((3, 2)), ["b", "a", "b"], ["kind"]).labels("kind").tolist()
        ['b', 'a', 'b']
        """
        column, values = self.column(name), self.values
        assert values is not None
        if name not in self.class_names:
            return values[:, self.names.index(name)]
        texts = np.array([*self.class_names[name], None], object)  # the last one is for missing labels
        return texts[np.where(np.isnan(column), -1, column).astype(np.int64)]

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """(N, K) which factors of which observations are known."""
        if self.factors is None:
            return np.zeros((len(self), 0), bool)
        return np.asarray(~np.isnan(self.factors))

    @cached_property
    def is_grid(self) -> bool:
        """Whether the rows are every combination of classes once, with the last factor changing fastest."""
        if self.factors is None or 0 in self.sizes or np.prod(self.sizes, dtype=object) != len(self):
            return False
        return bool((self.factors == grid(self.sizes)).all())

    @cached_property
    def cells(self) -> tuple[IntArray, IntArray]:
        """The rows whose classes are all known, sorted by combination, and the combinations' numbers."""
        assert self.factors is not None
        known = np.flatnonzero(self.labelled.all(1))
        numbers = np.ravel_multi_index(tuple(self.factors[known].astype(np.int64).T), self.sizes)
        order = np.argsort(numbers, kind="stable")
        return known[order], numbers[order]

    def sample(
        self, count: int, rng: np.random.Generator, fixed: Mapping[str, float] | None = None
    ) -> IntArray:
        """Draw ``count`` indices uniformly, with replacement, among the rows with the ``fixed`` factors.

        On a grid this is index arithmetic; otherwise the rows are searched.

        Args:
            count: number of indices.
            rng: random number generator.
            fixed: the class of each factor that is held fixed.

        Returns:
            (count,) indices.

        >>> from distaff.data import pinwheel
        >>> data = pinwheel.load()
        >>> rows = data.sample(64, np.random.default_rng(0), fixed={"arm": 1})
        >>> set(data.column("arm")[rows].tolist())
        {1}
        """
        fixed = dict(fixed or {})
        for name in fixed:
            self.column(name)
        if not fixed:
            return rng.integers(0, len(self), count)
        if self.is_grid:
            for name, value in fixed.items():
                size = self.sizes[self.names.index(name)]
                if value not in range(size):
                    raise DistaffError(f"factor {name!r} has classes 0 … {size - 1}, not {value}.")
            classes = tuple(
                np.full(count, fixed[name], np.int64) if name in fixed else rng.integers(0, size, count)
                for name, size in zip(self.names, self.sizes, strict=True)
            )
            return np.ravel_multi_index(classes, self.sizes)
        matching = np.flatnonzero(self.where(fixed))
        if not len(matching):
            raise DistaffError(f"no observation of {self.name} has {fixed}.")
        return rng.choice(matching, count)

    def where(self, combination: Mapping[str, Condition]) -> NDArray[np.bool_]:
        """(N,) mask of observations that meet all conditions: a class, several, or a function of the column.

        >>> from distaff.data import toy_line
        >>> toy_line.load(count=4).where({"point": lambda number: number > 1}).tolist()
        [False, False, True, True]
        """
        matches = np.ones(len(self), bool)
        for name, condition in combination.items():
            column = self.column(name)
            matches &= condition(column) if callable(condition) else np.isin(column, condition)
        return matches

    def column(self, name: str) -> NDArray[Any]:
        """(N,) the classes (or real values) of one factor, by name."""
        if self.factors is None:
            raise DistaffError(f"{self.name} has no factors, so {name!r} cannot be fixed or asked for.")
        if name not in self.names:
            raise unknown("factor", name, self.names)
        return self.factors[:, self.names.index(name)]

    def subset(self, indices: Indices, name: str | None = None) -> "Dataset":
        """The chosen observations as a data set, sharing memory with this one.

        A pair is kept, renumbered, if both of its members are chosen.
        """
        rows = as_rows(indices, len(self))
        return Dataset(
            Chosen(self.images, rows),
            None if self.factors is None else self.factors[rows],
            self.names,
            self.sizes,
            self.factor_values,
            name or self.name,
            None if self.pairs is None else _pairs_among(self.pairs, rows, len(self)),
            arrangement=self.arrangement,
            row_names=None if self.row_names is None else self.row_names[rows],
            class_names=self.class_names,
        )

    @cached_property
    def fingerprint(self) -> str:
        """A SHA-256 of the content: shape, count, factors and a sample of observations."""
        digest = hashlib.sha256(f"{len(self)} {self.shape} {self.names} {self.sizes}".encode())
        if self.factors is not None:
            digest.update(np.ascontiguousarray(self.factors, dtype=np.float64).tobytes())
        digest.update(self._spread.contiguous().numpy().tobytes())
        if self.pairs is not None:
            digest.update(np.ascontiguousarray(self.pairs, dtype=np.int64).tobytes())
        return digest.hexdigest()

    @cached_property
    def is_grey(self) -> bool:
        """Whether there is one channel, with shades between black and white, judged by a sample of images."""
        if len(self.shape) != 3 or self.shape[0] != 1:
            return False
        some = self._spread
        return bool(((some != 0) & (some != 1)).any())

    @property
    def _spread(self) -> Tensor:
        return self.images[np.unique(np.linspace(0, len(self) - 1, SAMPLE).astype(np.int64))]


def _pairs_among(pairs: IntArray, rows: IntArray, size: int) -> IntArray | None:
    """The pairs whose members are both among the rows, renumbered; None if there are none."""
    places = np.full(size, -1)
    places[rows] = np.arange(len(rows))
    found = places[pairs]
    both = found[(found >= 0).all(1)]
    return both if len(both) else None


def checked_pairs(pairs: Any, size: int, what: str) -> IntArray:
    """Return pairs as rows (P, 2), or raise an error if they are not."""
    rows = np.asarray(pairs)
    if rows.ndim != 2 or rows.shape[1] != 2 or not len(rows) or rows.dtype.kind not in "iu":
        raise DistaffError(
            f"{what} must be whole numbers of shape (P, 2), not {rows.dtype} of shape {rows.shape}."
        )
    if rows.min() < 0 or rows.max() >= size:
        wrong = rows.min() if rows.min() < 0 else rows.max()
        raise DistaffError(f"{what} name row {wrong}, but the rows are 0 … {size - 1}.")
    return rows.astype(np.int64)
