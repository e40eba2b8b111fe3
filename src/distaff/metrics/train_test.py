"""Helpers of metrics that train predictors: training and test rows, and latents as columns."""

import numpy as np

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError
from distaff.metrics.active_latents import standardised
from distaff.metrics.inputs import Float64Array, IntArray

_FEWEST = 20


def split_rows(count: int, train: int, test: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Random disjoint training and test rows: as many as requested, or all rows in the same proportion."""
    if count < _FEWEST:
        raise DistaffError(f"{count} rows are too few to train on some and test on others: give {_FEWEST}.")
    if train + test > count:
        train = min(max(1, round(count * train / (train + test))), count - 1)
        test = count - train
    rows = rng.permutation(count)[: train + test]
    return rows[:train], rows[train:]


def columns(codes: Codes, *, standardise: bool = True) -> tuple[Float64Array, IntArray]:
    """(N, F) means, optionally standardised, then class probabilities; and (F,) the latent of each column."""
    means = standardised(codes.means) if standardise else codes.means.astype(np.float64)
    parts = [means, *(p.astype(np.float64) for p in codes.categories.values())]
    gaussian = codes.means.shape[1]
    owners = [np.arange(gaussian)]
    owners += [np.full(p.shape[1], gaussian + g) for g, p in enumerate(codes.categories.values())]
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1), np.concatenate(owners)


def by_latent(columnwise: Float64Array, owners: IntArray) -> Float64Array:
    """(D + groups, ...) sums of a per-column quantity (F, ...) over the columns of each latent."""
    total = np.zeros((owners.max() + 1, *columnwise.shape[1:]))
    np.add.at(total, owners, columnwise)
    return total
