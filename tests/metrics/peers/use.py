"""What codes are good for, and summaries of matrices, once more from their public definitions."""

from itertools import permutations

import numpy as np
import torch
from scipy.stats import entropy
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import mutual_info_score
from sklearn.svm import LinearSVC
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def _guesses(codes, y, train, test, predictor):
    """Classes of test rows by boosted trees, or by one logistic regression for each class."""
    z = (codes.means - codes.means.mean(axis=0)) / codes.means.std(axis=0)
    values = np.unique(y[train])
    if len(values) == 1:
        return np.full(len(test), values[0])
    if predictor == "boosted":
        model = HistGradientBoostingClassifier(
            max_depth=3, l2_regularization=1.0, early_stopping=False, random_state=0
        )
        return model.fit(z[train], y[train]).predict(z[test])
    heights = [
        LogisticRegression(C=1.0, tol=1e-8, max_iter=10_000).fit(z[train], y[train] == value)
        for value in values
    ]
    return values[np.argmax([model.decision_function(z[test]) for model in heights], axis=0)]


def locatello19_downstream(codes, classes, train, test, predictor):
    """Mean test accuracy after all training rows, and that after a hundred over it."""

    def accuracy(rows):
        return np.mean([np.mean(_guesses(codes, y, rows, test, predictor) == y[test]) for y in classes.T])

    return accuracy(train), min(accuracy(train[:100]) / accuracy(train), 1)


def locatello19_fairness(codes, classes, train, test, predictor):
    """disentanglement_lib's inter_group_fairness, pair by pair, on the held-out rows."""
    mean, highest = [], []
    for i, target in enumerate(classes.T):
        guess = _guesses(codes, target, train, test, predictor)
        whole = np.array([np.mean(guess == v) for v in np.unique(classes)])
        for j, sensitive in enumerate(classes[test].T):
            if i == j:
                continue
            values, counts = np.unique(sensitive, return_counts=True)
            distances = [
                0.5 * sum(abs(np.mean(guess[sensitive == c] == v) - p) for v, p in enumerate(whole))
                for c in values
            ]
            mean.append(np.average(distances, weights=counts))
            highest.append(max(distances))
    return np.mean(mean), np.mean(highest)


def kim19_z_max_variance(codes, classes, seed):
    """One vote at a time: all factors but one as in a random row, and the latent that varies most."""
    rng = np.random.default_rng(seed)
    kl = 0.5 * (codes.means**2 + np.exp(codes.logvars) - codes.logvars - 1).mean(axis=0)
    whole = codes.means.var(axis=0, ddof=1)
    votes = np.zeros((2, codes.means.shape[1], classes.shape[1]))
    for part in range(2):
        for _ in range(800):
            k, row = rng.integers(classes.shape[1]), rng.integers(len(classes))
            same = np.delete(classes == classes[row], k, axis=1).all(axis=1)
            drawn = codes.means[rng.choice(np.flatnonzero(same), 200)]
            ratio = np.where(kl >= 0.01, drawn.var(axis=0, ddof=1) / whole, -np.inf)
            votes[part, ratio.argmax(), k] += 1
    majority = votes[0].argmax(axis=1)
    return (votes[1][np.arange(len(majority)), majority].sum() / 800,)


def _information(codes, classes):
    bins = [np.digitize(z, np.histogram(z, 20)[1][:-1]) for z in codes.means.T]
    return np.array([[mutual_info_score(y, b) for y in classes.T] for b in bins])


def _importances(codes, classes, train):
    return np.stack(
        [
            GradientBoostingClassifier(random_state=0).fit(codes.means[train], y[train]).feature_importances_
            for y in classes.T
        ],
        axis=1,
    )


def _accuracies(codes, classes, train, test):
    def alone(z, y):
        model = LinearSVC(C=0.01, class_weight="balanced", dual=False, tol=1e-12, max_iter=100_000)
        model.fit(z[train, None], y[train])
        return np.mean(model.predict(z[test, None]) == y[test])

    return np.array([[alone(z, y) for y in classes.T] for z in codes.means.T])


