"""Metrics of information: MIG, modularity, and those of Do & Tran 2020."""

from functools import cache
from itertools import combinations

import numpy as np
from scipy.stats import norm
from sklearn.metrics import mutual_info_score

_SAMPLES = 10_000


def _histogram_information(codes, classes):
    """(latents, factors) information of the means in 20 bins, by numpy.histogram and numpy.digitize."""
    binned = [np.digitize(z, np.histogram(z, 20)[1][:-1]) for z in codes.means.T]
    return np.array([[mutual_info_score(y, b) for y in classes.T] for b in binned])


def locatello19_mig(codes, classes):
    """Chen et al. 2018's gap from binned means."""
    ordered = np.sort(_histogram_information(codes, classes), axis=0)
    heights = np.array([mutual_info_score(y, y) for y in classes.T])
    return (np.mean((ordered[-1] - ordered[-2]) / heights),)


def _modular(information):
    squares = information**2
    best = squares.max(axis=1)
    rest = (squares.sum(axis=1) - best) / (np.where(best > 0, best, 1) * (squares.shape[1] - 1))
    return (np.where(best > 0, 1 - rest, 0).mean(),)


def ridgeway18_modularity(codes, classes):
    """Ridgeway & Mozer 2018, §3, from binned means, as disentanglement_lib has it."""
    return _modular(_histogram_information(codes, classes))


def correct_modularity(codes, classes):
    """Do & Tran 2020, A.8: from q(z|x); information below a millionth of a nat is none."""
    information = _quantized(codes, classes)[1]
    return _modular(np.where(information > 1e-6, information, 0))


def _masses(codes):
    """(N, latents, 100) Do & Tran 2020, Eq. 15: Gaussian mass of each bin of [−4, 4], renormalised."""
    edges = np.linspace(-4, 4, 101)
    deviations = np.exp(codes.logvars / 2)
    levels = norm.cdf((edges - codes.means[:, :, None]) / deviations[:, :, None])
    masses = np.diff(levels, axis=-1)
    return masses / masses.sum(axis=-1, keepdims=True)


def _entropy(probabilities):
    kept = probabilities[probabilities > 0]
    return -(kept * np.log(kept)).sum()


def _quantized(codes, classes):
    """(latents,) H(z_i) and (latents, factors) I(z_i; y_k)."""
    masses = _masses(codes)
    heights = np.array([_entropy(q) for q in masses.mean(axis=0)])
    information = np.empty((masses.shape[1], classes.shape[1]))
    for k, y in enumerate(classes.T):
        labels = (y[:, None] == np.unique(y)).astype(float)
        for i in range(masses.shape[1]):
            joint = masses[:, i].T @ labels / len(y)
            information[i, k] = heights[i] + _entropy(labels.mean(axis=0)) - _entropy(joint)
    return heights, information


def do20_rmig(codes, classes):
    """Eq. 10."""
    ordered = np.sort(_quantized(codes, classes)[1], axis=0)
    return (np.mean(ordered[-1] - ordered[-2]),)


def do20_jemmig(codes, classes):
    """H(z*, y) − I* + I°."""
    heights, information = _quantized(codes, classes)
    values = []
    for k, y in enumerate(classes.T):
        star, second = np.argsort(information[:, k])[[-1, -2]]
        own = _entropy(np.bincount(y) / len(y))
        joint = heights[star] + own - information[star, k]
        values.append(joint - information[star, k] + information[second, k])
    return (np.mean(values),)


def do20_informativeness(codes):
    """I(x; z_i) over log 100."""
    masses = _masses(codes)
    kept = [
        _entropy(q.mean(axis=0)) - np.mean([_entropy(row) for row in q]) for q in masses.transpose(1, 0, 2)
    ]
    return (np.mean(kept) / np.log(100),)


def do20_misjed(codes):
    """Eq. 7 over 2 log 100: entropies of q(z_i), joint entropy of the means."""
    heights = [_entropy(q) for q in _masses(codes).mean(axis=0)]
    edges, means = np.linspace(-4, 4, 101), np.clip(codes.means, -4, 4)
    values = []
    for i, j in combinations(range(len(heights)), 2):
        counts, _, _ = np.histogram2d(means[:, i], means[:, j], bins=[edges, edges])
        values.append(heights[i] + heights[j] - _entropy(counts / len(codes.means)))
    return (np.mean(values) / (2 * np.log(100)),)


