"""Means in bins over each latent's own range, as metrics that look at means alone take them."""

import numpy as np

from distaff.codes import Codes
from distaff.errors import DistaffError
from distaff.metrics.labels import Labels
from distaff.metrics.quantized import Bins, Tables, index_tables


def mean_tables(codes: Codes, bins: int, labels: Labels, groups: int = 1) -> Tables:
    """``Tables`` of the means in ``bins`` between each latent's extremes.

    A categorical latent stands with its likeliest class. A constant latent lies in one bin and knows nothing.
    """
    if bins < 2:
        raise DistaffError(f"bins={bins}: binning the means needs at least 2.")
    columns = []
    for means in np.ascontiguousarray(codes.means.T):
        low, high = float(means.min()), float(means.max())
        columns.append(Bins(bins, low, high).index(means) if high > low else np.zeros(len(means), np.int64))
    columns += [p.argmax(axis=1) for p in codes.categories.values()]
    sizes = [bins] * codes.means.shape[1] + [p.shape[1] for p in codes.categories.values()]
    return index_tables(columns, sizes, labels, groups)
