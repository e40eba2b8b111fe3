"""Lasso for many targets at once, from second moments alone."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso

from distaff.metrics.inputs import Float64Array

_SWEEPS, _TOLERANCE = 100_000, 1e-12


def lasso_weights(x: Float64Array, y: Float64Array, alpha: float) -> Float64Array:
    """(F, K) minimisers of ½ E(y_k − x·w)² + ``alpha`` Σ|w_f|.

    Args:
        x: (N, F) inputs.
        y: (N, K) targets; intercepts are free.
        alpha: the penalty, as in scikit-learn's ``Lasso``.
    """
    centred, targets = x - x.mean(axis=0), y - y.mean(axis=0)
    if alpha == 0:
        weights, *_ = np.linalg.lstsq(centred, targets, rcond=1e-10)
        return np.asarray(weights)
    model = Lasso(alpha=alpha, fit_intercept=False, precompute=True, max_iter=_SWEEPS, tol=_TOLERANCE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(model.fit(centred, targets).coef_.reshape(y.shape[1], x.shape[1]).T)
