"""Mutual information between a real latent and categorical factors, from nearest neighbours by sorting."""

import numpy as np
from scipy.special import digamma

from distaff.metrics.inputs import Float64Array, IntArray


def neighbour_information(
    latent: Float64Array, classes: IntArray, neighbours: int, ties: Float64Array
) -> Float64Array:
    """(N, K) terms whose means over rows are the estimates of I(z; y_k) in nats by Ross 2014.

    For each row, r is the distance to its k-th neighbour of the same class (n_y of them) and m the number of
    rows of any class nearer than r; the term is ψ(N) + ψ(k) − ψ(n_y) − ψ(m). In one dimension, the neighbours
    of a sorted value are next to it, so all rows are processed at once. Rows alone in their class count 0,
    and ties are broken by noise of scale 1e-10, both as in scikit-learn's ``mutual_info_classif``.

    Args:
        latent: (N,) values of about unit scale.
        classes: (N, K) classes of K factors.
        neighbours: k.
        ties: (N,) noise of unit scale that breaks ties.
    """
    noise = 1e-10 * max(1.0, float(np.abs(latent).mean()))
    z = latent + noise * ties
    order = np.argsort(z)
    psi = np.asarray(digamma(np.arange(len(z) + 1)), dtype=np.float64)
    terms, ordered = np.empty(classes.shape), z[order]
    for k, labels in enumerate(classes.T):
        terms[order, k] = _terms(ordered, labels[order], neighbours, psi)
    return terms


def _terms(z: Float64Array, labels: IntArray, neighbours: int, psi: Float64Array) -> Float64Array:
    """(N,) terms for sorted values ``z``; ``psi`` holds ψ of the integers."""
    counts = np.bincount(labels)
    alone = counts[labels] < 2
    if alone.any():
        terms = np.zeros(len(z))
        if not alone.all():
            kept = _terms(z[~alone], np.unique(labels[~alone], return_inverse=True)[1], neighbours, psi)
            terms[~alone] = kept * len(z) / len(kept)
        return terms
    small = labels.astype(np.uint16) if len(counts) <= 1 << 16 else labels
    by_class = np.argsort(small, kind="stable")  # class by class, sorted within each
    value, label = z[by_class], labels[by_class]
    k = np.minimum(neighbours, counts - 1)[label]
    radius = _distances(value, label, counts, neighbours)
    radius -= 2 * np.spacing(np.abs(value) + radius)  # below the neighbour even after rounding
    near = np.searchsorted(z, value + radius, side="right") - np.searchsorted(z, value - radius, side="left")
    terms = np.empty(len(z))
    terms[by_class] = psi[len(z)] + psi[k] - psi[counts[label]] - psi[np.maximum(near, 1)]
    return terms


def _distances(value: Float64Array, label: IntArray, counts: IntArray, neighbours: int) -> Float64Array:
    """(N,) distance from each value to its k-th neighbour of the same class, or the farthest if fewer exist.

    The k nearest neighbours of a value lie in a window of k + 1 consecutive values of its class that contains
    it: the distance is the minimum over such windows of the distance to the farther end.
    """
    radius = np.full(len(value), np.inf)
    if neighbours < len(value):
        end = value[neighbours:]
        begin = np.where(label[:-neighbours] == label[neighbours:], value[:-neighbours], -np.inf)
        left, right = np.empty_like(end), np.empty_like(end)
        for before in range(neighbours + 1):
            here = slice(before, before + len(end))
            np.subtract(value[here], begin, out=left)  # infinite for a window that spans two classes
            np.subtract(end, value[here], out=right)
            np.maximum(left, right, out=left)
            np.minimum(radius[here], left, out=radius[here])
    few = np.flatnonzero((counts <= neighbours)[label])
    last = np.cumsum(counts)[label[few]] - 1
    first = last + 1 - counts[label[few]]
    radius[few] = np.maximum(value[few] - value[first], value[last] - value[few])
    return radius
