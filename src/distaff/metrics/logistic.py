"""Logistic regressions of every class of every factor against the rest, all solved at once."""

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize

from distaff.codes import FloatArray
from distaff.foundation.parallel import one_thread
from distaff.metrics.inputs import Float64Array, IntArray

_STEPS, _TOLERANCE, _BLOCK = 60, 1e-3, 10_000
_SAMPLE = 8_000
_WIDE = 64
"""Beyond so many inputs, Hessians of all classes are too large: the gradient alone finds the way."""


def one_versus_rest(
    x: Float64Array, classes: IntArray, sizes: tuple[int, ...], penalty: float = 1.0
) -> Float64Array:
    """(F + 1, ΣC) weights, the intercept last, one column for each class of each factor in turn.

    Each minimises Σ_n log(1 + exp(−y_n (x_n·w + b))) + ``penalty``·|w|²/2, as scikit-learn's
    ``LogisticRegression(C=1)``, to within a thousandth of a nat over all rows. A Newton step for all classes
    is three matrix products: every Hessian Σ_n p_n(1 − p_n) x_n x_nᵀ weights the same products of inputs.

    Args:
        x: (N, F) inputs of about unit scale.
        classes: (N, K) classes of K factors.
        sizes: the number of classes of each factor.
        penalty: of the squared weights; the intercept is free.
    """
    inputs = np.concatenate([x, np.ones((len(x), 1))], axis=1).astype(np.float32)
    targets = classes + np.concatenate([[0], np.cumsum(sizes)[:-1]])
    ridge = penalty * np.diag([*np.ones(x.shape[1]), 1e-9])
    if x.shape[1] > _WIDE:
        return _by_gradients(inputs, targets, sum(sizes), ridge)
    weights = np.zeros((inputs.shape[1], sum(sizes)))
    if len(x) > 4 * _SAMPLE:  # a sample finds most of the way, where steps are cheap
        rows = np.random.default_rng(0).permutation(len(x))[:_SAMPLE]
        weights = one_versus_rest(x[rows], classes[rows], sizes, penalty * _SAMPLE / len(x))
    step, scale = np.zeros_like(weights), np.ones(sum(sizes))
    value = np.full(sum(sizes), np.inf)
    for _ in range(_STEPS):
        proposal = weights - scale * step
        with one_thread("blas"):  # the products are too narrow to share
            new, gradient, hessian = _derivatives(inputs, targets, proposal, ridge)
        worse = new > value + 1e-6 * np.abs(value) + _TOLERANCE
        scale = np.where(worse, scale / 2, 1.0)
        weights, value = np.where(worse, weights, proposal), np.where(worse, value, new)
        newton = np.linalg.solve(hessian, gradient.T[:, :, None])[:, :, 0].T
        step = np.where(worse, step, newton)
        if not worse.any() and (gradient * newton).sum(axis=0).max() < 2 * _TOLERANCE:
            break
    return weights


def _by_gradients(inputs: FloatArray, targets: IntArray, count: int, ridge: Float64Array) -> Float64Array:
    """The same weights without Hessians: L-BFGS of all classes at once.

    p(1 − p) ≤ ¼, so that no Hessian exceeds A = ¼ XᵀX + ridge (Böhning & Lindsay 1988). In the coordinates
    v = Lᵀw with A = LLᵀ all of them lie below the identity, and few steps are needed.
    """
    bound = 0.25 * (inputs.T @ inputs).astype(np.float64) + ridge
    scale = 1e-10 * np.trace(bound) / len(bound)
    lower = cholesky(bound + scale * np.eye(len(bound)), lower=True)

    def value_and_gradient(flat: Float64Array) -> tuple[float, Float64Array]:
        weights = solve_triangular(lower, flat.reshape(len(lower), count), lower=True, trans="T")
        values, gradient = _slopes(inputs, targets, weights, ridge)
        return float(values.sum()), solve_triangular(lower, gradient, lower=True).ravel()

    start = np.zeros(len(lower) * count)
    found = minimize(
        value_and_gradient,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 500, "maxcor": 20, "gtol": np.sqrt(_TOLERANCE / len(lower)), "ftol": 1e-12},
    )
    return np.asarray(solve_triangular(lower, found.x.reshape(len(lower), count), lower=True, trans="T"))


def _slopes(
    inputs: FloatArray, targets: IntArray, weights: Float64Array, ridge: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Values (C,) and gradients (F, C) of all problems, in blocks of rows."""
    count = weights.shape[1]
    value = 0.5 * (weights * (ridge @ weights)).sum(axis=0)
    gradient = ridge @ weights
    single = weights.astype(np.float32)
    for start in range(0, len(inputs), _BLOCK):
        x, y = inputs[start : start + _BLOCK], targets[start : start + _BLOCK]
        logits = x @ single
        p, losses = _probabilities(logits, y, count)
        value += losses
        gradient += x.T @ p
    return value, gradient


def _probabilities(logits: FloatArray, y: IntArray, count: int) -> tuple[FloatArray, Float64Array]:
    """(N, C) probabilities less 1 for the rows' own classes, and (C,) sums of losses."""
    rows = np.arange(len(logits))[:, None]
    decay = np.exp(-np.abs(logits))
    losses = (np.maximum(logits, 0) + np.log(1 + decay)).sum(axis=0, dtype=np.float64)
    losses -= np.bincount(y.ravel(), weights=logits[rows, y].ravel(), minlength=count)
    p = np.where(logits >= 0, np.float32(1), decay) / (1 + decay)
    p[rows, y] -= 1
    return p, losses


def _derivatives(
    inputs: FloatArray,
    targets: IntArray,
    weights: Float64Array,
    ridge: Float64Array,
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Values (C,), gradients (F, C) and Hessians (C, F, F) of all problems, in blocks of rows."""
    width, count = weights.shape
    value = 0.5 * (weights * (ridge @ weights)).sum(axis=0)
    gradient = ridge @ weights
    upper = np.triu_indices(width)
    hessian = np.zeros((count, len(upper[0])))
    single = weights.astype(np.float32)
    for start in range(0, len(inputs), _BLOCK):
        x, y = inputs[start : start + _BLOCK], targets[start : start + _BLOCK]
        rows = np.arange(len(x))[:, None]
        p, losses = _probabilities(x @ single, y, count)
        value += losses
        gradient += x.T @ p
        p[rows, y] += 1
        curvature = p * (1 - p)
        hessian += curvature.T @ _products(x)
    whole = np.empty((count, width, width))
    whole[:, upper[0], upper[1]] = whole[:, upper[1], upper[0]] = hessian
    return value, gradient, whole + ridge


def _products(x: FloatArray) -> FloatArray:
    """(N, F(F + 1)/2) x_i x_j for i ≤ j, in the order of ``numpy.triu_indices``: the others are the same."""
    width = x.shape[1]
    products = np.empty((len(x), width * (width + 1) // 2), x.dtype)
    place = 0
    for i in range(width):
        np.multiply(x[:, i, None], x[:, i:], out=products[:, place : place + width - i])
        place += width - i
    return products
