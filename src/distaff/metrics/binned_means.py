"""Means in bins over each latent's own range, as metrics that look at means alone take them."""

from itertools import chain

import numpy as np

from distaff.codes import Codes, FloatArray
from distaff.metrics.inputs import IntArray
from distaff.metrics.labels import Labels
from distaff.metrics.quantized import Tables, bin_numbers, index_tables


def mean_tables(codes: Codes, bins: int, labels: Labels) -> Tables:
    """``Tables`` of the means in ``bins`` between each latent's extremes.

    The edges are those of ``numpy.histogram``, in the precision of the means, as in Locatello et al. 2019.
    A categorical latent stands with its likeliest class. A constant latent lies in one bin and knows nothing.
    """
    indices = chain(
        (_indices(np.ascontiguousarray(means), bins) for means in codes.means.T),
        (p.argmax(axis=1) for p in codes.categories.values()),
    )
    sizes = [bins] * codes.means.shape[1] + [p.shape[1] for p in codes.categories.values()]
    return index_tables(indices, len(codes), sizes, labels)


def _indices(means: FloatArray, bins: int) -> IntArray:
    low, high = means.min(), means.max()
    if not low < high:
        return np.zeros(len(means), np.int64)
    return bin_numbers(means, np.linspace(low, high, bins + 1, dtype=means.dtype))
