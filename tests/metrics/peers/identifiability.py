"""Metrics of peers and of identifiability, written down once more from their public definitions."""

from itertools import permutations

import numpy as np
import scipy.linalg
from scipy.stats import entropy, pearsonr, spearmanr
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mutual_info_score, r2_score

from tests.metrics.peers.information import sampled_information


def _binned(codes, bins=20):
    return [np.digitize(z, np.histogram(z, bins)[1][:-1]) for z in codes.means.T]


def _information(codes, classes, bins=20):
    """(latents, factors)."""
    return np.array([[mutual_info_score(y, b) for y in classes.T] for b in _binned(codes, bins)])


def _entropies(columns):
    return np.array([mutual_info_score(column, column) for column in columns])


def li20_mig_sup(codes, classes):
    """Li et al. 2020's gap of each latent, latent by latent."""
    table = _information(codes, classes) / _entropies(classes.T)
    gaps = []
    for row in table:
        best = int(row.argmax())
        gaps.append(row[best] - np.delete(row, best).max())
    return (np.mean(gaps),)


def li20_code_mig_sup(codes, classes, seed):
    """As the authors' metric_MIG.py: sampled information over H(y_k), of latents that are active."""
    information = sampled_information(codes, classes, seed)
    gaps = []
    for z, row in zip(codes.means.T, information / _entropies(classes.T), strict=True):
        if np.std(z, ddof=1) ** 2 > 1e-2:
            ordered = np.sort(np.maximum(row, 0))
            gaps.append(ordered[-1] - ordered[-2])
    return (np.mean(gaps),)


def sepliarskaia19_dcimig(codes, classes):
    """As ubisoft's dcimig.py: a latent keeps its gap for its best factor, a factor its best gap."""
    kept = np.zeros((classes.shape[1], codes.means.shape[1]))
    for i, row in enumerate(_information(codes, classes)):
        best = int(row.argmax())
        kept[best, i] = row[best] - np.delete(row, best).max()
    return (kept.max(axis=1).sum() / _entropies(classes.T).sum(),)


def cao22_med(codes, classes):
    """As the authors' med.py, without a choice of latents."""
    table = _information(codes, classes)
    table = table / table.sum(axis=0)
    by_latent = 1 - entropy(table.T + 1e-11, base=table.shape[1])
    by_factor = 1 - entropy(table + 1e-11, base=table.shape[0])
    whole = table.sum()
    return (
        (by_latent * table.sum(axis=1)).sum() / whole,
        (by_factor * table.sum(axis=0)).sum() / whole,
    )


def almudevar24_min_suf(codes, classes):
    """As the authors' min_suf.py, with 15 bins."""
    table = _information(codes, classes, 15)
    return (
        np.mean(table.max(axis=1) / _entropies(_binned(codes, 15))),
        np.mean(table.max(axis=0) / _entropies(classes.T)),
    )


def locatello19_gaussian_tc(codes):
    """disentanglement_lib's gaussian_total_correlation."""
    covariance = np.cov(codes.means.T)
    return (0.5 * (np.log(np.diag(covariance)).sum() - np.linalg.slogdet(covariance)[1]),)


def locatello19_wasserstein(codes, normalised):
    """disentanglement_lib's gaussian_wasserstein_correlation, through a matrix square root."""
    covariance = np.cov(codes.means.T)
    root = scipy.linalg.sqrtm(covariance * np.diag(covariance)[:, None])
    distance = 2 * np.trace(covariance) - 2 * np.trace(root).real
    return (distance / np.trace(covariance) if normalised else distance,)


def locatello19_pairwise(codes):
    """disentanglement_lib's mutual_info_score."""
    binned = _binned(codes)
    table = np.array([[mutual_info_score(a, b) for a in binned] for b in binned])
    np.fill_diagonal(table, 0)
    return (table.sum() / (len(binned) ** 2 - len(binned)),)


def khemakhem20_mcc(codes, classes, train, test, rank=False, linear=False):
    """The best of all one-to-one matchings, tried one by one; correlations of other rows."""
    z = codes.means
    if linear:
        z = LinearRegression().fit(z[train], classes[train]).predict(z)
    correlation = spearmanr if rank else pearsonr

    def table(rows):
        return np.array(
            [[abs(correlation(z[rows, i], y).statistic) for y in classes[rows].T] for i in range(z.shape[1])]
        )

    known, held_out = table(train), table(test)
    factors = np.arange(classes.shape[1])
    best = max(permutations(range(z.shape[1]), len(factors)), key=lambda m: known[list(m), factors].sum())
    return (held_out[list(best), factors].mean(),)


def held_out_r2(codes, classes, train, test, predictor):
    """scikit-learn's R², 0 where it is negative."""
    z = (codes.means - codes.means.mean(0)) / codes.means.std(0)
    found = []
    for y in classes.T.astype(float):
        if predictor == "linear":
            guess = LinearRegression().fit(z[train], y[train]).predict(z[test])
        elif predictor == "kernel":
            target = (y - y.mean()) / y.std()
            gamma = 1 / (2 * z[train].var(0).sum())
            gram = [
                np.exp(-gamma * ((z[rows][:, None] - z[train][None]) ** 2).sum(-1)) for rows in (train, test)
            ]
            weights = np.linalg.solve(gram[0] + 0.1 * np.eye(len(train)), target[train])
            guess = gram[1] @ weights * y.std() + y.mean()
        else:
            model = HistGradientBoostingRegressor(
                max_depth=3, max_iter=100, early_stopping=False, random_state=0
            )
            guess = model.fit(z[train], y[train]).predict(z[test])
        found.append(max(r2_score(y[test], guess), 0))
    return (np.mean(found),)
