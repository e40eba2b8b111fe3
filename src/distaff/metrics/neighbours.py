"""Mutual information of a real latent and a factor of classes from nearest neighbours, by sorting."""

import numpy as np
from scipy.special import digamma

from distaff.metrics.inputs import Float64Array, IntArray


def neighbour_information(
    latent: Float64Array, classes: IntArray, neighbours: int, rng: np.random.Generator
) -> Float64Array:
    """(N,) terms whose mean is the estimate of I(z; y) in nats by Ross 2014.

    For each row, r is the distance to its k-th neighbour of the same class (n_y of them) and m the number of
    rows of any class nearer than r; the term is ψ(N) + ψ(k) − ψ(n_y) − ψ(m). On a line the neighbours of a
    sorted value are beside it, so that all rows are done at once. Rows alone in their class count 0, ties are
    broken by noise of 1e-10, both as in scikit-learn's ``mutual_info_classif``.
    """
    z = latent + 1e-10 * max(1.0, float(np.abs(latent).mean())) * rng.standard_normal(len(latent))
    counts = np.bincount(classes)
    kept = np.flatnonzero(counts[classes] > 1)
    z, labels = z[kept], classes[kept]
    order = np.lexsort((z, labels))
    grouped, of = z[order], labels[order]
    first = np.searchsorted(of, of, side="left")
    last = np.searchsorted(of, of, side="right") - 1
    k = np.minimum(neighbours, counts[of] - 1)
    here = np.arange(len(grouped))
    radius = np.full(len(grouped), np.inf)
    for before in range(neighbours + 1):
        low, high = here - before, here - before + k
        inside = (before <= k) & (low >= first) & (high <= last)
        left, right = (grouped[np.clip(place, 0, len(z) - 1)] for place in (low, high))
        reach = np.maximum(grouped - left, right - grouped)
        radius = np.where(inside, np.minimum(radius, reach), radius)
    radius = radius - 2 * np.spacing(np.abs(grouped) + radius)  # below the neighbour even after rounding
    line = np.sort(z)
    near = np.searchsorted(line, grouped + radius, side="right")
    near = near - np.searchsorted(line, grouped - radius, side="left")
    terms = np.zeros(len(latent))
    scale = len(latent) / max(len(kept), 1)
    local = digamma(len(kept)) + digamma(k) - digamma(counts[of]) - digamma(np.maximum(near, 1))
    terms[kept[order]] = scale * local
    return terms
