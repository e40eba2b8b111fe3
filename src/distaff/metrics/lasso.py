"""Lasso for many small problems at once, from second moments alone."""

import numpy as np

from distaff.metrics.bootstrap import resample_means
from distaff.metrics.inputs import Float64Array

_SWEEPS, _TOLERANCE = 10_000, 1e-9


def lasso_weights(
    x: Float64Array, y: Float64Array, alpha: float, draws: int, rng: np.random.Generator
) -> Float64Array:
    """(1 + draws, F, K) minimisers of ½ E(y_k − x·w)² + ``alpha`` Σ|w_f|: on the data, then on resamples.

    Args:
        x: (N, F) inputs.
        y: (N, K) targets; intercepts are free.
        alpha: the penalty, as in scikit-learn's ``Lasso``.
        draws: number of resamples of the rows.
        rng: makes them.
    """
    joint = np.concatenate([x, y], axis=1)
    inputs = x.shape[1]
    products = (joint[:, :inputs, None] * joint[:, None, :]).reshape(len(x), -1)
    moments = np.concatenate([joint, products], axis=1)
    means = moments.mean(axis=0, keepdims=True)
    if draws:
        means = np.concatenate([means, resample_means(moments, draws, rng)])
    first, second = means[:, : joint.shape[1]], means[:, joint.shape[1] :]
    covariance = second.reshape(-1, inputs, joint.shape[1]) - first[:, :inputs, None] * first[:, None, :]
    return coordinate_descent(covariance[:, :, :inputs], covariance[:, :, inputs:], alpha)


def coordinate_descent(gram: Float64Array, cross: Float64Array, alpha: float) -> Float64Array:
    """(B, F, K) lasso weights for covariances of inputs (B, F, F), and of inputs with targets (B, F, K)."""
    weights = np.zeros_like(cross)
    scale = np.einsum("bff->bf", gram)
    for _ in range(_SWEEPS):
        change = 0.0
        for f in range(gram.shape[1]):
            rest = cross[:, f] - np.einsum("bg,bgk->bk", gram[:, f], weights)
            rest += scale[:, f, None] * weights[:, f]
            shrunk = np.sign(rest) * np.maximum(np.abs(rest) - alpha, 0)
            live = scale[:, f, None] > 1e-12
            new = np.divide(shrunk, scale[:, f, None], out=np.zeros_like(shrunk), where=live)
            change = max(change, float(np.abs(new - weights[:, f]).max()))
            weights[:, f] = new
        if change < _TOLERANCE:
            break
    return weights
