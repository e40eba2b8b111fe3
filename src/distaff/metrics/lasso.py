"""Lasso for many targets at once, from second moments alone."""

import numpy as np

from distaff.metrics.inputs import Float64Array

_SWEEPS, _TOLERANCE = 10_000, 1e-9


def lasso_weights(x: Float64Array, y: Float64Array, alpha: float) -> Float64Array:
    """(F, K) minimisers of ½ E(y_k − x·w)² + ``alpha`` Σ|w_f|.

    Args:
        x: (N, F) inputs.
        y: (N, K) targets; intercepts are free.
        alpha: the penalty, as in scikit-learn's ``Lasso``.
    """
    centred = x - x.mean(axis=0)
    gram, cross = centred.T @ centred / len(x), centred.T @ (y - y.mean(axis=0)) / len(x)
    return coordinate_descent(gram, cross, alpha)


def coordinate_descent(gram: Float64Array, cross: Float64Array, alpha: float) -> Float64Array:
    """(F, K) lasso weights for covariances of inputs (F, F), and of inputs with targets (F, K)."""
    weights = np.zeros_like(cross)
    scale = np.diagonal(gram)
    for _ in range(_SWEEPS):
        change = 0.0
        for f in np.flatnonzero(scale > 1e-12):
            rest = cross[f] - gram[f] @ weights + scale[f] * weights[f]
            new = np.sign(rest) * np.maximum(np.abs(rest) - alpha, 0) / scale[f]
            change = max(change, float(np.abs(new - weights[f]).max()))
            weights[f] = new
        if change < _TOLERANCE:
            break
    return weights
