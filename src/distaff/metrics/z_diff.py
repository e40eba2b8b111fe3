"""Z-diff: a linear classifier guesses the fixed factor from differences of codes."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge
from sklearn.linear_model import LogisticRegression

from distaff.codes import Codes, FloatArray
from distaff.foundation.errors import DistaffError
from distaff.foundation.parallel import one_thread
from distaff.metrics.fixed_factor_sampling import Groups, group_rows, share_right
from distaff.metrics.inputs import Factors, Float64Array, IntArray
from distaff.metrics.logistic import multinomial
from distaff.metrics.metric import metric
from distaff.metrics.options import Count
from distaff.metrics.result import Result

_BATCH, _RATE, _START = 10, 0.01, 0.1
_CACHED = 1 << 17
_DRAWN = 1 << 15
"""Number of pairs drawn together: more need memory that the system has to provide again for each factor."""
_LARGE = 1000.0
"""Differences up to here are given to the solver as they are."""
_NARROW = 80
"""Up to this many weights, a few steps with the whole Hessian take less time than many without it."""


@dataclass(frozen=True)
class Pairing:
    """Points that are means of differences, and how a classifier learns from them.

    Args:
        pairs: number of pairs per point.
        points: number of training points; Adagrad reads each once, in batches of ten.
        test: number of test points.
        solver: ``"logistic"`` (L2 penalty with C = 1, to convergence) or ``"adagrad"``.
    """

    pairs: Count
    points: Annotated[int, Ge(_BATCH)]
    test: Count
    solver: Literal["adagrad", "logistic"]


@metric(
    paper="Higgins et al. 2017",
    protocols={
        "locatello19": Pairing(pairs=64, points=10_000, test=5_000, solver="logistic"),
        "kim18": Pairing(pairs=200, points=100_000, test=800, solver="adagrad"),
    },
    bounds=(0, 1),
    by_factor="within",
    says="both",
    widest={
        "locatello19": (2048, "fits a logistic regression on differences of all latents"),
        "kim18": (256, "takes 20 million differences of all latents"),
    },
)
def z_diff(codes: Codes, factors: Factors, settings: Pairing, seed: int) -> Result:
    """Accuracy of a linear classifier that predicts which factor two observations share.

    A point is the mean over ``pairs`` of |z − z'| where both observations agree in factor k; its label is k.
    Chance is 1/K. Known flaw: the score is already 1 if K − 1 factors are found, since "all found ones
    differ" identifies the last (Kim & Mnih 2018, Fig. 3); prefer ``distaff.metrics.factor_vae_score``. The
    latents are not standardised: at a scale of 1e-4, the penalty, or ten thousand small steps, leave the
    classifier at chance.

    Args:
        codes: (N, D) means, or ``Codes``; differences of a categorical latent are 0 or 1.
        protocol: ``"locatello19"`` (a converged logistic regression on 10,000 points of 64 pairs) or
            ``"kim18"`` (10,000 Adagrad steps of 10 points of 200 pairs, rate 0.01, 800 test points).

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import z_diff
        >>> factors = np.indices((3, 3, 3)).reshape(3, -1).T
        >>> z_diff(factors, factors, points=300, test=100).value  # one latent per factor
        1.0

    See Also:
        ``factor_vae_score``, which does not have this flaw.
    """
    groups = group_rows(factors)
    if len(groups) < 2:
        raise DistaffError("Z-diff tells factors apart, so it needs at least two of them.")
    rng = np.random.default_rng(seed)

    fixed = rng.permutation(np.arange(settings.points + settings.test) % len(groups))
    differences = _mean_differences(codes, groups, fixed, settings.pairs, rng)
    train, tested = slice(None, settings.points), slice(settings.points, None)
    if settings.solver == "logistic":
        # Large ones in a larger unit, with the penalty that this unit asks for: the same minimum, which the
        # solver would not reach otherwise.
        unit = max(float(differences.max()) / _LARGE, 1.0)
        differences /= unit
        guessed = _logistic(differences[train], fixed[train], differences[tested], len(groups), 1 / unit**2)
    else:
        weights = _adagrad(differences[train], fixed[train], len(groups))
        guessed = _with_ones(differences[tested]).dot(weights).argmax(axis=1)
    right = guessed == fixed[tested]

    return Result(
        right.mean(), per_factor=share_right(right, fixed[tested], factors.names), trials=len(right)
    )


def _mean_differences(
    codes: Codes, groups: list[Groups], fixed: IntArray, pairs: int, rng: np.random.Generator
) -> Float64Array:
    """(M, D + groups) mean |z − z'| over ``pairs`` pairs that agree in factor ``fixed[m]``."""
    hard = [p.argmax(axis=1) for p in codes.categories.values()]
    points = np.empty((len(fixed), len(codes.names)))
    gaussian, step = codes.means.shape[1], max(1, _DRAWN // pairs)
    for k, group in enumerate(groups):
        chosen = np.flatnonzero(fixed == k)
        for start in range(0, len(chosen), step):
            rows = chosen[start : start + step]
            first = group.anchors(len(rows) * pairs, rng)
            second = group.companions(first, 1, rng)[:, 0]
            points[rows, :gaussian] = _mean_gaps(codes.means, first, second, pairs)
            for column, classes in enumerate(hard, start=gaussian):
                differs = classes[first] != classes[second]
                points[rows, column] = differs.reshape(pairs, len(rows)).mean(axis=0)
    return points


def _mean_gaps(means: FloatArray, first: IntArray, second: IntArray, pairs: int) -> FloatArray:
    """(M, D) mean |z − z'| over every M-th of ``pairs`` · M rows, in batches that fit in a core's cache."""
    first, second = first.reshape(pairs, -1), second.reshape(pairs, -1)
    found = np.empty((first.shape[1], means.shape[1]), means.dtype)
    step = max(1, _CACHED // (pairs * max(means.shape[1], 1)))
    for start in range(0, len(found), step):
        here = slice(start, start + step)
        gap = means.take(first[:, here], axis=0)
        gap -= means.take(second[:, here], axis=0)
        np.abs(gap, out=gap)
        # Sums over the first axis add whole batches to each other, not D numbers at a time.
        np.divide(gap.sum(axis=0), pairs, out=found[here])
    return found


def _logistic(
    points: Float64Array, labels: IntArray, tested: Float64Array, classes: int, penalty: float
) -> IntArray:
    """(M,) what a logistic regression on (N, D) points with labels (N,) guesses for (M, D) tested points."""
    if points.shape[1] * classes <= _NARROW and penalty == 1:  # with hardly any, the Hessian is singular
        weights = multinomial(points, labels, classes, penalty)
        return np.asarray(_with_ones(tested).dot(weights).argmax(axis=1))
    with one_thread("blas"):  # the products are too narrow to parallelise
        model = LogisticRegression(C=1 / penalty, max_iter=1000).fit(points, labels)
    return np.asarray(model.predict(tested))


def _adagrad(points: Float64Array, labels: IntArray, classes: int) -> Float64Array:
    """(D + 1, K) weights of a softmax classifier after one pass of Adagrad in batches of ten."""
    inputs, targets = _with_ones(points), np.eye(classes)[labels]
    weights = np.zeros((inputs.shape[1], classes))
    squares = np.full_like(weights, _START)
    for start in range(0, len(inputs) - _BATCH + 1, _BATCH):
        x, y = inputs[start : start + _BATCH], targets[start : start + _BATCH]
        logits = x @ weights
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        gradient = x.T @ (p / p.sum(axis=1, keepdims=True) - y) / _BATCH
        squares += gradient**2
        weights -= _RATE * gradient / np.sqrt(squares)
    return weights


def _with_ones(points: Float64Array) -> Float64Array:
    return np.concatenate([points, np.ones((len(points), 1))], axis=1)
