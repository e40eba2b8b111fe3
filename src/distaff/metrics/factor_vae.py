"""The FactorVAE score: which latent varies least when a factor is held fixed."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge

from distaff.codes import Codes, FloatArray
from distaff.metrics.active_latents import (
    THRESHOLDS,
    Prune,
    active_latents,
    gini_variance,
    pruning,
)
from distaff.metrics.fixed_factor_sampling import Groups, fixed_factor_rows, group_rows, share_right
from distaff.metrics.inputs import Factors, Float64Array, IntArray
from distaff.metrics.metric import metric
from distaff.metrics.options import Count, NotNegative
from distaff.metrics.pieces import blocks
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
    groups = group_rows(factors)
    active, criterion, notes = active_latents(codes, settings.prune, settings.threshold)
    rng = np.random.default_rng(seed)

    count = len(factors.names)
    fixed = rng.integers(count, size=settings.votes + settings.fresh)
    table = np.zeros((len(codes.names), count), dtype=np.int64)
    tested = slice(settings.votes, None) if settings.fresh else slice(None)
    if active.any():
        variances = relative_variances(codes, groups, fixed, settings.size, rng)
        lowest = np.where(active, variances, np.inf).argmin(axis=1)
        np.add.at(table, (lowest[: settings.votes], fixed[: settings.votes]), 1)
        right = (table.argmax(axis=1)[lowest] == fixed)[tested]
    else:
        right = np.zeros(len(fixed[tested]), dtype=bool)
        notes += ("no latent is active: the score is 0",)

    if count == 1:
        notes += ("a single factor is always guessed right: the score says nothing about the codes",)
    return Result(
        right.mean(),
        per_factor=share_right(right, fixed[tested], factors.names),
        details={"votes": table, "active": [n for n, a in zip(codes.names, active, strict=True) if a]},
        notes=notes,
        settings=criterion,
        trials=len(right),
    )


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
    for block in blocks(len(fixed), size * len(codes.names)):
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
