"""The FactorVAE score: which latent varies least when a factor is held fixed.

Z-diff, IRS and others draw or compare observations that share a factor in the same way, by ``Groups``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from distaff.codes import Codes, FloatArray
from distaff.foundation.errors import DistaffError
from distaff.metrics.active_latents import (
    THRESHOLDS,
    Prune,
    active_latents,
    gini_variance,
    pruning,
)
from distaff.metrics.inputs import Factors, Float64Array, IntArray
from distaff.metrics.metric import metric
from distaff.metrics.options import Count, NotNegative
from distaff.metrics.pieces import BUDGET, blocks
from distaff.metrics.result import Result

_LINE, _CACHED = 16, 1 << 16
"""Number of latents read together, and number of values processed together."""
_FAINT = 1e-240
"""Variances below this lose digits in double precision."""


@dataclass(frozen=True)
class Voting:
    """How votes are taken, and which latents take part.

    Args:
        votes: number of votes that train the classifier.
        size: number of observations per vote.
        fresh: number of further votes that test it; 0 tests it on the training votes.
        prune: which latents may vote, see ``distaff.metrics.active_latents.active_latents``.
        threshold: threshold of the pruning.
    """

    votes: Count
    size: Annotated[int, Ge(2)]
    fresh: Annotated[int, Ge(0)]
    prune: Prune = "auto"
    threshold: NotNegative | None = None


def idle_threshold(settings: Voting, codes: Codes) -> tuple[str, ...]:
    """The threshold, if it equals the one that the pruning uses by default."""
    usual = THRESHOLDS.get(pruning(codes, settings.prune), settings.threshold)
    return ("threshold",) if settings.threshold == usual else ()


@metric(
    paper="Kim & Mnih 2018",
    protocols={
        "kim18": Voting(votes=800, size=100, fresh=0),
        "locatello19": Voting(votes=10_000, size=64, fresh=5_000, prune="means"),
    },
    bounds=(0, 1),
    by_factor="within",
    posterior="used if given",
    idle=idle_threshold,
    says="both",
    widest={"locatello19": (4096, "takes 15,000 variances of all latents")},
)
def factor_vae_score(codes: Codes, factors: Factors, settings: Voting, seed: int) -> Result:
    """Accuracy of guessing the fixed factor from the latent that varies least.

    A vote fixes a random factor k at a random value, draws ``size`` observations, divides the variance of
    each latent by its variance over all data (Gini's variance for categorical latents) and takes the argmin
    j. The majority vote C(j) = argmax_k V_jk then guesses k (Kim & Mnih 2018, §4 and App. B). Noise scores
    about 1/K on fresh votes, and more on the training votes: 0.26 for D = 10, K = 5 in "kim18". Without any
    active latent the score is 0.

    Args:
        codes: (N, D) means, or ``Codes``; with log-variances, latents collapsed to their prior do not vote.
        protocol: ``"kim18"`` (800 votes of 100 observations, tested on the same votes) or ``"locatello19"``
            (10,000 votes of 64, tested on 5,000 fresh ones; latents whose means have a standard deviation
            below 0.05 do not vote, so the score depends on their scale).

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import factor_vae_score
        >>> factors = np.indices((4, 5)).reshape(2, -1).T
        >>> factor_vae_score(factors, factors).value  # one latent per factor
        1.0

    See Also:
        ``z_diff``, whose flaw it fixes; ``irs``, which also holds factors fixed.
    """
    found = by_votes(codes, group_rows(factors), factors.names, settings, seed)
    if len(factors.names) > 1:
        return found
    alone = "a single factor is always guessed right: the score says nothing about the codes"
    return replace(found, notes=(*found.notes, alone))


def by_votes(
    codes: Codes,
    groups: list["Groups"],
    names: Sequence[str],
    settings: Voting,
    seed: int,
    most: bool = False,
) -> Result:
    """The accuracy of guessing each vote's factor from the active latent that varies least, or ``most``."""
    active, criterion, notes = active_latents(codes, settings.prune, settings.threshold)
    rng = np.random.default_rng(seed)
    factor = rng.integers(len(groups), size=settings.votes + settings.fresh)
    table, right = np.zeros((len(codes.names), len(groups)), np.int64), np.zeros(len(factor), bool)
    if active.any():
        variances = relative_variances(codes, groups, factor, settings.size, rng)
        voters = np.where(active, -variances if most else variances, np.inf).argmin(axis=1)
        np.add.at(table, (voters[: settings.votes], factor[: settings.votes]), 1)
        right = table.argmax(axis=1)[voters] == factor
    else:
        notes += ("no latent is active: the score is 0",)
    tested = slice(settings.votes if settings.fresh else 0, None)
    return Result(
        right[tested].mean(),
        per_factor=share_right(right[tested], factor[tested], names),
        details={"votes": table, "active": [n for n, a in zip(codes.names, active, strict=True) if a]},
        notes=notes,
        settings=criterion,
        trials=len(right[tested]),
    )


@dataclass(frozen=True, eq=False)
class Groups:
    """The rows sorted by the class of one factor, so that drawing from a class is index arithmetic.

    On a full grid of factors, a random row of a group is a draw of all other factors, each uniform and
    independent, as the papers require; on any other data it is a draw from the data given the factor.

    Args:
        classes: (N,) class of each row; −1 if missing: such rows are in no group.
        size: number of classes.
    """

    classes: IntArray
    size: int

    @cached_property
    def complete(self) -> bool:
        """Whether every row has a class: then no list of the ``known`` rows is needed."""
        return bool(self.classes.min(initial=0) >= 0)

    @cached_property
    def known(self) -> IntArray:
        """(M,) the rows that have a class."""
        return np.flatnonzero(self.classes >= 0)

    @cached_property
    def _known_classes(self) -> IntArray:
        """(M,) the classes of the ``known`` rows."""
        return self.classes if self.complete else self.classes[self.known]

    @cached_property
    def order(self) -> IntArray:
        """(M,) the rows, class by class. Few classes fit small integers, which numpy sorts in linear time."""
        classes = self._known_classes
        small = classes.astype(np.uint16) if self.size <= 1 << 16 else classes
        order = np.argsort(small, kind="stable")
        return order if self.complete else np.asarray(self.known[order])

    @cached_property
    def counts(self) -> IntArray:
        """(size,) number of rows in each class."""
        return np.bincount(self._known_classes, minlength=self.size)

    @cached_property
    def starts(self) -> IntArray:
        """(size,) where each class begins in ``order``."""
        return np.concatenate([[0], np.cumsum(self.counts)[:-1]])

    def anchors(self, count: int, rng: np.random.Generator) -> IntArray:
        """(count,) random rows from classes with at least two rows."""
        if self.complete and self.counts.min() >= 2:
            return rng.integers(len(self.classes), size=count)
        rows: IntArray = self.known[self.counts[self.classes[self.known]] >= 2]
        return rows[rng.integers(len(rows), size=count)]

    def companions(self, rows: IntArray, count: int, rng: np.random.Generator) -> IntArray:
        """(len(rows), count) random rows, with replacement, of the same class as each of ``rows``."""
        classes = self.classes.take(rows)[:, None]
        place = (rng.random((len(rows), count)) * self.counts.take(classes)).astype(np.int64)
        place += self.starts.take(classes)
        return self.order.take(place)


def group_rows(factors: Factors) -> list[Groups]:
    """One ``Groups`` per factor; raises an error that names a factor for which no two rows share a class."""
    columns = map(np.ascontiguousarray, factors.classes.T)
    groups = [Groups(classes, size) for classes, size in zip(columns, factors.sizes, strict=True)]
    for name, group in zip(factors.names, groups, strict=True):
        if group.size == (len(group.classes) if group.complete else len(group.known)):  # no class is empty
            raise DistaffError(
                f"every row has its own value of factor {name!r}, so it can never be held fixed: leave it "
                "out, or bin it as a number: quantize_factors(as_factors(values, real=[name]))."
            )
    return groups


def fixed_factor_rows(groups: list[Groups], fixed: IntArray, size: int, rng: np.random.Generator) -> IntArray:
    """(M, size) rows of M draws; the ``size`` observations of draw m agree in factor ``fixed[m]``."""
    rows = np.empty((len(fixed), size), dtype=np.int64)
    for k, group in enumerate(groups):
        votes = np.flatnonzero(fixed == k)
        rows[votes] = group.companions(group.anchors(len(votes), rng), size, rng)
    return rows


def share_right(right: NDArray[np.bool_], fixed: IntArray, names: Sequence[str]) -> dict[str, float]:
    """The accuracy of guessing the fixed factor, by factor; NaN for a factor that was never fixed."""
    return {
        name: float(right[fixed == k].mean()) if (fixed == k).any() else float("nan")
        for k, name in enumerate(names)
    }


def relative_variances(
    codes: Codes, groups: list[Groups], fixed: IntArray, size: int, rng: np.random.Generator
) -> Float64Array:
    """(M, D + groups) variance of each latent within each draw, relative to its variance in the data.

    The relative variance of a constant latent is 0.
    """
    means, in_all = _with_variances(codes.means)
    hard = {name: p.argmax(axis=1) for name, p in codes.categories.items()}
    shares = {name: np.bincount(hard[name], minlength=p.shape[1]) for name, p in codes.categories.items()}
    whole = {name: gini_variance(counts / len(codes)) for name, counts in shares.items()}
    parts = []
    cost = size * len(codes.names)
    for block in blocks(len(fixed), cost) if len(fixed) * cost > BUDGET else [slice(None)]:
        rows = fixed_factor_rows(groups, fixed[block], size, rng)
        columns = [_variances(means, rows) / in_all]
        for name, classes in hard.items():
            seen = (classes[rows][:, :, None] == np.arange(len(shares[name]))).mean(axis=1)
            ratio = gini_variance(seen) * size / (size - 1) / np.maximum(whole[name], 1e-30)
            columns.append(ratio[:, None])
        parts.append(np.concatenate(columns, axis=1))
    return np.concatenate(parts)


def _with_variances(means: FloatArray) -> tuple[FloatArray, Float64Array]:
    """The means, and (D,) the variance of each latent over all rows, infinite if the latent is constant.

    Latents so small that their squares would lose digits are divided by their largest |value|.
    """
    variances = _variances_of_all(means)
    faint = variances < _FAINT
    if faint.any():
        largest = np.abs(means).max(axis=0)
        means = means / np.where(faint & (largest > 0), largest, 1).astype(np.float64)
        variances = _variances_of_all(means)
    return means, np.where(variances > 0, variances, np.inf)


def _variances_of_all(means: FloatArray) -> Float64Array:
    """(D,) the variance of each latent over all rows; exactly 0 for a constant one."""
    count, found = len(means), np.empty(means.shape[1])
    for start in range(0, means.shape[1], _LINE):  # neighbouring latents share cache lines
        columns = means[:, start : start + _LINE].T
        origin = columns[:, :1].astype(np.float64)
        sums, squares = np.zeros(len(columns)), np.zeros(len(columns))
        for row in range(0, count, _CACHED // _LINE):
            part = np.subtract(columns[:, row : row + _CACHED // _LINE], origin, order="C")
            sums += np.einsum("ij->i", part)
            squares += np.einsum("ij,ij->i", part, part)
        # Relative to one of the values, the second term is at most 1 − 1/N of the first: no cancellation.
        found[start : start + _LINE] = (squares - sums**2 / count) / count
    return found


def _variances(means: FloatArray, rows: IntArray) -> Float64Array:
    """(M, D) variances of latents within each of (M, size) draws."""
    size = rows.shape[1]
    found = np.empty((len(rows), means.shape[1]))
    step = max(1, _CACHED // (size * max(means.shape[1], 1)))
    for start in range(0, len(rows), step):  # as many draws at a time as fit in a core's cache
        drawn = means.take(rows[start : start + step], axis=0)
        drawn = np.subtract(drawn, drawn[:, :1], dtype=np.float64)  # exactly 0 if nothing moves
        sums = np.einsum("ijk->ik", drawn)
        squares = np.einsum("ijk,ijk->ik", drawn, drawn)
        found[start : start + step] = (squares - sums**2 / size) / (size - 1)
    return found
