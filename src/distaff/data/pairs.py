"""Pairs of observations that share factors: a pair source is one function, from a data set to rows.

Weakly supervised recipes (``ada_gvae`` and its kin) learn from two observations that share some factors. A
source is called with the data set, the number of pairs to draw and a random generator, and returns their
rows (count, 2). ``--pairs`` names one: ``k=1``, ``random``, ``sequence``, ``given``, a file of row numbers
``mine.npy``, or your own function as ``module:function``.

A file or a sequence refers to the rows of the whole data set: ``listed`` stores its pairs in the data set
before a part is held out, so that each part keeps the pairs whose members are both in it.
"""

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distaff.data.dataset import Dataset, checked_pairs
from distaff.data.images import IntArray
from distaff.foundation.binding import find_function
from distaff.foundation.errors import DistaffError, foreign, whole
from distaff.foundation.files import ending, named_path

PairSource = Callable[[Dataset, int, np.random.Generator], IntArray]
"""(data, count, rng) → (count, 2) rows."""
TRIED = 256
"""Number of pairs that are drawn to check whether a source fits its data."""
PATIENCE = 500_000
"""Proposed partners per pair before giving up; a source whose first pairs need 1% of this does not fit."""


def random(data: Dataset, count: int, rng: np.random.Generator, patience: int = PATIENCE) -> IntArray:
    """Pairs that differ in k factors, with k drawn from 1 … K−1 for each (Locatello et al. 2020a, k = rnd).

    This follows the text of the paper; in addition, the authors' code uses k = 1 for half of the pairs.
    """
    columns = _varied_classes(data, "random")
    return _differing(data, rng, rng.integers(1, max(len(columns), 2), count), columns, patience)


def changed(
    data: Dataset, count: int, rng: np.random.Generator, k: int = 1, patience: int = PATIENCE
) -> IntArray:
    """Pairs that differ in exactly ``k`` factors; which ones, and how, is random.

    Constant factors do not count. On a grid of all combinations, partners are found by arithmetic; otherwise,
    up to ``patience`` of them per pair are proposed until such a row exists.

    >>> from distaff.data import from_array
    >>> cube = from_array(np.zeros((27, 2)), np.indices((3, 3, 3)).reshape(3, -1).T)
    >>> first, second = changed(cube, 100, np.random.default_rng(0), k=2).T
    >>> set((cube.factors[first] != cube.factors[second]).sum(1).tolist())
    {2}
    """
    columns = _varied_classes(data, f"k={k}")
    if not 1 <= k <= len(columns):
        raise DistaffError(
            f"pairs that differ in {k} factors cannot be drawn: {data.name} has {len(columns)} that vary, "
            f"so k is 1 to {len(columns)}."
        )
    return _differing(data, rng, np.full(count, k), columns, patience)


def sequence(data: Dataset, count: int, rng: np.random.Generator) -> IntArray:
    """Neighbouring rows, the earlier one first, as in a film; ``listed`` determines which ones."""
    pairs = _own(data)
    return pairs[rng.integers(0, len(pairs), count)]


def given(data: Dataset, count: int, rng: np.random.Generator) -> IntArray:
    """The data set's own pairs (``Dataset.pairs``), drawn with replacement, in either order."""
    rows = sequence(data, count, rng)
    return np.where(rng.random((count, 1)) < 0.5, rows, rows[:, ::-1])


def listed(text: str, data: Dataset) -> Dataset:
    """The data set with its pairs replaced by those that a text refers to by row: a file or a sequence."""
    if text == "sequence":
        if len(data) < 2:
            raise DistaffError(f"{data.name} holds one observation: a sequence needs two or more.")
        first = np.arange(len(data) - 1)
        return replace(data, pairs=np.stack([first, first + 1], axis=1))
    if ending(Path(text)) == ".npy":
        path = named_path(text)
        if not path.exists():
            raise DistaffError(f"there is no file of pairs {path}.")
        with whole(path, ".npy file of plain numbers"):
            rows = checked_pairs(np.load(path, allow_pickle=False), len(data), f"the pairs in {path}")
        return replace(data, pairs=rows)
    return data


