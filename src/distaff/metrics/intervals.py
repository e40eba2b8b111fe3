"""Intervals: how far a score may be from its expectation, one way for every metric.

What an interval holds. With other rows from the same source, and other draws (votes, samples, splits, trees),
a protocol gives another number. In 95 of 100 cases the interval holds the mean of these numbers: the expected
score **at this number of rows**. It tends to the score of the whole population as rows grow, and differs from
it by what the protocol itself makes of few rows: entropies of bins and neighbours are off, a predictor has
learnt less, a maximum is lower. No interval removes that, so compare scores of equally many rows.

How. Random halves of the rows are scored as the whole was, each with a seed of its own: everything is fitted,
split, drawn and voted on anew. A mean over N rows has variance σ²/N, and over a random half of given rows
(2/N − 1/N)σ², which is the same; draws are as many for a half as for the whole. So the spread over halves is
the standard error, of rows and draws together, and Student's t makes the interval of it (the delete-d
jackknife of Shao & Wu 1989; the subsampling of Politis, Romano & Wolf 1999). No row occurs twice: the copies
that a bootstrap makes are their own nearest neighbours, and test what they have trained.

Cost. ``bootstrap=20`` scores twenty halves, about ten times the work of the score. Ten halves give intervals
8% wider than twenty, a hundred 5% narrower.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from inspect import signature
from typing import Any, Literal

import numpy as np
from scipy.stats import t

from distaff.codes import as_array
from distaff.foundation.errors import DistaffError
from distaff.metrics.inputs import Float64Array, IntArray, as_codes, labelled
from distaff.metrics.score import Score

LEVEL = 0.95
FEWEST = 10
HALF = (1 / 2,)

Inputs = Literal["codes", "codes and factors", "several codes"]
Again = Callable[[IntArray, int], Sequence[Score]]
"""The scores of some rows with a seed."""


@dataclass(frozen=True)
class Error:
    """The variance of a score, with the degrees of freedom it was estimated with."""

    variance: float
    freedom: float

    def __add__(self, other: "Error") -> "Error":
        """Of the sum of two independent errors (Welch and Satterthwaite)."""
        variance = self.variance + other.variance
        squares = self.variance**2 / self.freedom + other.variance**2 / other.freedom
        return Error(variance, variance**2 / squares) if squares > 0 else self


def with_intervals(
    function: Callable[..., Any], inputs: Inputs, bounds: tuple[float, float], shares: Sequence[float] = HALF
) -> Callable[..., Any]:
    """The metric ``function`` of one model, whose scores have intervals where ``bootstrap=`` asks for them.

    Args:
        function: gives a ``Score`` or a named tuple of them.
        inputs: what it reads.
        bounds: of its values, for scores that do not tell their own.
        shares: the parts of the rows to score, see ``errors``.
    """
    parameters = signature(function)

    @wraps(function)
    def measured(*given: Any, bootstrap: int = 0, **options: Any) -> Any:
        draws = checked_draws(bootstrap)
        found = function(*given, **options)
        if not draws:
            return found
        count, part = _observed(parameters.bind(*given, **options).arguments, inputs)

        def again(rows: IntArray, seed: int) -> Sequence[Score]:
            fresh = {"seed": seed} if "seed" in parameters.parameters else {}
            return _listed(function(**{**part(rows), **fresh}))

        scores = _listed(found)
        try:
            found_errors = errors(scores, again, count, draws, options.get("seed", 0), shares)
        except DistaffError as failure:
            note = f"no interval: halves of the rows give no score ({failure})"
            finished = [replace(score, notes=(*score.notes, note)) for score in scores]
        else:
            finished = [
                replace(score, interval=interval(score, error, bounds, count))
                for score, error in zip(scores, found_errors, strict=True)
            ]
        return finished[0] if isinstance(found, Score) else type(found)(*finished)

    return measured


def checked_draws(bootstrap: int) -> int:
    """``bootstrap`` if it is a usable number of halves: 0 for no interval, or at least 10."""
    if bootstrap < 0 or 0 < bootstrap < FEWEST:
        raise DistaffError(f"bootstrap={bootstrap}: use 0 for no interval, or {FEWEST} halves and more.")
    return bootstrap


def errors(
    scores: Sequence[Score], again: Again, count: int, draws: int, seed: int, shares: Sequence[float] = HALF
) -> list[Error]:
    """The error of each score, from scores of random parts of the ``count`` rows.

    Of a score that reads n of N rows, and m of a part's, the spread over parts is (1/m − 1/N)σ² and becomes
    σ²/n. Where the variance does not fall as 1/N (that of a maximum hardly falls), parts of several sizes
    tell how it does: a line through the logarithms of variance and size leads to that of all rows
    (Bertail, Politis & Romano 1999).

    Raises:
        DistaffError: the last reason, if most parts cannot be scored.
    """
    rng = np.random.default_rng([seed, 1])
    read = np.array([score.basis.rows or count for score in scores])
    variances = []
    for share in shares:
        values, rows = _scored_parts(again, count, share, draws, rng)
        scale = (1 / read) / (1 / rows - 1 / count) if len(shares) == 1 else 1 / (1 - share)
        variances.append(values.var(axis=0, ddof=1) * scale)
    if len(shares) == 1:
        return [Error(float(variance), draws - 1) for variance in variances[0]]
    weights = _extrapolation(np.log(shares))
    whole = np.exp(weights @ np.log(np.maximum(variances, 1e-300)))
    return [Error(float(variance), (draws - 1) / float(weights @ weights)) for variance in whole]


def interval(score: Score, error: Error, bounds: tuple[float, float], count: int) -> tuple[float, float]:
    """The 95% interval of a score of ``count`` rows: Student's, or Wilson's for a share of right guesses.

    A share p of T independent guesses has variance p(1 − p)/T. The error found, of rows and guesses, says how
    many independent guesses ours are worth; the guesses limit that number where all of them are right, which
    is not yet certainty. A score that is the same for all parts is taken as a share of the rows, if it has
    two bounds.
    """
    low, high = score.basis.bounds or bounds
    width, trials = high - low, score.basis.trials
    quantile = float(t.ppf((1 + LEVEL) / 2, error.freedom))
    if trials is None and np.isfinite(width) and error.variance <= (1e-9 * width) ** 2:
        trials = score.basis.rows or count
    if trials is None:
        half = quantile * np.sqrt(error.variance)
        first, last = score.value - half, score.value + half
    else:
        ends = _wilson((score.value - low) / width, error.variance / width**2, trials, quantile)
        first, last = low + width * ends
    return float(min(score.value, max(first, low))), float(max(score.value, min(last, high)))


def _wilson(share: float, variance: float, trials: int, quantile: float) -> Float64Array:
    """Wilson's interval of a share, for as many trials as its variance is worth.

    That number is p(1 − p)/variance; p(1 − p) of about two wrong guesses is added to both, so that it is
    ``trials`` where all are right, or where they are independent.
    """
    square = quantile**2
    few = square / (2 * trials)
    worth = (share * (1 - share) + few) / (variance + few / trials)
    centre = (share + square / (2 * worth)) / (1 + square / worth)
    half = np.sqrt(square * share * (1 - share) / worth + (square / (2 * worth)) ** 2) / (1 + square / worth)
    return np.array([centre - half, centre + half])


def _scored_parts(
    again: Again, count: int, share: float, draws: int, rng: np.random.Generator
) -> tuple[Float64Array, Float64Array]:
    """(draws, scores) values of random parts of the rows, and (scores,) how many rows of a part they read."""
    size = round(share * count)
    values: list[list[float]] = []
    rows: list[list[int]] = []
    failures = 0
    while len(values) < draws:
        chosen = np.sort(rng.permutation(count)[:size])
        try:
            scores = again(chosen, int(rng.integers(1 << 31)))
        except DistaffError:
            failures += 1
            if failures > draws:
                raise
            continue
        values.append([score.value for score in scores])
        rows.append([score.basis.rows or size for score in scores])
    return np.array(values), np.mean(rows, axis=0)


def _extrapolation(places: Float64Array) -> Float64Array:
    """The weights whose sum with values at ``places`` is the value at 0 of the straight line through them."""
    from_mean = places - places.mean()
    return np.asarray(1 / len(places) - from_mean * places.mean() / (from_mean @ from_mean))


def _observed(
    arguments: Mapping[str, Any], inputs: Inputs
) -> tuple[int, Callable[[IntArray], dict[str, Any]]]:
    """How many observations a metric is given, and its arguments for some of them."""
    given = dict(arguments)
    if inputs == "codes":
        codes = as_codes(given["codes"], given.pop("logvar", None))
        return len(codes), lambda rows: {**given, "codes": codes[rows]}
    soft = given.get("probabilities")
    if soft is None:
        codes, factors = labelled(given["codes"], given["factors"])
        return len(codes), lambda rows: {**given, "codes": codes[rows], "factors": factors.select(rows)}
    codes, tables = as_codes(given["codes"]), {name: as_array(values) for name, values in soft.items()}
    return len(codes), lambda rows: {
        **given,
        "codes": codes[rows],
        "probabilities": {name: values[rows] for name, values in tables.items()},
    }


def _listed(found: Any) -> Sequence[Score]:
    """The scores that a metric gave, of which there may be one."""
    return [found] if isinstance(found, Score) else list(found)