def locatello20_unified(codes, classes, train, test, matrix):
    """disentanglement_lib's aggregations of one of its matrices."""
    table = {
        "information": lambda: _information(codes, classes),
        "boosting": lambda: _importances(codes, classes, train),
        "svm": lambda: _accuracies(codes, classes, train, test),
    }[matrix]()
    by_latent = 1 - entropy(table.T + 1e-11, base=table.shape[1])
    by_factor = 1 - entropy(table + 1e-11, base=table.shape[0])
    ordered = np.sort(table, axis=0)
    heights = np.array([mutual_info_score(y, y) for y in classes.T])
    modular = []
    for row in table**2:
        best = row.max()
        modular.append(0 if best < 1e-12 else 1 - (row.sum() - best) / (best * (len(row) - 1)))
    return (
        (by_latent * table.sum(axis=1)).sum() / table.sum(),
        (by_factor * table.sum(axis=0)).sum() / table.sum(),
        np.mean((ordered[-1] - ordered[-2]) / heights),
        np.mean(ordered[-1] - ordered[-2]),
        np.mean(modular),
    )


def _mahon23_bins(z, train, rows, size):
    """As the authors' snc_nk.py: bins by how many dividers lie above."""
    ordered = np.sort(z[train])
    dividers = [ordered[int(i * len(train) / size)] for i in range(size)]
    return sum((z[rows] < divider).astype(int) for divider in dividers[1:])


def _mahon23_latents(codes, classes, train):
    """The latent of each factor, with every matching tried."""
    sizes = classes.max(axis=0) + 1
    table = np.array(
        [
            [
                mutual_info_score(_mahon23_bins(z, train, train, s), y[train])
                for y, s in zip(classes.T, sizes, strict=True)
            ]
            for z in codes.means.T
        ]
    )
    return max(
        permutations(range(len(table)), len(sizes)), key=lambda p: sum(table[i, k] for k, i in enumerate(p))
    )


def mahon23_snc(codes, classes, train, test):
    """Bins of the matched latent named by classes, with every order of them tried."""
    accuracies = []
    for i, y in zip(_mahon23_latents(codes, classes, train), classes.T, strict=True):
        z, size = codes.means[:, i], y.max() + 1
        bins = _mahon23_bins(z, train, train, size)
        names = max(permutations(range(size)), key=lambda p: (np.array(p)[bins] == y[train]).sum())
        accuracies.append((np.array(names)[_mahon23_bins(z, train, test, size)] == y[test]).mean())
    return (np.mean(accuracies),)


def _mahon23_network(x, y, train, test):
    """Held-out accuracy by PyTorch's own layers, batches and schedule; of the epoch that fitted best."""
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
    network = nn.Sequential(nn.Linear(x.shape[1], 256), nn.ReLU(), nn.Linear(256, int(y.max()) + 1))
    adam = torch.optim.Adam(network.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.ExponentialLR(adam, 0.65)
    batches = DataLoader(TensorDataset(x[train], y[train]), batch_size=len(train) // 40, shuffle=True)
    found = []
    for epoch in range(10):
        if epoch in (1, 2, 4, 8):
            schedule.step()
        right = []
        for some, classes in batches:
            logits = network(some)
            adam.zero_grad()
            nn.CrossEntropyLoss()(logits, classes).backward()
            adam.step()
            right += (logits.argmax(dim=1) == classes).tolist()
        found.append((np.mean(right), -epoch, (network(x[test]).argmax(dim=1) == y[test]).double().mean()))
        if np.mean(right) > 0.99:
            break
    return float(max(found)[-1])


def mahon23_nk(codes, classes, train, test, seed):
    """What a network loses, trained anew without the matched latent."""
    z = (codes.means - codes.means.mean(axis=0)) / codes.means.std(axis=0)
    lost = []
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        for i, y in zip(_mahon23_latents(codes, classes, train), classes.T, strict=True):
            rest = _mahon23_network(np.delete(z, i, axis=1), y, train, test)
            lost.append(_mahon23_network(z, y, train, test) - rest)
    return (np.mean(lost),)
