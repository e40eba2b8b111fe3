"""Logistic regressions by Newton's method: multinomial, or one versus the rest for all classes together."""

from collections.abc import Callable
from functools import partial

import numpy as np

from distaff.codes import FloatArray
from distaff.foundation.parallel import one_thread, side_by_side
from distaff.metrics.inputs import Float64Array, IntArray

_STEPS, _TOLERANCE, _BLOCK = 60, 1e-3, 2_000
_HALVINGS, _PRODUCTS = 20, 300
_SAMPLE = 8_000
_WIDE = 64
"""With more inputs, the Hessians of all classes are too large, and only Hessian-vector products are used."""


def one_versus_rest(
    x: Float64Array, classes: IntArray, sizes: tuple[int, ...], penalty: float = 1.0
) -> Float64Array:
    """(F + 1, ΣC) weights, with the intercept last, and one column for each class of each factor in turn.

    Each column minimises Σ_n log(1 + exp(−y_n (x_n·w + b))) + ``penalty``·|w|²/2, like scikit-learn's
    ``LogisticRegression(C=1)``, to within a thousandth of a nat over all rows. A Newton step for all classes
    takes three matrix products: every Hessian Σ_n p_n(1 − p_n) x_n x_nᵀ is a weighted sum of the same
    products of inputs.

    Args:
        x: (N, F) inputs of about unit scale.
        classes: (N, K) classes of K factors.
        sizes: the number of classes of each factor.
        penalty: penalty on the squared weights; the intercept is not penalised.
    """
    inputs = np.concatenate([x, np.ones((len(x), 1))], axis=1).astype(np.float32)
    targets = classes + np.concatenate([[0], np.cumsum(sizes)[:-1]])
    ridge = penalty * np.diag([*np.ones(x.shape[1]), 1e-9])
    weights = np.zeros((inputs.shape[1], sum(sizes)))
    if len(x) > 4 * _SAMPLE:  # start from the solution on a sample, where steps are cheap
        rows = np.random.default_rng(0).permutation(len(x))[:_SAMPLE]
        weights = one_versus_rest(x[rows], classes[rows], sizes, penalty * _SAMPLE / len(x))
    if x.shape[1] > _WIDE:
        with one_thread("blas"):  # parallel over rows instead: threads within a product wait for each other
            return _by_products(inputs, targets, weights, ridge.diagonal()[:, None])
    return _newton(lambda proposal: _derivatives(inputs, targets, proposal, ridge), weights)


def multinomial(x: Float64Array, classes: IntArray, count: int, penalty: float = 1.0) -> Float64Array:
    """(F + 1, ``count``) weights, with the intercept last, of a softmax over the classes (N,) given x (N, F).

    They minimise −Σ_n log softmax(x_n·W + b)_{y_n} + ``penalty``·|W|²/2, like scikit-learn's
    ``LogisticRegression(C=1 / penalty)``, which penalises w_1 − w_0 for two classes, that is, twice as much;
    to within two thousandths of a nat over all rows, as it may be where the loss falls exponentially.

    The Hessian is the sum over pairs of classes of p_k p_l (e_k − e_l)(e_k − e_l)ᵀ ⊗ x xᵀ, never negative.
    Here too, it is a weighted sum of the same products of inputs, which are few enough to keep. Its rounding,
    in single precision, changes the way to the minimum, not the minimum.
    """
    inputs = np.concatenate([x, np.ones((len(x), 1))], axis=1)
    products, rows, width = _products(inputs.astype(np.float32)), np.arange(len(x)), inputs.shape[1]
    each = penalty * (2 if count == 2 else 1)
    ridge = np.kron(np.eye(count), np.diag([*np.full(width - 1, each), 1e-9]))
    # The intercepts' sum has no effect. Penalising it makes it 0, and the Hessian invertible.
    ridge[width - 1 :: width, width - 1 :: width] += 1
    first, second = np.triu_indices(count, 1)

    def derivatives(flat: Float64Array) -> tuple[Float64Array, Float64Array, Float64Array]:
        logits = flat.reshape(count, width) @ inputs.T
        logits -= logits.max(axis=0)
        p = np.exp(logits)
        total = p.sum(axis=0)
        p /= total
        value = np.log(total).sum() - logits[classes, rows].sum()
        pairs = np.zeros((count, count, products.shape[1]))
        pairs[first, second] = pairs[second, first] = -((p[first] * p[second]).astype(np.float32) @ products)
        pairs[np.arange(count), np.arange(count)] = -pairs.sum(axis=1)
        hessian = _symmetric(pairs, width).swapaxes(1, 2).reshape(ridge.shape) + ridge
        p[classes, rows] -= 1
        pull = ridge @ flat
        return value + 0.5 * (flat * pull).sum(axis=0), (p @ inputs).reshape(-1, 1) + pull, hessian[None]

    return _newton(derivatives, np.zeros((count * width, 1))).reshape(count, width).T


