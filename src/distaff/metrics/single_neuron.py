"""Single-neuron classification: how well the one latent matched to a factor tells its classes."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from distaff.codes import Codes
from distaff.metrics.inputs import Factors, Float64Array, IntArray
from distaff.metrics.labels import mutual_information
from distaff.metrics.metric import metric
from distaff.metrics.missing_labels import Part, of_each, parts
from distaff.metrics.options import Count
from distaff.metrics.score import Result
from distaff.metrics.train_test import split_rows


@dataclass(frozen=True)
class OneNeuron:
    """How many rows there are to learn from.

    Args:
        train: rows that match latents and factors, and bins and classes; two thirds if there are fewer.
        test: rows that test.
    """

    train: Count = 10_000
    test: Count = 5_000


@metric(
    paper="Mahon et al. 2023",
    protocols={"mahon23": OneNeuron()},
    bounds=(0, 1),
    by_factor="within",
    says="both",
    widest=(8192, "counts every latent with every factor"),
)
def single_neuron(codes: Codes, factors: Factors, settings: OneNeuron, seed: int) -> Result:
    """SNC: mean over factors of the accuracy of one latent, cut into as many shares as there are classes.

    For factor k of C classes a latent is cut into C bins of equally many training rows. Latents and factors
    are matched one to one by the largest sum of mutual information, and so are a latent's bins and the
    factor's classes by the most training rows; the score is the accuracy on other rows. Nothing more than one
    latent and order on a line helps: a factor that is spread over two latents is lost. A factor left over,
    where latents are fewer, counts 0. As in the authors' public ``snc_nk.py``.

    Args:
        codes: (N, D) means, or ``Codes``; the bins of a categorical latent are its likeliest classes.
        factors: (N, K) classes; the rows that have a factor's label are split by themselves.
        protocol: ``"mahon23"``: two thirds of the rows train, at most 10,000, and others test, at most 5,000.
        seed: of the split.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import single_neuron
        >>> y = np.random.default_rng(0).integers(0, 4, (2000, 2))
        >>> z = y + 0.4 * np.random.default_rng(1).uniform(size=y.shape)
        >>> single_neuron(z, y).value > 0.9, single_neuron(z @ [[1, 1], [1, -1]], y).value < 0.6
        (True, True)

    See Also:
        ``sap``, of all latents; ``mcc``, of numbers.
    """
    classes = factors.classes
    cut = parts(codes, factors)
    splits = of_each(cut, lambda part: _split(part, settings, seed))
    own = {int(k): split for part, split in zip(cut, splits, strict=True) for k in part.columns}
    latents = [*codes.means.T, *(p.argmax(axis=1) for p in codes.categories.values())]
    real = codes.means.shape[1]
    table = np.zeros((len(latents), len(factors.names)))
    for i, z in enumerate(latents):
        for part, (train, _) in zip(cut, splits, strict=True):
            ordered = np.sort(z[train]) if i < real else None
            for k in part.columns:
                size = factors.sizes[k]
                counts = _counts(_bins(z[train], ordered, size), classes[train, k], size)
                table[i, k] = mutual_information(counts / len(train))
    accuracies = np.zeros(len(factors.names))
    owners, matched = linear_sum_assignment(table, maximize=True)
    for i, k in zip(owners.tolist(), matched.tolist(), strict=True):
        size, z, (train, test) = factors.sizes[k], latents[i], own[k]
        ordered = np.sort(z[train]) if i < real else None
        counts = _counts(_bins(z[train], ordered, size), classes[train, k], size)
        means = np.full(len(counts), -1)
        bins, labels = linear_sum_assignment(counts, maximize=True)
        means[bins] = labels
        places = np.minimum(_bins(z[test], ordered, size), len(means) - 1)
        accuracies[k] = (means[places] == classes[test, k]).mean()
    pairs = {factors.names[k]: codes.names[i] for i, k in zip(owners, matched, strict=True)}
    details = {"matched_latent": pairs, "mutual_information": table}
    tested = min(len(test) for _, test in splits)
    guesses = tested * len(accuracies)
    return Result(accuracies.mean(), per_factor=accuracies, details=details, rows=tested, trials=guesses)


def _split(part: Part, settings: OneNeuron, seed: int) -> tuple[IntArray, IntArray]:
    """The rows of a part that train and those that test."""
    rng = np.random.default_rng(seed)
    train, test = split_rows(len(part.rows), settings.train, settings.test, rng)
    return part.rows[train], part.rows[test]


def _bins(z: Float64Array, ordered: Float64Array | None, size: int) -> IntArray:
    """(n,) the bin of each value between ``size`` equal shares of sorted ones; classes are bins already."""
    if ordered is None:
        return np.asarray(z, dtype=np.int64)
    starts = ordered[np.arange(1, size) * len(ordered) // size]
    return np.searchsorted(starts, z, side="right")


def _counts(bins: IntArray, classes: IntArray, size: int) -> Float64Array:
    """(bins, classes) rows."""
    width = max(size, int(bins.max()) + 1)
    return np.bincount(bins * size + classes, minlength=width * size).reshape(width, size).astype(np.float64)
