"""How well a single latent predicts a single factor: R², best thresholds, a linear SVM.

Each function returns a table (latents, factors).
"""

import warnings
from itertools import chain

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from distaff.codes import Codes, FloatArray
from distaff.foundation.parallel import side_by_side
from distaff.metrics.active_latents import standardised
from distaff.metrics.inputs import Float64Array, IntArray
from distaff.metrics.support_vectors import machines
from distaff.metrics.thresholds import Line, best_labels


def r_squared(codes: Codes, values: Float64Array) -> Float64Array:
    """Cov²/(Var Var) of each latent and real factor; the variance explained for a categorical latent."""
    tables = [_squared_correlations(codes.means, values)]
    for p in codes.categories.values():
        member = np.eye(p.shape[1])[p.argmax(axis=1)]
        # for disjoint classes, squared correlations weighted by 1 − P(c) sum to the variance explained
        weight = 1 - member.mean(axis=0)[:, None]
        tables.append((_squared_correlations(member, values) * weight).sum(axis=0, keepdims=True))
    return np.concatenate(tables)


def threshold_accuracies(codes: Codes, classes: IntArray, sizes: list[int]) -> Float64Array:
    """The best balanced accuracy of thresholds that cut each latent into one interval per class.

    Kumar et al. 2018, with the search of ``distaff.metrics.thresholds``. For each of its classes, a
    categorical latent predicts the most likely class of the factor.
    """
    lines = [Line(means) for means in codes.means.T]
    kinds = [p.argmax(axis=1) for p in codes.categories.values()]

    def of_factor(k: int) -> list[float]:
        y = np.ascontiguousarray(classes[:, k])
        total = np.bincount(y, minlength=sizes[k])
        candidates = [line.candidates(y, sizes[k]) for line in lines]
        labels = best_labels([found.recall for found in candidates]) if lines else []
        cuts = zip(lines, candidates, labels, strict=True)
        by_line = (line.guesses(found, chosen) for line, found, chosen in cuts)
        by_kind = (_likeliest(kind, y, total) for kind in kinds)
        hits = [np.bincount(y[guess == y], minlength=sizes[k]) for guess in chain(by_line, by_kind)]
        return [float((right / np.maximum(total, 1)).mean()) for right in hits]

    return np.array(list(side_by_side(of_factor, range(len(sizes))))).T


def svm_accuracies(
    codes: Codes, classes: IntArray, train: IntArray, test: IntArray, penalty: float, standardise: bool
) -> Float64Array:
    """Test accuracy of one balanced linear SVM per pair; a categorical latent enters as indicators.

    The latents are either standardised, or enter unchanged, where the penalty makes their scales matter.
    """
    means = standardised(codes.means) if standardise else codes.means
    known, truth, sizes = classes[train], classes[test], tuple((classes.max(axis=0) + 1).tolist())
    columns = (means[rows].T.astype(np.float64, order="C") for rows in (train, test))
    right = []
    for learnt, asked in zip(*columns, strict=True):
        guessed = machines(learnt, known, sizes, penalty).guesses(asked)
        right.append((guessed == truth).mean(axis=0))
    for p in codes.categories.values():
        member = np.eye(p.shape[1])[p.argmax(axis=1)]
        right.append([(_svm_guesses(member, y, train, test, penalty) == y[test]).mean() for y in classes.T])
    return np.array(right)


def _svm_guesses(
    x: Float64Array, labels: IntArray, train: IntArray, test: IntArray, penalty: float
) -> IntArray:
    """(T,) classes predicted by scikit-learn's SVM, for several inputs."""
    if (labels[train] == labels[train[0]]).all():
        return np.full(len(test), labels[train[0]])
    model = LinearSVC(C=penalty, class_weight="balanced", dual=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(model.fit(x[train], labels[train]).predict(x[test]))


def _squared_correlations(x: FloatArray, y: FloatArray) -> Float64Array:
    """(X, Y) squared correlations of columns; 0 for a constant one."""
    correlations = standardised(x).T @ standardised(y) / len(x)
    return np.asarray(np.minimum(correlations**2, 1.0))


def _likeliest(kind: IntArray, y: IntArray, total: IntArray) -> IntArray:
    """(N,) for each row, the class with the largest share of its rows in the row's kind."""
    counts = np.zeros((len(total), int(kind.max()) + 1))
    np.add.at(counts, (y, kind), 1)
    return np.asarray((counts / total[:, None]).argmax(axis=0)[kind])
