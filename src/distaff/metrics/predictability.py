"""How well one latent alone predicts one factor: R², best thresholds, a linear SVM.

Each function gives a table (1 + draws, latents, factors): the data's own values, then those of the resamples.
"""

import numpy as np
from sklearn.svm import LinearSVC

from distaff.codes import Codes
from distaff.metrics.bootstrap import resample_counts, resample_means
from distaff.metrics.inputs import Float64Array, IntArray
from distaff.metrics.latents import standardised

_CANDIDATES = 256


def r_squared(codes: Codes, values: Float64Array, draws: int, rng: np.random.Generator) -> Float64Array:
    """Cov²/(Var Var) of each latent and real factor; for a categorical latent the variance explained."""
    y = standardised(values)
    z = standardised(codes.means)
    tables = [_squared_correlations(z, y, draws, rng)]
    for p in codes.categories.values():
        member = np.eye(p.shape[1])[p.argmax(axis=1)]
        # of disjoint members, the squared correlations with weight 1 − P(c) sum to the variance explained
        weight = 1 - member.mean(axis=0)[:, None]
        tables.append((_squared_correlations(member, y, draws, rng) * weight).sum(axis=1, keepdims=True))
    return np.concatenate(tables, axis=1)


def threshold_accuracies(
    codes: Codes, classes: IntArray, sizes: list[int], draws: int, rng: np.random.Generator
) -> Float64Array:
    """The best balanced accuracy of thresholds that cut each latent into one interval a class.

    Kumar et al. 2018, by an exact search over intervals whose ends are quantiles of the latent (255 of them,
    or all its gaps if there are fewer). A categorical latent predicts, for each of its classes, the likeliest
    class of the factor. Resamples keep the thresholds.
    """
    cells = [_quantile_bins(means) for means in codes.means.T]
    cells += [p.argmax(axis=1) for p in codes.categories.values()]
    table = np.empty((1 + draws, len(cells), len(sizes)))
    for i, place in enumerate(cells):
        bins = int(place.max()) + 1
        for k, size in enumerate(sizes):
            counts = np.bincount(classes[:, k] * bins + place, minlength=size * bins).reshape(size, bins)
            recall = counts / counts.sum(axis=1, keepdims=True)
            guess = _best_intervals(recall) if i < codes.means.shape[1] else recall.argmax(axis=0)
            hits = np.where(guess == np.arange(size)[:, None], counts, 0).sum(axis=1)
            outcomes = np.stack([hits, counts.sum(axis=1) - hits], axis=1)[None]
            if draws:
                outcomes = np.concatenate([outcomes, resample_counts(outcomes[0], draws, rng)])
            table[:, i, k] = (outcomes[..., 0] / np.maximum(outcomes.sum(axis=2), 1)).mean(axis=1)
    return table


def svm_accuracies(
    codes: Codes, classes: IntArray, train: IntArray, test: IntArray, penalty: float
) -> Float64Array:
    """Test accuracy of one balanced linear SVM a pair; a categorical latent enters as indicators."""
    inputs = [column[:, None] for column in standardised(codes.means).T]
    inputs += [np.eye(p.shape[1])[p.argmax(axis=1)] for p in codes.categories.values()]
    table = np.empty((1, len(inputs), classes.shape[1]))
    for k, labels in enumerate(classes.T):
        only = labels[train[0]] if (labels[train] == labels[train[0]]).all() else None
        for i, x in enumerate(inputs):
            if only is None:
                model = LinearSVC(C=penalty, class_weight="balanced", dual=False).fit(x[train], labels[train])
            guessed = model.predict(x[test]) if only is None else only
            table[0, i, k] = (guessed == labels[test]).mean()
    return table


def _squared_correlations(
    x: Float64Array, y: Float64Array, draws: int, rng: np.random.Generator
) -> Float64Array:
    """(1 + draws, X, Y) squared correlations of columns, from the means of products."""
    products = (x[:, :, None] * y[:, None, :]).reshape(len(x), -1)
    moments = np.concatenate([x, x**2, y, y**2, products], axis=1)
    means = moments.mean(axis=0, keepdims=True)
    if draws:
        means = np.concatenate([means, resample_means(moments, draws, rng)])
    a, b = x.shape[1], y.shape[1]
    ex, exx, ey, eyy, exy = np.split(means, np.cumsum([a, a, b, b]), axis=1)
    covariance = exy.reshape(len(means), a, b) - ex[:, :, None] * ey[:, None, :]
    variances = (exx - ex**2)[:, :, None] * (eyy - ey**2)[:, None, :]
    squared = np.divide(covariance**2, variances, out=np.zeros_like(covariance), where=variances > 1e-12)
    return np.asarray(np.minimum(squared, 1.0))


def _quantile_bins(latent: Float64Array) -> IntArray:
    """(N,) the bin of each value: its rank among distinct values, or among quantiles if those are many."""
    values, place = np.unique(latent, return_inverse=True)
    if len(values) > _CANDIDATES:
        levels = np.linspace(0, 1, _CANDIDATES + 1)[1:-1]
        place = np.searchsorted(np.unique(np.quantile(latent, levels)), latent, side="right")
    return place.astype(np.int64)


def _best_intervals(recall: Float64Array) -> IntArray:
    """(B,) the class given to each bin when one interval a class wins the most of the recall (C, B)."""
    size, bins = recall.shape
    upto = np.zeros((size, bins + 1))
    np.cumsum(recall, axis=1, out=upto[:, 1:])
    # gain[a, b]: recall won by giving bins a ... b − 1 to the class with the largest share of itself there
    gain = np.full((bins + 1, bins + 1), -np.inf)
    winner = np.zeros((bins + 1, bins + 1), dtype=np.int64)
    for c, row in enumerate(upto):
        won = row[None, :] - row[:, None]
        np.copyto(winner, c, where=won > gain)
        np.maximum(gain, won, out=gain)
    gain[np.tril_indices(bins + 1, -1)] = -np.inf
    best, starts = gain[0], []
    for _ in range(min(size, bins) - 1):
        extended = best[:, None] + gain
        starts.append(extended.argmax(axis=0))
        best = extended.max(axis=0)
    guess, end = np.zeros(bins, dtype=np.int64), bins
    for start in [*reversed(starts), np.zeros(bins + 1, dtype=np.int64)]:
        guess[start[end] : end] = winner[start[end], end]
        end = int(start[end])
    return guess
