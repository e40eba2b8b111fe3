"""Metrics of trained predictors: SAP, DCI, explicitness, DCI-ES, InfoMEC, UDR; and Hoyer sparsity."""

from itertools import permutations

import numpy as np
from scipy.stats import entropy, spearmanr
from sklearn.ensemble import GradientBoostingClassifier, RandomForestRegressor
from sklearn.feature_selection import mutual_info_classif
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.metrics import log_loss, mutual_info_score, roc_auc_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC


def _mean_gap(scores):
    """(latents, factors) → the mean over factors of the best less the second best."""
    ordered = np.sort(scores, axis=0)
    return (ordered[-1] - ordered[-2]).mean()


def kumar18_sap(codes, classes):
    """The best balanced accuracy of one interval a class, by dynamic programming over the sorted rows."""
    scores = np.array([[_best_intervals(z, y) for y in classes.T] for z in codes.means.T])
    return (_mean_gap(scores),)


def _best_intervals(latent, y):
    size, counts = y.max() + 1, np.bincount(y)
    won = np.full((size, size), -np.inf)  # [intervals so far less one, label of the last]
    won[0] = 0
    order = np.argsort(latent)
    for before, row in zip([order[0], *order], order, strict=False):
        if latent[before] != latent[row]:
            won[1:] = np.maximum(won[1:], won[:-1].max(axis=1, keepdims=True))
        won[:, y[row]] += 1 / counts[y[row]]
    return won.max() / size


def locatello19_sap(codes, classes, train, test, standardised=False):
    """Accuracy of LinearSVC(C=0.01, class_weight="balanced") on each latent as it is, or standardised."""
    z = StandardScaler().fit_transform(codes.means) if standardised else codes.means
    scores = np.empty((z.shape[1], classes.shape[1]))
    for i, k in np.ndindex(scores.shape):
        model = LinearSVC(C=0.01, class_weight="balanced", dual=False, tol=1e-12, max_iter=100_000)
        model.fit(z[train, i : i + 1], classes[train, k])
        scores[i, k] = model.score(z[test, i : i + 1], classes[test, k])
    return (_mean_gap(scores),)


def _dci(importances, weighted):
    """Disentanglement and completeness of (latents, factors) importances; the latter plain or weighted."""
    latents, factors = importances.shape
    own = 1 - entropy(importances + 1e-11, base=factors, axis=1)
    shared = 1 - entropy(importances + 1e-11, base=latents, axis=0)
    weights = importances.sum(axis=0) if weighted else np.ones(factors)
    return np.average(own, weights=importances.sum(axis=1)), np.average(shared, weights=weights)


def locatello19_dci(codes, classes, train, test):
    """scikit-learn's gradient boosting of classes with its defaults; weighted completeness; accuracy."""
    z = codes.means
    models = [GradientBoostingClassifier(random_state=0).fit(z[train], y[train]) for y in classes.T]
    right = [model.score(z[test], y[test]) for model, y in zip(models, classes.T, strict=True)]
    return *_dci(np.stack([m.feature_importances_ for m in models], axis=1), True), np.mean(right)


def _regressed(codes, classes, train, test, make, importances):
    """Eastwood & Williams 2018: latents and factors standardised by the training rows; 1 − NRMSE."""
    z, y = (StandardScaler().fit(a[train]).transform(a) for a in (codes.means, classes.astype(float)))
    models = [make().fit(z[train], own[train]) for own in y.T]
    errors = [
        np.sqrt(np.mean((model.predict(z[test]) - own[test]) ** 2)) / own[test].std()
        for model, own in zip(models, y.T, strict=True)
    ]
    found = np.stack([np.abs(importances(model)) for model in models], axis=1)
    return *_dci(found, False), np.mean(np.maximum(1 - np.array(errors), 0))


def eastwood18_dci(codes, classes, train, test, alpha):
    """|weights| of a lasso."""
    return _regressed(
        codes, classes, train, test, lambda: Lasso(alpha, tol=1e-10, max_iter=100_000), lambda m: m.coef_
    )


def esmaeili18_dci(codes, classes, train, test):
    """Impurity decrease of a forest of ten trees."""
    return _regressed(
        codes,
        classes,
        train,
        test,
        lambda: RandomForestRegressor(n_estimators=10, random_state=0),
        lambda m: m.feature_importances_,
    )


def ridgeway18_explicitness(codes, classes):
    """Area under the ROC curve of a logistic regression for each class against the rest."""
    z = StandardScaler().fit_transform(codes.means)
    areas = []
    for y in classes.T:
        members = [y == value for value in np.unique(y)]
        models = [LogisticRegression(tol=1e-8, max_iter=1000).fit(z, member) for member in members]
        areas.append(
            np.mean([roc_auc_score(m, f.decision_function(z)) for m, f in zip(members, models, strict=True)])
        )
    return (np.mean(areas),)


