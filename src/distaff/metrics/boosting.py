"""Gradient boosting on histograms, shared by several metrics."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from distaff.foundation.parallel import one_thread
from distaff.metrics.inputs import Float64Array


def boosted(
    x: Float64Array,
    y: NDArray[Any],
    test: Float64Array,
    *,
    regress: bool,
    rounds: int,
    penalty: float,
    seed: int,
) -> tuple[Any, NDArray[Any]]:
    """Fit scikit-learn's histogram gradient boosting with trees of depth 3, and predict the test rows.

    Args:
        x: (N, F) inputs.
        y: (N,) targets.
        test: (T, F) inputs to predict for.
        regress: whether ``y`` holds numbers rather than classes.
        rounds: number of boosting rounds; each grows one tree, or one per class if there are more than two.
        penalty: λ on the squared leaf values; without it, the rounds diverge when there are many classes.
        seed: random seed of scikit-learn, which samples rows for the bin edges if there are over 200,000.

    Returns:
        The fitted model and the (T,) predictions.
    """
    kind = HistGradientBoostingRegressor if regress else HistGradientBoostingClassifier
    model = kind(
        max_depth=3, max_iter=rounds, l2_regularization=penalty, early_stopping=False, random_state=seed
    )
    with one_thread("openmp"):  # the trees are too small to split among threads
        return model, np.asarray(model.fit(x, y).predict(test))