def _newton(
    derivatives: Callable[[Float64Array], tuple[Float64Array, Float64Array, Float64Array]],
    weights: Float64Array,
) -> Float64Array:
    """(F, C) the weights that minimise C problems, by Newton steps that are halved where they do not help.

    ``derivatives`` returns the values (C,), gradients (F, C) and Hessians (C, F, F) at some weights (F, C).
    """
    step, scale = np.zeros_like(weights), np.ones(weights.shape[1])
    value = np.full(weights.shape[1], np.inf)
    for _ in range(_STEPS):
        proposal = weights - scale * step
        with one_thread("blas"):  # the products are too narrow to parallelise
            new, gradient, hessian = derivatives(proposal)
        worse = new > value + 1e-6 * np.abs(value) + _TOLERANCE
        scale = np.where(worse, scale / 2, 1.0)
        weights, value = np.where(worse, weights, proposal), np.where(worse, value, new)
        newton = np.linalg.solve(hessian, gradient.T[:, :, None])[:, :, 0].T
        step = np.where(worse, step, newton)
        if not worse.any() and (gradient * newton).sum(axis=0).max() < 2 * _TOLERANCE:
            break
    return weights


def _by_products(
    inputs: FloatArray, targets: IntArray, weights: Float64Array, ridge: Float64Array
) -> Float64Array:
    """The same weights without Hessians: Newton steps for all classes, each solved by conjugate gradients.

    The products of every Hessian H_c = Xᵀ diag(p_c(1 − p_c)) X + ridge with a vector take two matrix products
    for all classes together. XᵀX = QΛQᵀ is decomposed once, and Q(s_c Λ + penalty)Qᵀ, with s_c the mean of
    p_c(1 − p_c), approximates H_c: s_c changes by orders of magnitude as the classes become certain.
    Steps are solved loosely, to a quarter in that norm (inexact Newton; Dembo, Eisenstat & Steihaug 1982).
    """
    inverse = _Preconditioner(inputs, ridge[0, 0])
    value, gradient, curvature = _slopes(inputs, targets, weights, ridge)
    for _ in range(_STEPS):
        step = _newton_step(inputs, curvature, gradient, ridge, inverse)
        gain = (gradient * step).sum(axis=0)
        scale = np.ones(len(gain))
        for _ in range(_HALVINGS):
            proposal = weights - scale * step
            new, slope, bend = _slopes(inputs, targets, proposal, ridge)
            worse = new > value + 1e-6 * np.abs(value) + _TOLERANCE
            if not worse.any():
                break
            scale = np.where(worse, scale / 2, scale)
        weights = np.where(worse, weights, proposal)
        value, gradient = np.where(worse, value, new), np.where(worse, gradient, slope)
        curvature = np.where(worse[:, None], curvature, bend)
        if np.all(worse | (gain < 2 * _TOLERANCE)):  # if no fraction of a step helps, precision is exhausted
            break
    return weights


class _Preconditioner:
    """r ↦ (s XᵀX + penalty)⁻¹ r for every class's s at once, from one decomposition of XᵀX or XXᵀ."""

    def __init__(self, inputs: FloatArray, penalty: float) -> None:
        rows, width = inputs.shape
        if rows < width:
            values, vectors = np.linalg.eigh((inputs @ inputs.T).astype(np.float64))
            kept = values > 1e-6 * values[-1]
            values, vectors = values[kept], inputs.T @ vectors[:, kept] / np.sqrt(values[kept])
        else:
            values, vectors = np.linalg.eigh((inputs.T @ inputs).astype(np.float64))
        self.values, self.vectors, self.penalty = np.maximum(values, 0), vectors, penalty

    def __call__(self, r: Float64Array, means: Float64Array) -> Float64Array:
        """(F, C) preconditioned residuals, from residuals (F, C) and mean curvatures (C,)."""
        excess = self.values[:, None] * means
        share = -excess / (excess + self.penalty)
        return np.asarray((r + self.vectors @ (share * (self.vectors.T @ r))) / self.penalty)


