"""Trees boosted on histograms, as several metrics grow them."""

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
    """scikit-learn's histogram boosting of trees of depth 3, and what it predicts.

    Args:
        x: (N, F) columns that predict.
        y: (N,) what is predicted.
        test: (T, F) rows to predict.
        regress: whether ``y`` are numbers rather than classes.
        rounds: of boosting; each grows one tree, or one per class where there are more than two.
        penalty: λ of the squared values of leaves; without it many classes make the rounds diverge.
        seed: of scikit-learn, which draws rows for the edges of bins where there are over 200,000.

    Returns:
        The fitted model and the (T,) predictions.
    """
    kind = HistGradientBoostingRegressor if regress else HistGradientBoostingClassifier
    model = kind(
        max_depth=3, max_iter=rounds, l2_regularization=penalty, early_stopping=False, random_state=seed
    )
    with one_thread("openmp"):  # trees are too small to share among threads
        return model, np.asarray(model.fit(x, y).predict(test))