@cache
def _sampled(codes, seed):
    """(M, latents) rows, draws and log q(z_i|x), log q(z_i); (M,) log q(z); (M, latents) log q(z_≠i)."""
    rng = np.random.default_rng(seed)
    rows = np.arange(_SAMPLES) % len(codes.means)
    mu, sigma = codes.means, np.exp(codes.logvars / 2)
    z = mu[rows] + sigma[rows] * rng.normal(size=(_SAMPLES, mu.shape[1]))
    alone, whole, without = [], [], []
    for some in np.array_split(z, 20):
        each = _log_normal(some[:, None], mu, sigma)
        total = each.sum(axis=-1)
        alone.append(_log_mean(each))
        whole.append(_log_mean(total))
        without.append(_log_mean(total[:, :, None] - each))
    own = _log_normal(z, mu[rows], sigma[rows])
    return rows, z, own, *(np.concatenate(a) for a in (alone, whole, without))


def _log_normal(z, mu, sigma):
    return -0.5 * ((z - mu) / sigma) ** 2 - np.log(sigma * np.sqrt(2 * np.pi))


def _log_mean(logs):
    """log of the mean of exp over the second axis."""
    largest = logs.max(axis=1)
    return largest + np.log(np.exp(logs - largest[:, None]).mean(axis=1))


def sampled_information(codes, classes, seed):
    """(latents, factors) H(z_i) − H(z_i|y_k) from samples of q(z|x)."""
    rows, z, _, alone, _, _ = _sampled(codes, seed)
    mu, sigma = codes.means, np.exp(codes.logvars / 2)
    table = []
    for y in classes.T:
        given = np.empty(z.shape)
        for value in np.unique(y):
            members, mine = np.flatnonzero(y == value), np.flatnonzero(y[rows] == value)
            for some in np.array_split(mine, 10):
                given[some] = _log_mean(_log_normal(z[some][:, None], mu[members], sigma[members]))
        table.append((given - alone).mean(axis=0))
    return np.stack(table, axis=1)


def chen18_mig(codes, classes, seed):
    """Chen et al. 2018: the gap of sampled information over H(y_k)."""
    ordered = np.sort(np.maximum(sampled_information(codes, classes, seed), 0), axis=0)
    heights = np.array([mutual_info_score(y, y) for y in classes.T])
    return (np.mean((ordered[-1] - ordered[-2]) / heights),)


def do20_total_information(codes, seed):
    """I(x; z)."""
    _, _, own, _, whole, _ = _sampled(codes, seed)
    return ((own.sum(axis=1) - whole).mean(),)


def do20_total_correlation(codes, seed):
    """KL(q(z) ‖ Π q(z_i))."""
    _, _, _, alone, whole, _ = _sampled(codes, seed)
    return ((whole - alone.sum(axis=1)).mean(),)


def do20_separability(codes, seed):
    """The mean of I(z_i; z_≠i)."""
    _, _, _, alone, whole, without = _sampled(codes, seed)
    return ((whole[:, None] - alone - without).mean(),)


def do20_sepin(codes, seed):
    """SEPIN@3: the three highest I(x; z_i|z_≠i); the same as INDIN@3, since the encoders are factorised."""
    return (np.sort(_only(codes, seed)[1])[-3:].mean(),)


def do20_wsepin(codes, seed):
    """Σ ρ_i I(x; z_i|z_≠i); the same as WINDIN."""
    informative, only = _only(codes, seed)
    return (np.average(only, weights=informative),)


def _only(codes, seed):
    """(latents,) I(x; z_i), and I(x; z) − I(x; z_≠i)."""
    _, _, own, alone, whole, without = _sampled(codes, seed)
    of_all = own.sum(axis=1) - whole
    of_others = own.sum(axis=1, keepdims=True) - own - without
    return (own - alone).mean(axis=0), (of_all[:, None] - of_others).mean(axis=0)


def williams10_unique(codes, classes, bins=10):
    """Williams & Beer 2010's I_min, value by value; what the best latent has alone, over the entropy."""
    binned = [np.digitize(z, np.histogram(z, bins)[1][:-1]) for z in codes.means.T]
    shares = []
    for y in classes.T:
        specific = []
        for z in binned:
            own = {}
            for value in np.unique(y):
                chances = [((z[y == value] == s).mean(), (z == s).mean()) for s in np.unique(z)]
                own[value] = sum(p * np.log(p / q) for p, q in chances if p > 0)
            specific.append(own)
        weights = {value: (y == value).mean() for value in np.unique(y)}
        known = [mutual_info_score(y, z) for z in binned]
        best = int(np.argmax(known))
        redundant = [
            sum(weights[v] * min(specific[best][v], specific[j][v]) for v in weights)
            for j in range(len(binned))
            if j != best
        ]
        shares.append((known[best] - max(redundant)) / mutual_info_score(y, y))
    return (np.mean(shares),)
