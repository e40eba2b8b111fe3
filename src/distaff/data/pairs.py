"""Pairs of observations that share factors: a pair source is one function, from a data set to rows.

Weakly supervised recipes (``ada_gvae`` and its kin) learn from two observations of which some factors are the
same. A source is called with the data set, how many pairs to draw and the random numbers, and returns their
rows (count, 2). ``--pairs`` names one: ``k=1``, ``random``, ``sequence``, ``given``, a file of row numbers
``mine.npy``, or any function of one's own as ``module:function``.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from distaff.data.dataset import Dataset, checked_pairs
from distaff.data.images import IntArray
from distaff.foundation.binding import find_function
from distaff.foundation.errors import DistaffError, whole
from distaff.foundation.files import named_path

PairSource = Callable[[Dataset, int, np.random.Generator], IntArray]
"""(data, count, rng) → (count, 2) rows."""


def random(data: Dataset, count: int, rng: np.random.Generator) -> IntArray:
    """Pairs of which k factors differ, k drawn from 1 … K−1 for each (Locatello et al. 2020a, k = rnd).

    The paper's text is followed; the authors' code takes k = 1 for one half of the pairs beyond that.
    """
    columns = _grid_columns(data, "random")
    return _differing(data, count, rng, rng.integers(1, max(len(columns), 2), count), columns)


def changed(data: Dataset, count: int, rng: np.random.Generator, k: int = 1) -> IntArray:
    """Pairs of which exactly ``k`` factors differ, which ones and how being drawn at random.

    Args:
        data: a grid of factors: its rows enumerate every combination of classes once.
        count: how many pairs.
        rng: the random numbers.
        k: how many factors differ; constant ones do not count.

    >>> from distaff.data import from_array
    >>> cube = from_array(np.zeros((27, 2)), np.indices((3, 3, 3)).reshape(3, -1).T)
    >>> first, second = changed(cube, 100, np.random.default_rng(0), k=2).T
    >>> set((cube.factors[first] != cube.factors[second]).sum(1).tolist())
    {2}
    """
    columns = _grid_columns(data, f"k={k}")
    if not 1 <= k <= len(columns):
        raise DistaffError(
            f"pairs of which {k} factors differ cannot be drawn: {data.name} has {len(columns)} that vary, "
            f"so k is 1 to {len(columns)}."
        )
    return _differing(data, count, rng, np.full(count, k), columns)


def sequence(data: Dataset, count: int, rng: np.random.Generator) -> IntArray:
    """Neighbours: a row and the one after it, as in a film whose frames are in order."""
    if len(data) < 2:
        raise DistaffError(f"{data.name} holds one observation: a sequence needs two or more.")
    first = rng.integers(0, len(data) - 1, count)
    return np.stack([first, first + 1], axis=1)


def given(data: Dataset, count: int, rng: np.random.Generator) -> IntArray:
    """The data set's own pairs (``Dataset.pairs``), drawn with replacement, in either order."""
    if data.pairs is None:
        raise DistaffError(
            f"{data.name} comes without pairs: name a source such as random, k=1, sequence or a file of "
            "row numbers (P, 2), or give pairs to from_array."
        )
    return _drawn(data.pairs, count, rng)


def find_pairs(text: str, data: Dataset) -> PairSource:
    """The source that a text names, tried once on the data, so that what does not fit is said at once.

    Args:
        text: ``k=1``, ``random``, ``sequence``, ``given``, a file ``mine.npy``, or ``module:function``.
        data: what pairs are to be drawn from.
    """
    source = _named(text, data)
    try:
        rows = np.asarray(source(data, 2, np.random.default_rng(0)))
    except DistaffError:
        raise
    except Exception as problem:  # code of one's own may fail in any way
        why = " ".join(str(problem).split()) or type(problem).__name__
        raise DistaffError(
            f"the pairs {text!r} cannot be drawn by calling it with (data, count, rng): {why}."
        ) from problem
    if rows.shape != (2, 2):
        raise DistaffError(
            f"the pairs {text!r} have shape {rows.shape} for 2 pairs: they must be (count, 2)."
        )
    checked_pairs(rows, len(data), f"the pairs {text!r}")
    return source


def unchanged(data: Dataset, pairs: IntArray) -> NDArray[np.bool_]:
    """(count, K) which factors both rows of a pair have the same, where labels say so.

    Args:
        data: rows with known factors.
        pairs: (count, 2) rows.
    """
    if data.factors is None:
        raise DistaffError(
            f"which factors a pair shares is not known, since {data.name} has no factors: use ada_gvae or "
            "ada_ml_vae, which find the shared latents by themselves."
        )
    return np.asarray(data.factors[pairs[:, 0]] == data.factors[pairs[:, 1]])


def _named(text: str, data: Dataset) -> PairSource:
    name, equals, value = text.partition("=")
    if equals and name.strip() == "k":
        if not value.strip().isdigit():
            raise DistaffError(f"pairs {text!r}: k is how many factors differ, such as k=1.")
        return partial(changed, k=int(value))
    if text.endswith(".npy"):
        path = named_path(text)
        if not path.exists():
            raise DistaffError(f"there is no file of pairs {path}.")
        with whole(path, ".npy file of plain numbers"):
            rows = checked_pairs(np.load(path, allow_pickle=False), len(data), f"the pairs in {path}")
        return lambda _, count, rng: _drawn(rows, count, rng)
    return find_function("pair source", text, {s.__name__: s for s in (random, sequence, given)})


def _drawn(pairs: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    rows = pairs[rng.integers(0, len(pairs), count)]
    return np.where(rng.random((count, 1)) < 0.5, rows, rows[:, ::-1])


def _grid_columns(data: Dataset, what: str) -> IntArray:
    """The factors that vary, if the rows are a grid, where partners can be found by arithmetic."""
    if not data.is_grid:
        raise DistaffError(
            f"pairs by {what} need every combination of known factors once and in order, which {data.name} "
            "has not: use --pairs sequence, or a file of row numbers (P, 2) such as --pairs mine.npy."
        )
    return np.flatnonzero(np.array(data.sizes) > 1)


def _differing(
    data: Dataset, count: int, rng: np.random.Generator, k: IntArray, columns: IntArray
) -> IntArray:
    """Rows and partners on a grid that differ in k (count,) of the columns, in each by any other class."""
    sizes = np.array(data.sizes)
    first = rng.integers(0, len(data), count)
    classes = np.stack(np.unravel_index(first, tuple(sizes)), axis=1)
    order = rng.random((count, len(columns))).argsort(axis=1)
    moved = np.zeros_like(classes, dtype=bool)
    moved[:, columns] = order < k[:, None]
    shift = 1 + rng.integers(0, np.maximum(sizes - 1, 1), classes.shape)
    second = np.where(moved, (classes + shift) % sizes, classes)
    return np.stack([first, np.ravel_multi_index(tuple(second.T), tuple(sizes))], axis=1)
