"""Speed of the metrics at N = 100,000: the whole default table, and ratios to naive forms in one run.

python -m benchmarks.metrics                # two minutes or so
python -m benchmarks.metrics --rows 737280
"""

import argparse
import time

import numpy as np
from sklearn.feature_selection import mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from benchmarks.information import compare, seconds, trained
from distaff.metrics import as_factors, evaluate_scores, explicitness, factor_vae_score, z_diff
from distaff.metrics.neighbours import neighbour_information
from distaff.metrics.predictability import threshold_accuracies


def votes_in_a_loop(means, classes, votes=800, size=100):
    """The FactorVAE score in the usual way: one vote at a time."""
    rng, deviation = np.random.default_rng(0), means.std(axis=0)
    table = np.zeros((means.shape[1], classes.shape[1]))
    for _ in range(votes):
        k = rng.integers(classes.shape[1])
        value = classes[rng.integers(len(classes)), k]
        rows = rng.choice(np.flatnonzero(classes[:, k] == value), size)
        table[(means[rows] / deviation).var(axis=0).argmin(), k] += 1
    return table.max(axis=1).sum() / votes


def pairs_in_a_loop(means, classes, points=15_000, size=64):
    """The points of Z-diff, one at a time, and the logistic regression on them."""
    rng = np.random.default_rng(0)
    order = [np.argsort(y, kind="stable") for y in classes.T]
    starts = [np.searchsorted(np.sort(y), np.arange(y.max() + 2)) for y in classes.T]
    inputs, fixed = np.empty((points, means.shape[1])), np.empty(points, int)
    for point in range(points):
        k = fixed[point] = rng.integers(classes.shape[1])
        first = rng.integers(len(means), size=size)
        low, high = starts[k][classes[first, k]], starts[k][classes[first, k] + 1]
        second = order[k][rng.integers(low, high)]
        inputs[point] = np.abs(means[first] - means[second]).mean(axis=0)
    train, test = slice(None, 2 * points // 3), slice(2 * points // 3, None)
    return LogisticRegression(max_iter=1000).fit(inputs[train], fixed[train]).score(inputs[test], fixed[test])


def regressions_in_a_loop(means, classes):
    """Explicitness with scikit-learn, class by class."""
    z = (means - means.mean(axis=0)) / means.std(axis=0)
    for labels in classes.T:
        for c in np.unique(labels):
            model = LogisticRegression().fit(z, labels == c)
            roc_auc_score(labels == c, model.decision_function(z))


def main(rows):
    codes, classes = trained(rows)
    factors = as_factors(classes)
    print(f"N = {rows:,}, D = 10, 5 factors of 3 to 40 classes\n")
    started = {}

    def report(name):
        started[name] = time.perf_counter()

    total = seconds(lambda: evaluate_scores(codes, factors, report=report))
    moments = [*started.values(), min(started.values()) + total]
    print("the default table; a metric that others share work with pays for all of them")
    for name, start, end in zip(started, moments[:-1], moments[1:], strict=True):
        print(f"  {name:<20} {end - start:7.2f} s")
    print(f"  {'together':<20} {total:7.2f} s\n")

    print(f"{'':<52} {'naive':>10}  {'here':>10}  {'ratio':>8}")
    means = codes.means
    compare(
        "FactorVAE score, 800 votes",
        lambda: votes_in_a_loop(means, classes),
        lambda: factor_vae_score(codes, factors),
    )
    compare(
        "Z-diff, 15,000 points and a logistic regression",
        lambda: pairs_in_a_loop(means, classes),
        lambda: z_diff(codes, factors),
    )
    compare(
        "explicitness, 113 classes",
        lambda: regressions_in_a_loop(means, classes),
        lambda: explicitness(codes, factors),
    )
    rng = np.random.default_rng(0)
    ties = rng.normal(size=rows)
    compare(
        "InfoMEC's information, one latent and factor",
        lambda: mutual_info_classif(means[:, :1], classes[:, 0], n_neighbors=10),
        lambda: neighbour_information(means[:, 0].astype(float), classes[:, :1], 10, ties),
    )
    few = rng.permutation(rows)[:10_000]
    compare(
        "SAP, one latent and factor, 10,000 rows",
        lambda: SVC(kernel="linear", C=0.01, class_weight="balanced").fit(means[few, :1], classes[few, 1]),
        lambda: threshold_accuracies(codes[few], classes[few, 1:2], [6]),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    main(parser.parse_args().rows)
