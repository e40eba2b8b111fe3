"""Speed of metrics against plain forms of their formulas, as in public implementations: ratios in one run.

python -m benchmarks.metrics_peers                  # 100,000 rows: a quarter of an hour
python -m benchmarks.metrics_peers --rows 5000      # a minute
python -m benchmarks.metrics_peers --processor      # in processor time of one thread, beside other work
python -m benchmarks.metrics_peers --only sap irs   # some of them

disentanglement_lib and ubisoft's metrics cannot be installed beside a current scikit-learn. Therefore their
formulas are written here, pair by pair and vote by vote as in the originals, and run on the same rows.
"""

import argparse
import time
from functools import partial

import numpy as np
import torch
from scipy.stats import entropy
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import balanced_accuracy_score, mutual_info_score
from sklearn.model_selection import KFold
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import distaff.metrics as ours
from benchmarks.information import compare, pair_loop, trained
from benchmarks.metrics import pairs_in_a_loop, regressions_in_a_loop, votes_in_a_loop
from distaff.foundation.parallel import one_thread

ROWS = 100_000


def gaps(means, classes):
    """The loop from which MIG, MIG-sup, DCIMIG, modularity and MED all start, at little further cost."""
    table = pair_loop(means, classes)
    heights = [mutual_info_score(y, y) for y in classes.T]
    ordered = np.sort(table, axis=0)
    return np.mean((ordered[-1] - ordered[-2]) / heights)


def pairs_of_latents(means, _classes):
    """disentanglement_lib's mutual_info_score of all pairs."""
    bins = [np.digitize(z, np.histogram(z, 20)[1][:-1]) for z in means.T]
    return np.mean([mutual_info_score(a, b) for a in bins for b in bins])


def robustness(means, classes):
    """IRS, factor by factor and value by value; like the original, it selects a value's rows twice."""
    largest = np.abs(means - means.mean(axis=0)).max(axis=0)
    strays = np.zeros((classes.shape[1], means.shape[1]))
    for k, y in enumerate(classes.T):
        values = np.unique(y)
        for value in values:
            centre = means[y == value].mean(axis=0)
            strays[k] += np.percentile(np.abs(means[y == value] - centre), 99, axis=0) / len(values)
    return (1 - strays / largest).max(axis=0)


def thresholds_of_trees(means, classes):
    """SAP as in Kumar et al., with thresholds on all rows: a tree with one leaf per class for every pair."""
    for z in means.T:
        for y in classes.T:
            leaves = max(2, len(np.unique(y)))
            tree = DecisionTreeClassifier(max_leaf_nodes=leaves, class_weight="balanced").fit(z[:, None], y)
            balanced_accuracy_score(y, tree.predict(z[:, None]))


def support_vectors(means, classes, train=10_000):
    """SAP with one support vector machine per latent and factor."""
    rows = np.random.default_rng(0).permutation(len(means))[:train]
    for z in means[rows].T:
        for y in classes[rows].T:
            LinearSVC(C=0.01, class_weight="balanced", dual=False).fit(z[:, None], y)


def changed_alone(means, classes, votes=1600, size=200):
    """Z-max-variance, one vote at a time."""
    rng, whole = np.random.default_rng(0), means.var(axis=0, ddof=1)
    for _ in range(votes):
        k, row = rng.integers(classes.shape[1]), rng.integers(len(classes))
        same = np.flatnonzero(np.delete(classes == classes[row], k, axis=1).all(axis=1))
        (means[rng.choice(same, size)].var(axis=0, ddof=1) / whole).argmax()


def cross_validated(means, classes, sizes=(10, 100, 1_000, 10_000)):
    """Downstream accuracy with disentanglement_lib's logistic regression and a cross-validated penalty."""
    for size in sizes:
        rows = np.random.default_rng(0).permutation(len(means))[:size]
        for y in classes.T:
            labels, counts = np.unique(y[rows], return_counts=True)
            if counts.min() < 10 or len(labels) < 2:  # a fold would lack a class
                LogisticRegression(max_iter=1000).fit(means[rows], y[rows])
            else:
                LogisticRegressionCV(Cs=10, cv=KFold(5), max_iter=1000, use_legacy_attributes=False).fit(
                    means[rows], y[rows]
                )


def disentangled(means, classes):
    """MED: the loop over pairs, and entropies of its normalised rows."""
    table = pair_loop(means, classes)
    return 1 - entropy(table.T + 1e-11, base=table.shape[1])


PEERS = {
    "mig": gaps,
    "mig_sup": gaps,
    "dcimig": gaps,
    "med": disentangled,
    "modularity": gaps,
    "pairwise_information": pairs_of_latents,
    "sap": thresholds_of_trees,
    "sap:locatello19": support_vectors,
    "irs": robustness,
    "factor_vae_score": votes_in_a_loop,
    "factor_vae_score:locatello19": partial(votes_in_a_loop, votes=15_000, size=64),
    "z_diff": pairs_in_a_loop,
    "z_max_variance": changed_alone,
    "explicitness": regressions_in_a_loop,
    "downstream": cross_validated,
}


def main(rows, clock, names):
    codes, classes = trained(rows)
    means = codes.means
    print(f"N = {rows:,}, D = 10, 5 factors of 3 to 40 classes; wanted: 10 and more, MIG 50")
    print(f"{'':<52} {'peer':>10}  {'here':>10}  {'ratio':>8}")
    for name, peer in PEERS.items():
        if names and name not in names:
            continue
        function, _, protocol = name.partition(":")
        metric = partial(getattr(ours, function), **({"protocol": protocol} if protocol else {}))
        unlabelled = name == "pairwise_information"
        compare(
            name,
            lambda peer=peer: peer(means, classes),
            # For plain arrays, nothing is cached from one call to the next.
            lambda metric=metric, alone=unlabelled: metric(means) if alone else metric(means, classes),
            clock=clock,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument(
        "--processor",
        action="store_true",
        help="measure processor time of one thread, for a machine with other work",
    )
    parser.add_argument("--only", nargs="+", choices=PEERS, default=(), help="some of the metrics")
    given = parser.parse_args()
    if given.processor:
        # One thread: those of a peer's BLAS wait actively for some 50 ms after their last product, and this
        # would count as time of what is measured next.
        torch.set_num_threads(1)
        with one_thread("blas"):
            main(given.rows, time.process_time, given.only)
    else:
        main(given.rows, time.perf_counter, given.only)
