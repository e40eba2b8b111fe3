"""MCC and R²: whether the factors were recovered, up to order and scale, or up to a map."""

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import rankdata
from sklearn.kernel_ridge import KernelRidge

from distaff.codes import Codes
from distaff.metrics.active_latents import standardised
from distaff.metrics.boosting import boosted
from distaff.metrics.inputs import Factors, Float64Array, IntArray
from distaff.metrics.metric import metric
from distaff.metrics.missing_labels import as_columns, of_each, parts
from distaff.metrics.options import Count, Positive
from distaff.metrics.pieces import slices
from distaff.metrics.result import Result
from distaff.metrics.train_test import columns, split_rows

LEAST_SQUARES = (2048, "solves a regression on all latents")
_IDLE = {"linear": ("penalty", "rounds"), "kernel": ("rounds",), "boosted": ("penalty",)}


@dataclass(frozen=True)
class Matching:
    """What is correlated, and on which rows.

    Args:
        correlation: Pearson's, of values, or Spearman's, of ranks.
        linear: whether to first map the latents linearly to the factors.
        train: number of rows for the matching (and the map); two thirds of the rows if there are fewer.
        test: number of rows for the correlations.
    """

    correlation: Literal["pearson", "spearman"]
    linear: bool = False
    train: Count = 10_000
    test: Count = 5_000


@metric(
    paper="Hyvärinen & Morioka 2016; Khemakhem et al. 2020",
    protocols={
        "khemakhem20": Matching("pearson"),
        "khemakhem20-spearman": Matching("spearman"),
        "khemakhem20-weak": Matching("pearson", linear=True),
    },
    bounds=(0, 1),
    by_factor="within",
    says="both",
    widest={"khemakhem20-weak": LEAST_SQUARES},
)
def mcc(codes: Codes, factors: Factors, settings: Matching, seed: int) -> Result:
    """Mean correlation coefficient: mean over factors of |correlation| with the latent matched to each.

    The one-to-one matching maximises the sum of |correlations| on some rows (the assignment problem); the
    correlations are computed on other rows. If there are fewer latents than factors, an unmatched factor
    counts 0. The score is 1 if each factor was recovered up to order, sign and a linear scale, or, with
    Spearman's correlation, up to any monotone one. The weak form first maps all latents linearly to each
    factor, by least squares on the training rows: it is 1 if the factors were recovered up to a linear map.

    Args:
        codes: (N, D) means, or ``Codes``; a categorical latent enters as its class probabilities.
        factors: (N, K) numbers, or classes whose order is meaningful; for each factor, the rows that have its
            label are split.
        protocol: ``"khemakhem20"`` (Pearson), ``"khemakhem20-spearman"`` or ``"khemakhem20-weak"``; two
            thirds of the rows, at most 10,000, are for matching, and others, at most 5,000, for testing.
        seed: random seed for the split.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import mcc
        >>> y = np.random.default_rng(0).uniform(size=(1000, 2))
        >>> round(mcc(-3 * y[:, ::-1], y).value, 6)  # in another order, with another sign and scale
        1.0
        >>> turned = y @ [[1, 1], [1, -1]]
        >>> mcc(turned, y).value < 0.8, round(mcc(turned, y, protocol="khemakhem20-weak").value, 6)
        (True, 1.0)

    See Also:
        ``r2``; ``dci``.
    """
    cut = parts(codes, factors)
    splits = of_each(
        cut,
        lambda part: split_rows(len(part.rows), settings.train, settings.test, np.random.default_rng(seed)),
    )
    targets = [standardised(part.factors.values) for part in cut]
    z, owners = columns(codes)
    names = [codes.names[i] for i in owners]
    if settings.linear:
        maps = [
            _mapped(z, part.rows[train], y[train])
            for part, (train, _), y in zip(cut, splits, targets, strict=True)
        ]
        z, names = as_columns(cut, maps), [f"map to {name}" for name in factors.names]

    def strengths_of(side: int) -> Float64Array:
        found = [
            _correlations(z[part.rows[split[side]]], y[split[side]], settings.correlation)
            for part, split, y in zip(cut, splits, targets, strict=True)
        ]
        return np.asarray(np.abs(as_columns(cut, found)))

    of_train, held_out = strengths_of(0), strengths_of(1)
    latents, matched = linear_sum_assignment(of_train, maximize=True)
    strengths = np.zeros(len(factors.names))
    strengths[matched] = held_out[latents, matched]
    pairs = {factors.names[k]: names[i] for i, k in zip(latents, matched, strict=True)}
    details = {"matched_latent": pairs, "correlations": held_out}
    tested = min(len(test) for _, test in splits)
    return Result(
        strengths.mean(),
        per_factor=strengths,
        details=details,
        notes=factors.read_as_numbers(),
        rows=tested,
    )


