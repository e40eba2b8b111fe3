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
from distaff.metrics.score import Result
from distaff.metrics.shared import blocks

_LINE, _CACHED = 16, 1 << 16
"""Latents read together, and numbers worked on together."""


@dataclass(frozen=True)
class Voting:
    """How votes are taken, and which latents take part.

    Args:
        votes: number of votes that make the classifier.
        size: observations in a vote.
        fresh: number of further votes that test it; 0 tests it on the first ones.
        prune: which latents may vote, see ``distaff.metrics.active_latents.active_latents``.
        threshold: of the pruning.
    """

    votes: Count
    size: Annotated[int, Ge(2)]
    fresh: Annotated[int, Ge(0)]
    prune: Prune = "auto"
    threshold: NotNegative | None = None


def idle_threshold(settings: Voting, codes: Codes) -> tuple[str, ...]:
    """The threshold, where it is what the pruning takes anyway."""
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
    about 1/K on fresh votes, more on the votes that made the classifier: 0.26 for D = 10, K = 5 in "kim18".
    Without any active latent the score is 0.

    Args:
        codes: (N, D) means, or ``Codes``; with log-variances, latents collapsed to their prior do not vote.
        protocol: ``"kim18"`` (800 votes of 100, tested on themselves) or ``"locatello19"`` (10,000 votes of
            64, tested on 5,000 fresh ones; latents whose means have a standard deviation below 0.05 do not
            vote, so that it depends on their scale).

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import factor_vae_score
        >>> factors = np.indices((4, 5)).reshape(2, -1).T
        >>> factor_vae_score(factors, factors).value  # one latent per factor
        1.0

    See Also:
        ``z_diff``, which it mends; ``irs``, which also holds factors fixed.
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
        notes += ("a single factor is guessed right whatever the codes are: this says nothing of them",)
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
    """(M, D + groups) variance of each latent within each draw over its variance in the data."""
    largest, squares = _spreads(codes.means)
    hard = {name: p.argmax(axis=1) for name, p in codes.categories.items()}
    shares = {name: np.bincount(hard[name], minlength=p.shape[1]) for name, p in codes.categories.items()}
    whole = {name: gini_variance(counts / len(codes)) for name, counts in shares.items()}
    parts = []
    for block in blocks(len(fixed), size * len(codes.names)):
        rows = fixed_factor_rows(groups, fixed[block], size, rng)
        columns = [_variances(codes.means, rows, largest) / squares]
        for name, classes in hard.items():
            seen = (classes[rows][:, :, None] == np.arange(len(shares[name]))).mean(axis=1)
            ratio = gini_variance(seen) * size / (size - 1) / np.maximum(whole[name], 1e-30)
            columns.append(ratio[:, None])
        parts.append(np.concatenate(columns, axis=1))
    return np.concatenate(parts)


def _spreads(means: FloatArray) -> tuple[Float64Array, Float64Array]:
    """(D,) each latent's largest size, and the variance over all rows of the latent divided by it.

    A constant latent has no variance: 1 and infinity stand for the two, so that what is relative to it is 0.
    """
    largest, squares = np.ones(means.shape[1]), np.full(means.shape[1], np.inf)
    for start in range(0, means.shape[1], _LINE):  # neighbouring latents lie in the same lines of memory
        for d, column in enumerate(np.ascontiguousarray(means[:, start : start + _LINE].T), start=start):
            high, low = float(column.max()), float(column.min())
            if high > low:
                largest[d] = max(abs(high), abs(low))
                part = column / largest[d : d + 1]
                part -= part.mean()
                # A product of the matrix library would wait for its other threads, long where cores are busy.
                squares[d] = np.einsum("i,i->", part, part) / len(part)
    return largest, squares


def _variances(means: FloatArray, rows: IntArray, largest: Float64Array) -> Float64Array:
    """(M, D) variances of latents divided by ``largest`` within each of (M, size) draws."""
    size = rows.shape[1]
    found = np.empty((len(rows), means.shape[1]))
    step = max(1, _CACHED // (size * max(means.shape[1], 1)))
    for start in range(0, len(rows), step):  # so many draws at a time as a core's cache holds
        drawn = means.take(rows[start : start + step], axis=0) / largest
        drawn -= drawn[:, :1].copy()  # what does not move has a variance of 0, not one of rounding
        sums = np.einsum("ijk->ik", drawn)
        squares = np.einsum("ijk,ijk->ik", drawn, drawn)
        # Of distances from one of them the second term is at most 1 − 1/size of the first: digits stay.
        found[start : start + step] = (squares - sums**2 / size) / (size - 1)
    return found
