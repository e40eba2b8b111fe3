"""Intervals: how far a score may be from its expectation, one way for every metric.

What an interval means. With other rows from the same source, and other draws (votes, samples, splits, trees),
a protocol gives another number. 95 of 100 intervals contain the mean of these numbers: the expected score
**at this number of rows**. As the number of rows grows, it tends to the score of the whole population. With
few rows it differs from that because of the protocol: entropies from bins and neighbours are off, a predictor
has learned less, a maximum is lower. No interval removes this, so compare scores of equally many rows.

How it is computed. Random halves of the rows are scored like the whole, each with its own seed: everything is
fitted, split, drawn and voted on again. A mean over N rows has variance σ²/N, and a mean over a random half
of given rows has variance (2/N − 1/N)σ², which is the same; the number of draws is the same for a half and
the whole. So the spread over halves is the standard error, from rows and draws together, and Student's t
turns it into an interval (the delete-d jackknife of Shao & Wu 1989; the subsampling of Politis, Romano & Wolf
1999). No row occurs twice: the copies of a bootstrap would be their own nearest neighbours, and would be both
training and test rows.

A formula may provide its own error instead (``Result.own_error``). The information between latents that share
none has a variance that falls as 1/N², which halves of the rows overestimate by a factor of three.

Cost. ``bootstrap=20`` scores twenty halves, about ten times the work of the score. Ten halves give intervals
8% wider than twenty, a hundred give 5% narrower ones.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.stats import t

from distaff.foundation.errors import DistaffError, said
from distaff.metrics.card import Card
from distaff.metrics.inputs import Float64Array, IntArray
from distaff.metrics.result import Error, Result

LEVEL = 0.95
FEWEST = 10
HALF = (1 / 2,)

Again = Callable[[IntArray, int], Mapping[str, Result]]
"""Computes the results for some rows with a seed."""


def with_intervals(
    card: Card,
    results: Mapping[str, Result],
    again: Again,
    *,
    count: int,
    draws: int,
    seed: int,
    labelled: int | None = None,
) -> dict[str, Result]:
    """The results of a metric with their intervals, or with a note that says why there are none.

    Args:
        card: the metric's card: bounds, for results without bounds of their own, and sizes of parts.
        results: the results for all rows.
        again: computes the results for some of the rows.
        count: number of rows.
        draws: number of parts to score.
        seed: random seed for the parts.
        labelled: number of rows with a label, of the factor that has fewest; all by default.
    """
    try:
        found = _own_errors(list(results.values())) or errors(
            list(results.values()), again, count, draws, seed, card.shares, labelled
        )
    except DistaffError as failure:
        note = f"no interval: halves of the rows give no score ({failure})"
        return {name: replace(result, notes=(*result.notes, note)) for name, result in results.items()}
    told = {}
    for (name, result), error in zip(results.items(), found, strict=True):
        bounds = interval(result, error, card.bounds, count)
        why = "halves of the rows have infinite scores"
        if result.error is not None and not np.isfinite(result.error.variance):
            why = "one other model does not show how models differ"
        notes = (*result.notes, *(() if bounds else (f"no interval: {why}",)))
        told[name] = replace(result, interval=bounds, notes=notes)
    return told


def checked_draws(bootstrap: int) -> int:
    """Return ``bootstrap`` if it is a usable number of halves: 0 for no interval, or at least 10."""
    if bootstrap < 0 or 0 < bootstrap < FEWEST:
        raise DistaffError(
            said(f"--bootstrap {bootstrap}: use 0 for no interval, or {FEWEST} halves and more.")
        )
    return bootstrap


def errors(
    results: Sequence[Result],
    again: Again,
    count: int,
    draws: int,
    seed: int,
    shares: Sequence[float] = HALF,
    labelled: int | None = None,
) -> list[Error]:
    """The error of each result, from the results of random parts of the ``count`` rows.

    If a score reads n of N rows, and m rows of a part, the variance over parts is (1/m − 1/N)σ² and is
    rescaled to σ²/n. A score of no more rows than have a label (``labelled``) reads some of these, so that
    N is their number. If the variance does not fall as 1/N (that of a maximum hardly falls), parts of several
    sizes show how it falls: a line through the logarithms of variance and size is extrapolated to all rows
    (Bertail, Politis & Romano 1999).

    Raises:
        DistaffError: the last failure, if most parts cannot be scored.
    """
    rng = np.random.default_rng([seed, 1])
    read = np.array([result.rows or count for result in results])
    readable = np.where(read <= (labelled or count), labelled or count, count)
    variances = []
    for share in shares:
        values, rows = _scored_parts(again, count, share, draws, rng)
        if (rows >= readable).any():
            raise DistaffError("too few labels: every half that can be scored has them all.")
        scale = (1 / read) / (1 / rows - 1 / readable) if len(shares) == 1 else 1 / (1 - share)
        with np.errstate(invalid="ignore"):  # for infinite values
            variances.append(values.var(axis=0, ddof=1) * scale)
    if len(shares) == 1:
        return [Error(float(variance), draws - 1) for variance in variances[0]]
    weights = _extrapolation(np.log(shares))
    whole = np.exp(weights @ np.log(np.maximum(variances, 1e-300)))
    return [Error(float(variance), (draws - 1) / float(weights @ weights)) for variance in whole]


def _own_errors(results: Sequence[Result]) -> list[Error]:
    """The errors that the formula provides; empty unless it provides one for every result."""
    own = [result.own_error() for result in results if result.own_error is not None]
    return own if len(own) == len(results) else []


def interval(
    result: Result, error: Error, bounds: tuple[float, float], count: int
) -> tuple[float, float] | None:
    """The 95% interval of a result from ``count`` rows: Student's, or Wilson's for a share of right guesses.

    A share p of T independent guesses has variance p(1 − p)/T. The estimated error, from rows and guesses,
    gives the effective number of independent guesses; if all guesses are correct, which is not yet certainty,
    that number is limited by the actual number. A score that is the same for all parts is treated as a share
    of the rows, if it has two bounds. There is no interval if the error could not be estimated (is infinite).
    """
    if result.error is not None:
        error = error + result.error
    if not np.isfinite(error.variance):
        return None
    low, high = result.bounds or bounds
    value, width, trials = float(result.value), high - low, result.trials
    quantile = float(t.ppf((1 + LEVEL) / 2, error.freedom))
    if trials is None and np.isfinite(width) and error.variance <= (1e-9 * width) ** 2:
        trials = result.rows or count
    if trials is None:
        half = quantile * np.sqrt(error.variance)
        first, last = value - half, value + half
    else:
        ends = _wilson((value - low) / width, error.variance / width**2, trials, quantile)
        first, last = low + width * ends
    return float(min(value, max(first, low))), float(max(value, min(last, high)))


def _wilson(share: float, variance: float, trials: int, quantile: float) -> Float64Array:
    """Wilson's interval of a share, for the number of trials that its variance corresponds to.

    That number is p(1 − p)/variance. The p(1 − p) of about two wrong guesses is added to both, so that the
    number is ``trials`` if all guesses are correct or if they are independent.
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
    """(draws, results) values of random parts of the rows, and (results,) mean number of rows they read."""
    size = round(share * count)
    values: list[list[float]] = []
    rows: list[list[int]] = []
    failures = 0
    while len(values) < draws:
        chosen = np.sort(rng.permutation(count)[:size])
        try:
            results = again(chosen, int(rng.integers(1 << 31))).values()
        except DistaffError:
            failures += 1
            if failures > draws:
                raise
            continue
        values.append([float(result.value) for result in results])
        rows.append([result.rows or size for result in results])
    return np.array(values), np.mean(rows, axis=0)


def _extrapolation(places: Float64Array) -> Float64Array:
    """The weights for values at ``places`` that extrapolate their least-squares line to 0."""
    from_mean = places - places.mean()
    return np.asarray(1 / len(places) - from_mean * places.mean() / (from_mean @ from_mean))