def _newton_step(
    inputs: FloatArray,
    curvature: FloatArray,
    gradient: Float64Array,
    ridge: Float64Array,
    inverse: _Preconditioner,
) -> Float64Array:
    """(F, C) approximate solutions of H_c d = g_c; converged classes are left out of the products."""
    step, rest = np.zeros_like(gradient), gradient.copy()
    means = curvature.mean(axis=1, dtype=np.float64)
    ahead = inverse(rest, means)
    size = (rest * ahead).sum(axis=0)
    enough = np.maximum(size / 16, _TOLERANCE / 50)
    for _ in range(_PRODUCTS):
        left = size > enough
        if not left.any():
            break
        p, bend = ahead[:, left], curvature[left]
        product = ridge * p
        for bent in side_by_side(partial(_bent, inputs, p.T.astype(np.float32), bend), _blocks(inputs)):
            product += bent.T
        length = size[left] / (p * product).sum(axis=0)
        step[:, left] += length * p
        rest[:, left] -= length * product
        turned = inverse(rest[:, left], means[left])
        now = (rest[:, left] * turned).sum(axis=0)
        ahead[:, left] = turned + now / size[left] * p
        size[left] = now
    return step


def _bent(inputs: FloatArray, vectors: FloatArray, curvature: FloatArray, rows: slice) -> FloatArray:
    """(C, F) products of Xᵀ diag(p(1 − p)) X, over some rows, with the vectors (C, F)."""
    x = inputs[rows]
    return ((vectors @ x.T) * curvature[:, rows]) @ x


def _slopes(
    inputs: FloatArray, targets: IntArray, weights: Float64Array, ridge: Float64Array
) -> tuple[Float64Array, Float64Array, FloatArray]:
    """Values (C,), gradients (F, C) and p(1 − p) (C, N) of all problems, in blocks of rows."""
    count = weights.shape[1]
    value = 0.5 * (weights * (ridge * weights)).sum(axis=0)
    gradient = ridge * weights
    single = weights.astype(np.float32)
    curvature = np.empty((count, len(inputs)), np.float32)

    def of_rows(rows: slice) -> tuple[Float64Array, FloatArray]:
        x, y = inputs[rows], targets[rows]
        p, losses = _probabilities(x @ single, y, count)
        slope = x.T @ p
        p[np.arange(len(x))[:, None], y] += 1
        curvature[:, rows] = (p * (1 - p)).T
        return losses, slope

    for losses, slope in side_by_side(of_rows, _blocks(inputs)):
        value += losses
        gradient += slope
    return value, gradient, curvature


def _blocks(inputs: FloatArray) -> list[slice]:
    return [slice(start, start + _BLOCK) for start in range(0, len(inputs), _BLOCK)]


def _probabilities(logits: FloatArray, y: IntArray, count: int) -> tuple[FloatArray, Float64Array]:
    """(N, C) probabilities, minus 1 for each row's own class, and (C,) sums of losses."""
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
    hessian = np.zeros((count, width * (width + 1) // 2))
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
    return value, gradient, _symmetric(hessian, width) + ridge


def _symmetric(upper: Float64Array, width: int) -> Float64Array:
    """(..., F, F) symmetric matrices from their upper triangles (..., F(F + 1)/2), row by row."""
    rows, columns = np.triu_indices(width)
    whole = np.empty((*upper.shape[:-1], width, width))
    whole[..., rows, columns] = whole[..., columns, rows] = upper
    return whole


def _products(x: FloatArray) -> FloatArray:
    """(N, F(F + 1)/2) x_i x_j for i ≤ j, in the order of ``numpy.triu_indices``; the rest is symmetric."""
    width = x.shape[1]
    products = np.empty((len(x), width * (width + 1) // 2), x.dtype)
    place = 0
    for i in range(width):
        np.multiply(x[:, i, None], x[:, i:], out=products[:, place : place + width - i])
        place += width - i
    return products
