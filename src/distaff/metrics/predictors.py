"""Prediction of the classes of factors from all latents, for downstream accuracy and fairness."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from distaff.codes import Codes, digest, remember
from distaff.metrics.boosting import boosted
from distaff.metrics.inputs import Factors, Float64Array, IntArray
from distaff.metrics.logistic import one_versus_rest
from distaff.metrics.options import Count
from distaff.metrics.train_test import columns, split_rows


@dataclass(frozen=True)
class Predicting:
    """The predictor of the classes, and the numbers of rows.

    Args:
        predictor: one logistic regression for each class against the rest, with a penalty of |w|²/2 for
            standardised latents, or boosted trees (of depth 3, on histograms).
        train: number of training rows; two thirds of the rows if there are fewer in all.
        test: number of test rows.
        rounds: number of boosting rounds.
    """

    predictor: Literal["logistic", "boosted"]
    train: Count = 10_000
    test: Count = 5_000
    rounds: Count = 100


PREDICTORS = {"logistic": Predicting("logistic"), "boosted": Predicting("boosted")}


def idle(settings: Predicting, _: Codes) -> tuple[str, ...]:
    """The settings that have no effect with this predictor."""
    return () if settings.predictor == "boosted" else ("rounds",)


WIDEST = {
    "logistic": (2048, "fits a logistic regression on all latents for every class"),
    "boosted": (256, "grows trees over all latents"),
}


@dataclass(frozen=True)
class Predictions:
    """Predictions for held-out rows.

    Args:
        tested: (T,) indices of the test rows.
        guesses: number of training rows → (T, K) classes.
    """

    tested: IntArray
    guesses: dict[int, IntArray]


def predictions(
    codes: Codes, factors: Factors, settings: Predicting, sizes: tuple[int, ...], seed: int
) -> Predictions:
    """Classes predicted for the same rows after training on the first rows of a random split.

    All training rows are used last; ``sizes`` above their number are left out. Cached for all metrics that
    need the same predictions.
    """
    train, test = split_rows(len(codes), settings.train, settings.test, np.random.default_rng(seed))
    classes = factors.classes
    x = remember(codes, "columns", lambda: columns(codes)[0])

    def after(size: int) -> IntArray:
        key = ("guesses", settings, size, seed, digest(classes))
        return remember(codes, key, lambda: _guesses(x, classes, train[:size], test, settings, seed))

    return Predictions(
        test, {size: after(size) for size in (*(s for s in sizes if s < len(train)), len(train))}
    )


def _guesses(
    x: Float64Array, classes: IntArray, train: IntArray, test: IntArray, settings: Predicting, seed: int
) -> IntArray:
    """(T, K) classes, always among those that occur in the training rows."""
    known = [np.unique(y, return_inverse=True) for y in classes[train].T]
    guessed = np.stack([np.full(len(test), labels[0]) for labels, _ in known], axis=1)
    several = [k for k, (labels, _) in enumerate(known) if len(labels) > 1]
    if settings.predictor == "boosted":
        for k in several:
            _, guessed[:, k] = boosted(
                x[train],
                classes[train, k],
                x[test],
                regress=False,
                rounds=settings.rounds,
                penalty=1.0,
                seed=seed,
            )
        return guessed
    if several:
        numbers = np.stack([known[k][1] for k in several], axis=1)
        sizes = tuple(len(known[k][0]) for k in several)
        weights = one_versus_rest(x[train], numbers, sizes)
        logits = np.split(x[test] @ weights[:-1] + weights[-1], np.cumsum(sizes)[:-1], axis=1)
        for k, own in zip(several, logits, strict=True):
            guessed[:, k] = known[k][0][own.argmax(axis=1)]
    return guessed