@dataclass(frozen=True)
class Regression:
    """The predictor of the factors, and the numbers of rows.

    Args:
        predictor: least squares, kernel ridge regression with a Gaussian kernel, or boosted trees.
        penalty: penalty of the kernel ridge regression.
        train: number of training rows; two thirds of the rows if there are fewer in all.
        test: number of test rows.
        rounds: number of boosting rounds.
    """

    predictor: Literal["linear", "kernel", "boosted"]
    penalty: Positive = 0.1
    train: Count = 10_000
    test: Count = 5_000
    rounds: Count = 100


@metric(
    paper="Roeder et al. 2021; von Kügelgen et al. 2021",
    protocols={
        "linear": Regression("linear"),
        "kernel": Regression("kernel", train=2_000),
        "boosted": Regression("boosted"),
    },
    bounds=(0, 1),
    idle=lambda settings, _: _IDLE[settings.predictor],
    by_factor=True,
    says="explicitness",
    widest={"linear": LEAST_SQUARES, "boosted": (512, "grows trees over all latents")},
)
def r2(codes: Codes, factors: Factors, settings: Regression, seed: int) -> Result:
    """R² of a regression of each factor on all latents, on held-out rows, averaged over factors.

    R² = 1 − Σ(y − ŷ)²/Σ(y − ȳ)²; 0 for a factor that is predicted no better than by its mean. The linear
    score is 1 if the factors are recovered up to a linear map (linear identifiability); with a kernel or
    trees, up to any smooth map, as block identifiability requires of a block of latents: pass its columns as
    codes.

    Args:
        codes: (N, D) means, or ``Codes``; a categorical latent enters as its class probabilities.
        factors: (N, K) numbers, or classes whose order is meaningful.
        protocol: ``"linear"`` (least squares), ``"kernel"`` (kernel ridge regression on 2,000 rows, with a
            Gaussian kernel of the standardised latents' mean squared distance) or ``"boosted"``
            (scikit-learn's boosting on histograms, with trees of depth 3).
        seed: random seed for the split.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import r2
        >>> y = np.random.default_rng(0).uniform(size=(600, 1))
        >>> round(r2(3 - 2 * y, y).value, 6), r2(np.cos(3 * y), y, protocol="kernel").value > 0.95
        (1.0, True)

    See Also:
        ``mcc``; ``dci``, whose informativeness is 1 − √(1 − R²); ``explicitness``, for classes.
    """
    train, test = split_rows(len(codes), settings.train, settings.test, np.random.default_rng(seed))
    z, _ = columns(codes)
    y = standardised(factors.values)
    if settings.predictor == "linear":
        guesses = _mapped(z, train, y[train])[test]
    elif settings.predictor == "kernel":
        width = max(float(z[train].var(axis=0).sum()), 1e-12)
        model = KernelRidge(alpha=settings.penalty, kernel="rbf", gamma=1 / (2 * width))
        guesses = model.fit(z[train], y[train]).predict(z[test])
    else:
        grow = partial(boosted, regress=True, rounds=settings.rounds, penalty=0.0, seed=seed)
        guesses = np.stack([grow(z[train], target[train], z[test])[1] for target in y.T], axis=1)
    errors = np.square(y[test] - guesses).sum(axis=0)
    spread = np.square(y[test] - y[test].mean(axis=0)).sum(axis=0)
    each = np.clip(1 - errors / np.where(spread > 0, spread, np.inf), 0, 1) * (spread > 0)
    return Result(each.mean(), per_factor=each, notes=factors.read_as_numbers(), rows=len(test))


def _mapped(z: Float64Array, rows: IntArray, targets: Float64Array) -> Float64Array:
    """(N, K) predictions for all rows of the least-squares fit to the (n, K) targets of some rows."""
    inputs = np.concatenate([z, np.ones((len(z), 1))], axis=1)
    weights, *_ = np.linalg.lstsq(inputs[rows], targets, rcond=1e-10)
    return np.asarray(inputs @ weights)


def _correlations(z: Float64Array, y: Float64Array, kind: str) -> Float64Array:
    """(D, K) correlations of the columns; 0 for constant ones."""
    y = standardised(rankdata(y, axis=0) if kind == "spearman" else y)
    parts = []
    for some in slices(z.shape[1], len(z)):
        values = rankdata(z[:, some], axis=0) if kind == "spearman" else z[:, some]
        parts.append(standardised(values).T @ y / len(z))
    return np.clip(np.concatenate(parts), -1, 1)
