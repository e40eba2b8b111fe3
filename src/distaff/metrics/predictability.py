"""How well one latent alone predicts one factor: R², best thresholds, a linear SVM.

Each function gives a table (1 + draws, latents, factors): the data's own values, then those of the resamples.
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from distaff.codes import Codes
from distaff.metrics.bootstrap import resample_counts, resample_means
from distaff.metrics.inputs import Float64Array, IntArray
from distaff.metrics.latents import standardised
from distaff.metrics.thresholds import Line


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

    Kumar et al. 2018, by the search of ``distaff.metrics.thresholds``. A categorical latent predicts, for
    each of its classes, the likeliest class of the factor. Resamples keep the thresholds.
    """
    lines = [Line(means) for means in codes.means.T]
    kinds = [p.argmax(axis=1) for p in codes.categories.values()]
    table = np.empty((1 + draws, len(codes.names), len(sizes)))
    for k, size in enumerate(sizes):
        y = np.ascontiguousarray(classes[:, k])
        total = np.bincount(y, minlength=size)
        guesses = [line.guesses(y, size) for line in lines]
        guesses += [_likeliest(kind, y, total) for kind in kinds]
        for i, guess in enumerate(guesses):
            hits = np.bincount(y[guess == y], minlength=size)
            outcomes = np.stack([hits, total - hits], axis=1)[None]
            if draws:
                outcomes = np.concatenate([outcomes, resample_counts(outcomes[0], draws, rng)])
            table[:, i, k] = (outcomes[..., 0] / np.maximum(outcomes.sum(axis=2), 1)).mean(axis=1)
    return table


def svm_accuracies(
    codes: Codes, classes: IntArray, train: IntArray, test: IntArray, penalty: float, standardise: bool
) -> Float64Array:
    """Test accuracy of one balanced linear SVM a pair; a categorical latent enters as indicators.

    The latents enter as they are, and their scales matter through the penalty, or standardised.
    """
    means = standardised(codes.means) if standardise else codes.means
    inputs = [column[:, None] for column in means.T]
    inputs += [np.eye(p.shape[1])[p.argmax(axis=1)] for p in codes.categories.values()]
    table = np.empty((1, len(inputs), classes.shape[1]))
    for k, labels in enumerate(classes.T):
        only = labels[train[0]] if (labels[train] == labels[train[0]]).all() else None
        for i, x in enumerate(inputs):
            if only is None:
                model = LinearSVC(C=penalty, class_weight="balanced", dual=False)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    model.fit(x[train], labels[train])
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


def _likeliest(kind: IntArray, y: IntArray, total: IntArray) -> IntArray:
    """(N,) the class whose rows are most often of the same kind as this row."""
    counts = np.zeros((len(total), int(kind.max()) + 1))
    np.add.at(counts, (y, kind), 1)
    return np.asarray((counts / total[:, None]).argmax(axis=0)[kind])