def eastwood23_dci_es(codes, classes, train, test, seed):
    """Eastwood et al. 2023, §4: E = 1 − A/Z over ridge probes of random Fourier features; S = K/D."""
    rng = np.random.default_rng(seed)
    z, y = (StandardScaler().fit_transform(a) for a in (codes.means, classes.astype(float)))
    count = z.shape[1]
    features = np.sqrt(2) * np.cos(
        z @ rng.normal(scale=np.sqrt(2 / count), size=(count, 512)) + rng.uniform(0, 2 * np.pi, 512)
    )
    explicit = []
    for own in y.T:
        losses = []
        for size in (0, 8, 16, 32, 64, 128, 256, 512):
            x = np.concatenate([z, features[:, :size]], axis=1)
            model = Ridge(1e-4 * len(train)).fit(x[train], own[train])
            losses.append(min(np.mean((model.predict(x[test]) - own[test]) ** 2) / own[test].var(), 1))
        best = np.argmin(losses)
        above = np.array(losses[: best + 1]) - losses[best]
        straight = (len(losses) - 1) * (1 - losses[best]) / 2
        explicit.append(1 - np.trapezoid(above) / straight if losses[best] < 0.99 else 0.0)
    return np.mean(explicit), classes.shape[1] / count


def hsu23_infomec(codes, classes, seed):
    """Hsu et al. 2023: NMI by nearest neighbours over latents wide enough; balanced logistic regressions.

    Latents of a few values are discrete: counted, and one-hot.
    """
    z = StandardScaler().fit_transform(codes.means)
    few = np.array([len(np.unique(column)) <= 32 for column in z.T])
    nmi = np.stack([_nearest(z, y, seed) for y in classes.T])
    nmi[:, few] = [[mutual_info_score(y, _places(column)) for column in z.T[few]] for y in classes.T]
    nmi /= np.array([mutual_info_score(y, y) for y in classes.T])[:, None]
    width = np.ptp(codes.means, axis=0)
    nmi = nmi[:, width > np.where(few, 0, width.max() / 20)]
    z = np.hstack([z[:, ~few], *(np.eye(len(np.unique(column)))[_places(column)] for column in z.T[few])])
    modular, compact = (_largest_share(nmi, axis) for axis in (0, 1))
    explained = []
    for y in classes.T:
        model = LogisticRegression(C=np.inf, class_weight="balanced", max_iter=100).fit(z, y)
        explained.append(1 - log_loss(y, model.predict_proba(z)) / np.log(len(np.unique(y))))
    return modular, compact, np.mean(explained)


def _places(column):
    return np.unique(column, return_inverse=True)[1]


def _nearest(z, y, seed):
    return mutual_info_classif(z, y, discrete_features=False, n_neighbors=10, random_state=seed)


def _largest_share(nmi, axis):
    """From 0 for equal shares to 1; shares of nothing, which theirs leaves undefined, count as equal."""
    size, total = nmi.shape[axis], nmi.sum(axis=axis)
    shares = np.where(total > 0, nmi.max(axis=axis) / np.where(total > 0, total, 1), 1 / size)
    return (shares.mean() - 1 / size) / (1 - 1 / size)


def duan20_udr(models, similarity):
    """Duan et al. 2020 as disentanglement_lib has it; one value a model."""
    kept = []
    for codes in models:
        kl = 0.5 * (codes.means**2 + np.exp(codes.logvars) - codes.logvars - 1).mean(axis=0)
        kept.append(StandardScaler().fit_transform(codes.means)[:, kl > 0.01])
    pairs = {}
    for i, j in permutations(range(len(models)), 2):
        r = similarity(kept[i], kept[j])
        parts = [
            np.mean(np.nan_to_num(r.max(axis=axis) ** 2 / np.maximum(r.sum(axis=axis), 1e-300)))
            for axis in (0, 1)
        ]
        pairs[i, j] = np.mean(parts)
    others = range(len(models))
    return tuple(np.median([pairs[i, j] for i in others if i != j]) for j in others)


def lasso_similarity(x, y):
    """|weights| of lassos of one model's latents for the other's."""
    return np.abs(Lasso(0.1, tol=1e-8, max_iter=100_000).fit(x, y).coef_).T


def rank_similarity(x, y):
    """|Spearman correlations|."""
    return np.array([[abs(spearmanr(a, b).statistic) for b in y.T] for a in x.T])


def mathieu19_hoyer(codes, scaled):
    """Mathieu et al. 2019, §6.3; scaled by each latent's standard deviation first, or not."""
    z = codes.means / codes.means.std(axis=0) if scaled else codes.means
    root = np.sqrt(z.shape[1])
    return (np.mean((root - np.abs(z).sum(axis=1) / np.sqrt((z**2).sum(axis=1))) / (root - 1)),)
