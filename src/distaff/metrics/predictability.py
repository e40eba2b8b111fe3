"""How well one latent alone predicts one factor: R², best thresholds, a linear SVM.

Each function gives a table (latents, factors).
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from distaff.codes import Codes, FloatArray
from distaff.metrics.active_latents import standardised
from distaff.metrics.inputs import Float64Array, IntArray
from distaff.metrics.thresholds import Line, best_labels


def r_squared(codes: Codes, values: Float64Array) -> Float64Array:
    """Cov²/(Var Var) of each latent and real factor; for a categorical latent the variance explained."""
    tables = [_squared_correlations(codes.means, values)]
    for p in codes.categories.values():
        member = np.eye(p.shape[1])[p.argmax(axis=1)]
        # of disjoint members, the squared correlations with weight 1 − P(c) sum to the variance explained
        weight = 1 - member.mean(axis=0)[:, None]
        tables.append((_squared_correlations(member, values) * weight).sum(axis=0, keepdims=True))
    return np.concatenate(tables)


def threshold_accuracies(codes: Codes, classes: IntArray, sizes: list[int]) -> Float64Array:
    """The best balanced accuracy of thresholds that cut each latent into one interval per class.

    Kumar et al. 2018, by the search of ``distaff.metrics.thresholds``. A categorical latent predicts, for
    each of its classes, the likeliest class of the factor.
    """
    lines = [Line(means) for means in codes.means.T]
    kinds = [p.argmax(axis=1) for p in codes.categories.values()]
    table = np.empty((len(codes.names), len(sizes)))
    for k, size in enumerate(sizes):
        y = np.ascontiguousarray(classes[:, k])
        total = np.bincount(y, minlength=size)
        candidates = [line.candidates(y, size) for line in lines]
        labels = best_labels([found.recall for found in candidates]) if lines else []
        cuts = zip(candidates, labels, strict=True)
        guesses = [line.guesses(*cut) for line, cut in zip(lines, cuts, strict=True)]
        guesses += [_likeliest(kind, y, total) for kind in kinds]
        for i, guess in enumerate(guesses):
            hits = np.bincount(y[guess == y], minlength=size)
            table[i, k] = (hits / np.maximum(total, 1)).mean()
    return table


def svm_accuracies(
    codes: Codes, classes: IntArray, train: IntArray, test: IntArray, penalty: float, standardise: bool
) -> Float64Array:
    """Test accuracy of one balanced linear SVM per pair; a categorical latent enters as indicators.

    The latents enter as they are, and their scales matter through the penalty, or standardised.
    """
    means = standardised(codes.means) if standardise else codes.means
    inputs = [column[:, None] for column in means.T]
    inputs += [np.eye(p.shape[1])[p.argmax(axis=1)] for p in codes.categories.values()]
    table = np.empty((len(inputs), classes.shape[1]))
    for k, labels in enumerate(classes.T):
        only = labels[train[0]] if (labels[train] == labels[train[0]]).all() else None
        for i, x in enumerate(inputs):
            if only is None:
                model = LinearSVC(C=penalty, class_weight="balanced", dual=False)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    model.fit(x[train], labels[train])
            guessed = model.predict(x[test]) if only is None else only
            table[i, k] = (guessed == labels[test]).mean()
    return table


def _squared_correlations(x: FloatArray, y: FloatArray) -> Float64Array:
    """(X, Y) squared correlations of columns; 0 for a constant one."""
    correlations = standardised(x).T @ standardised(y) / len(x)
    return np.asarray(np.minimum(correlations**2, 1.0))


def _likeliest(kind: IntArray, y: IntArray, total: IntArray) -> IntArray:
    """(N,) the class whose rows are most often of the same kind as this row."""
    counts = np.zeros((len(total), int(kind.max()) + 1))
    np.add.at(counts, (y, kind), 1)
    return np.asarray((counts / total[:, None]).argmax(axis=0)[kind])
