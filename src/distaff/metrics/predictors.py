"""Classes of factors predicted from all latents: what downstream accuracy and fairness look at."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from distaff.codes import Codes
from distaff.foundation.parallel import one_thread
from distaff.metrics.inputs import Factors, Float64Array, IntArray
from distaff.metrics.logistic import one_versus_rest
from distaff.metrics.options import Count
from distaff.metrics.shared import digest, remember
from distaff.metrics.train_test import columns, split_rows


@dataclass(frozen=True)
class Predicting:
    """What predicts classes, and from how many rows.

    Args:
        predictor: one logistic regression for each class against the rest, with a penalty of |w|²/2 for
            standardised latents, or boosted trees (100 rounds of depth 3, on histograms).
        train: rows that train; two thirds if there are fewer in all.
        test: rows that test.
    """

    predictor: Literal["logistic", "boosted"]
    train: Count = 10_000
    test: Count = 5_000


PREDICTORS = {"logistic": Predicting("logistic"), "boosted": Predicting("boosted")}
WIDEST = {
    "logistic": (2048, "fits a logistic regression on all latents for every class"),
    "boosted": (256, "grows trees over all latents"),
}


@dataclass(frozen=True)
class Predictions:
    """What was predicted for rows that were held out.

    Args:
        tested: (T,) which rows.
        guesses: number of training rows → (T, K) classes.
    """

    tested: IntArray
    guesses: dict[int, IntArray]


def predictions(
    codes: Codes, factors: Factors, settings: Predicting, sizes: tuple[int, ...], seed: int
) -> Predictions:
    """Classes predicted for the same rows after training on the first rows of a random split.

    All training rows are used last; ``sizes`` that exceed them are left out. Shared by the metrics that ask
    for the same.
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
    """(T, K) classes; among those of the training rows, since no other is known of."""
    known = [np.unique(y, return_inverse=True) for y in classes[train].T]
    guessed = np.stack([np.full(len(test), labels[0]) for labels, _ in known], axis=1)
    several = [k for k, (labels, _) in enumerate(known) if len(labels) > 1]
    if settings.predictor == "boosted":
        for k in several:
            guessed[:, k] = _boosted(x[train], classes[train, k], x[test], seed)
        return guessed
    if several:
        numbers = np.stack([known[k][1] for k in several], axis=1)
        sizes = tuple(len(known[k][0]) for k in several)
        weights = one_versus_rest(x[train], numbers, sizes)
        logits = np.split(x[test] @ weights[:-1] + weights[-1], np.cumsum(sizes)[:-1], axis=1)
        for k, own in zip(several, logits, strict=True):
            guessed[:, k] = known[k][0][own.argmax(axis=1)]
    return guessed


def _boosted(x: Float64Array, y: IntArray, test: Float64Array, seed: int) -> NDArray[Any]:
    model = HistGradientBoostingClassifier(
        max_depth=3, max_iter=100, l2_regularization=1.0, early_stopping=False, random_state=seed
    )
    with one_thread("openmp"):  # trees are too small to share among threads
        return np.asarray(model.fit(x, y).predict(test))
