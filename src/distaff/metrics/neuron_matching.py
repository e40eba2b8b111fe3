"""One-to-one matching of latents and factors, on which single-neuron scores are based."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from distaff.codes import Codes, FloatArray
from distaff.metrics.inputs import Factors, Float64Array, IntArray
from distaff.metrics.labels import mutual_information
from distaff.metrics.missing_labels import Part, of_each, parts
from distaff.metrics.train_test import split_rows


@dataclass(frozen=True)
class Shares:
    """One latent cut into shares with equally many training rows; for a categorical latent, its classes.

    Args:
        starts: the lower ends of all shares but the first; None for a categorical latent.
    """

    starts: NDArray[Any] | None

    @staticmethod
    def of(ordered: NDArray[Any], size: int) -> "Shares":
        """``size`` shares of the sorted values of a real latent."""
        if ordered.dtype.kind == "i":
            return Shares(None)
        return Shares(ordered[np.arange(1, size) * len(ordered) // size])

    def places(self, latent: NDArray[Any]) -> IntArray:
        """(n,) the share of each value."""
        if self.starts is None:
            return np.asarray(latent, dtype=np.int64)
        return np.searchsorted(self.starts, latent, side="right")


@dataclass(frozen=True)
class Matching:
    """One-to-one matching of latents and factors with the largest sum of mutual information.

    Args:
        latents: (N,) means of each latent, or its most likely classes.
        rows: training rows and test rows of each factor, among those that have its label.
        latent_of: factor → latent; some factors have none if there are fewer latents.
        information: (latents, K) in nats, on the training rows.
    """

    latents: list[FloatArray | IntArray]
    rows: list[tuple[IntArray, IntArray]]
    latent_of: Mapping[int, int]
    information: Float64Array

    @property
    def tested(self) -> int:
        """The smallest number of test rows of a factor."""
        return min(len(test) for _, test in self.rows)


def matching(codes: Codes, factors: Factors, train: int, test: int, seed: int) -> Matching:
    """The matching of Mahon et al. 2023: a latent is cut into as many shares as a factor has classes.

    Args:
        codes: (N, D) means and categorical latents.
        factors: (N, K) classes; some labels may be missing.
        train: number of training rows; two thirds of the rows if there are fewer in all.
        test: number of test rows.
        seed: random seed for the split.
    """
    classes, cut = factors.classes, parts(codes, factors)

    def split(part: Part) -> tuple[IntArray, IntArray]:
        rng = np.random.default_rng(seed)
        trained, tested = split_rows(len(part.rows), train, test, rng)
        return part.rows[trained], part.rows[tested]

    splits = of_each(cut, split)
    latents = [*codes.means.T, *(p.argmax(axis=1) for p in codes.categories.values())]
    information = np.zeros((len(latents), len(factors.names)))
    for i, latent in enumerate(latents):
        for part, (rows, _) in zip(cut, splits, strict=True):
            values, ordered = latent[rows], np.sort(latent[rows])
            for k in part.columns:
                places = Shares.of(ordered, factors.sizes[k]).places(values)
                counts = counted(places, classes[rows, k], factors.sizes[k])
                information[i, k] = mutual_information(counts / len(rows))
    pairs = np.stack(linear_sum_assignment(information, maximize=True), axis=1)
    own = {int(k): rows for part, rows in zip(cut, splits, strict=True) for k in part.columns}
    rows_of = [own[k] for k in range(len(factors.names))]
    return Matching(latents, rows_of, {int(k): int(i) for i, k in pairs}, information)


def counted(places: IntArray, classes: IntArray, size: int) -> Float64Array:
    """(shares, classes) counts of rows."""
    width = max(size, int(places.max()) + 1)
    return (
        np.bincount(places * size + classes, minlength=width * size).reshape(width, size).astype(np.float64)
    )