def find_pairs(text: str, data: Dataset) -> PairSource:
    """The source that a text names; it is tried once on the data, so that errors appear immediately.

    Args:
        text: ``k=1``, ``random``, ``sequence``, ``given``, a file ``mine.npy``, or ``module:function``.
        data: what to draw pairs from: a whole data set, or a part of one returned by ``listed``.
    """
    source = _named(text)
    with foreign(
        lambda why: f"the pairs {text!r} cannot be drawn by calling it with (data, count, rng): {why}."
    ):
        takes = inspect.signature(source).parameters
        hasty: Any = partial(source, **({"patience": PATIENCE // 100} if "patience" in takes else {}))
        rows = np.asarray(hasty(data, TRIED, np.random.default_rng(0)))
    if rows.shape != (TRIED, 2):
        raise DistaffError(
            f"the pairs {text!r} have shape {rows.shape} for {TRIED} pairs: they must be (count, 2)."
        )
    checked_pairs(rows, len(data), f"the pairs {text!r}")
    return source


def unchanged(data: Dataset, pairs: IntArray) -> NDArray[np.bool_]:
    """(count, K) which factors the two rows of a pair share, according to the labels."""
    if data.factors is None:
        raise DistaffError(
            f"which factors a pair shares is not known, since {data.name} has no factors: use ada_gvae or "
            "ada_ml_vae, which find the shared latents by themselves."
        )
    return np.asarray(data.factors[pairs[:, 0]] == data.factors[pairs[:, 1]])


def _named(text: str) -> PairSource:
    name, equals, value = text.partition("=")
    if equals and name.strip() == "k":
        if not value.strip().isdigit():
            raise DistaffError(f"pairs {text!r}: k is how many factors differ, such as k=1.")
        return partial(changed, k=int(value))
    if ending(Path(text)) == ".npy":
        return given
    return find_function("pair source", text, {s.__name__: s for s in (random, sequence, given)})


def _own(data: Dataset) -> IntArray:
    if data.pairs is None:
        raise DistaffError(
            f"{data.name} comes without pairs, or without any whose members are both in it: name a source "
            "such as random, k=1, sequence or a file of row numbers (P, 2), or give pairs to from_array; "
            "where rows are held out, hold out more, or whole groups by --hold-out-by."
        )
    return data.pairs


def _varied_classes(data: Dataset, what: str) -> IntArray:
    """The factors that vary, if all factors are categorical, so that partners can be found by them."""
    if data.factors is None or 0 in data.sizes or math.prod(data.sizes) > np.iinfo(np.int64).max:
        raise DistaffError(
            f"pairs by {what} are drawn by factors, {_why_not(data)}: use --pairs sequence where "
            "neighbouring observations share some, or a file of row numbers (P, 2) such as --pairs mine.npy."
        )
    if data.is_grid:
        return np.flatnonzero(np.array(data.sizes) > 1)
    return np.flatnonzero(np.fmin.reduce(data.factors) < np.fmax.reduce(data.factors))


def _why_not(data: Dataset) -> str:
    """Why no partners can be found by a data set's factors."""
    if data.factors is None:
        return f"of which {data.name} has none"
    real = [name for name, size in zip(data.names, data.sizes, strict=True) if size == 0]
    if real:
        return f"which must be classes, and {', '.join(map(repr, real))} of {data.name} is real-valued"
    return f"of which {data.name} has more combinations than can be numbered"


def _differing(
    data: Dataset, rng: np.random.Generator, k: IntArray, columns: IntArray, patience: int
) -> IntArray:
    """Rows and partners that differ in k (count,) of the columns, each by any other class."""
    if data.is_grid:
        first = rng.integers(0, len(data), len(k))
        moved = _moved(np.stack(np.unravel_index(first, data.sizes), axis=1), data.sizes, rng, k, columns)
        return np.stack([first, np.ravel_multi_index(tuple(moved.T), data.sizes)], axis=1)
    assert data.factors is not None
    rows, cells = data.cells
    pairs, missing = np.empty((len(k), 2), np.int64), np.arange(len(k))
    tried, at_once = 0, 1
    while len(missing):
        if tried > patience or not len(rows):
            raise DistaffError(
                f"{data.name} has too few observations that differ in exactly that many factors: use --pairs "
                "sequence, or a file of row numbers (P, 2) such as --pairs mine.npy."
            )
        places = np.repeat(missing, at_once)
        first = rows[rng.integers(0, len(rows), len(places))]
        moved = _moved(data.factors[first].astype(np.int64), data.sizes, rng, k[places], columns)
        cell = np.ravel_multi_index(tuple(moved.T), data.sizes)
        low, high = (np.searchsorted(cells, cell, side) for side in ("left", "right"))
        there = np.flatnonzero(high > low)
        partners = rows[rng.integers(low[there], high[there])]
        found, chosen = np.unique(places[there], return_index=True)
        pairs[found] = np.stack([first[there[chosen]], partners[chosen]], axis=1)
        missing = np.setdiff1d(missing, found)
        tried, at_once = tried + at_once, min(2 * at_once, 64)
    return pairs


def _moved(
    classes: IntArray, sizes: Sequence[int], rng: np.random.Generator, k: IntArray, columns: IntArray
) -> IntArray:
    """Classes (count, K) with k (count,) of the columns changed, each to any other class."""
    order = rng.random((len(classes), len(columns))).argsort(axis=1)
    changing = np.zeros_like(classes, dtype=bool)
    changing[:, columns] = order < k[:, None]
    shift = 1 + rng.integers(0, np.maximum(np.array(sizes) - 1, 1), classes.shape)
    return np.where(changing, (classes + shift) % sizes, classes)
