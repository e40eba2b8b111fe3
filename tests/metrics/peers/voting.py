"""Metrics that hold a factor fixed: FactorVAE, Z-diff, IRS."""

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression


def _votes(means, classes, active, count, size, rng):
    """(latents, factors) how often a latent varied least while a factor had the value of a random row."""
    votes = np.zeros((means.shape[1], classes.shape[1]))
    whole = means.var(axis=0, ddof=1)
    fixed = rng.integers(classes.shape[1], size=count)
    for k, y in enumerate(classes.T):
        values = y[rng.integers(len(y), size=(fixed == k).sum())]
        for value, times in zip(*np.unique(values, return_counts=True), strict=True):
            rows = rng.choice(np.flatnonzero(y == value), (times, size))
            still = np.where(active, means[rows].var(axis=1, ddof=1) / whole, np.inf)
            np.add.at(votes[:, k], still.argmin(axis=1), 1)
    return votes


def kim18_factor_vae(codes, classes, seed):
    """Kim & Mnih 2018, App. B: 800 votes of 100, judged on themselves; collapsed latents left out."""
    rng = np.random.default_rng(seed)
    kl = 0.5 * (codes.means**2 + np.exp(codes.logvars) - codes.logvars - 1).mean(axis=0)
    votes = _votes(codes.means, classes, kl >= 0.01, 800, 100, rng)
    return (votes.max(axis=1).sum() / votes.sum(),)


def locatello19_factor_vae(codes, classes, seed):
    """10,000 votes of 64, judged on 5,000 more; latents with a standard deviation below 0.05 left out."""
    rng = np.random.default_rng(seed)
    active = codes.means.std(axis=0, ddof=1) >= 0.05
    if not active.any():
        return (0.0,)
    majority = _votes(codes.means, classes, active, 10_000, 64, rng).argmax(axis=1)
    fresh = _votes(codes.means, classes, active, 5_000, 64, rng)
    return (fresh[np.arange(len(fresh)), majority].sum() / fresh.sum(),)


def _differences(means, classes, count, pairs, rng):
    """(count, D) mean |z − z'| over pairs that agree in a random factor, and those factors."""
    points, labels = np.empty((count, means.shape[1])), rng.integers(classes.shape[1], size=count)
    for k in range(classes.shape[1]):
        mine = np.flatnonzero(labels == k)
        first = rng.integers(len(means), size=(len(mine), pairs))
        second = np.empty_like(first)
        for value in np.unique(classes[:, k]):
            same = classes[first, k] == value
            second[same] = rng.choice(np.flatnonzero(classes[:, k] == value), same.sum())
        for some in np.array_split(np.arange(len(mine)), 1 + len(mine) // 1000):
            points[mine[some]] = np.abs(means[first[some]] - means[second[some]]).mean(axis=1)
    return points, labels


def locatello19_z_diff(codes, classes, seed):
    """A logistic regression on 10,000 points of 64 pairs, judged on 5,000 more."""
    rng = np.random.default_rng(seed)
    model = LogisticRegression(max_iter=1000).fit(*_differences(codes.means, classes, 10_000, 64, rng))
    return (model.score(*_differences(codes.means, classes, 5_000, 64, rng)),)


def kim18_z_diff(codes, classes, seed):
    """Kim & Mnih 2018, App. B: 10,000 steps of Adagrad on 10 points of 200 pairs, judged on 800 more."""
    rng = np.random.default_rng(seed)
    points, labels = (torch.from_numpy(a) for a in _differences(codes.means, classes, 100_000, 200, rng))
    model = torch.nn.Linear(points.shape[1], classes.shape[1], dtype=torch.float64)
    torch.nn.init.zeros_(model.weight)
    torch.nn.init.zeros_(model.bias)
    optimiser = torch.optim.Adagrad(model.parameters(), lr=0.01, initial_accumulator_value=0.1)
    for x, y in zip(points.split(10), labels.split(10), strict=True):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimiser.step()
    x, y = _differences(codes.means, classes, 800, 200, rng)
    guessed = model(torch.from_numpy(x)).argmax(dim=1).numpy()
    return ((guessed == y).mean(),)


def suter19_irs(codes, classes):
    """Suter et al. 2019 with the 0.99 quantile for the maximum, as disentanglement_lib has it."""
    z = codes.means
    largest = np.abs(z - z.mean(axis=0)).max(axis=0)
    strays = np.zeros((z.shape[1], classes.shape[1]))
    for k, y in enumerate(classes.T):
        for value in np.unique(y):
            own = z[y == value]
            strays[:, k] += np.percentile(np.abs(own - own.mean(axis=0)), 99, axis=0)
        strays[:, k] /= len(np.unique(y))
    robust = 1 - strays / largest[:, None]
    return (np.average(robust.max(axis=1), weights=largest),)
