"""Fairness: how much predictions of one factor change with another factor that should not matter."""

from typing import NamedTuple

import numpy as np

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError
from distaff.metrics.inputs import Factors, Float64Array, IntArray
from distaff.metrics.metric import metric
from distaff.metrics.predictors import PREDICTORS, WIDEST, Predicting, idle, predictions
from distaff.metrics.result import Result
from distaff.metrics.score import Score


class Fairness(NamedTuple):
    """The two scores; both are best at 0."""

    mean: Score
    maximum: Score


@metric(
    paper="Locatello et al. 2019b",
    protocols=PREDICTORS,
    bounds=(0, 1),
    direction="lower",
    returns=Fairness,
    says={"unfairness_mean": "use", "unfairness_max": "use"},
    idle=idle,
    widest=WIDEST,
)
def fairness(codes: Codes, factors: Factors, settings: Predicting, seed: int) -> dict[str, Result]:
    """Total variation between predictions for the classes of a sensitive factor and for all rows; 0 is fair.

    For a target i and a sensitive factor j, TV_c = ½ Σ_v |p(ŷ_i = v | y_j = c) − p(ŷ_i = v)| on held-out
    rows. ``unfairness_mean`` averages TV_c over rows, ``unfairness_max`` takes the largest; both are
    means over all pairs i ≠ j. The paper sets y_j by intervening in the data generation; here it is
    conditioned on, by selecting rows with y_j = c, which is equivalent if factors are independent. If they
    are dependent, correct predictions differ between classes and count as unfair (demographic parity). With
    few rows, predictions look unfair by chance: compare with ``null``.

    Args:
        codes: (N, D) means, or ``Codes``; a categorical latent enters as its class probabilities.
        factors: (N, K) classes, with K of at least 2. Rows that lack any label are dropped, since predictions
            of one factor are compared with the label of another on the same rows.
        protocol: ``"logistic"`` or ``"boosted"`` (trees, as in the paper; minutes for a hundred classes); two
            thirds of the rows, at most 10,000, are training rows, and others, at most 5,000, are test rows.
        seed: random seed for the split.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import fairness
        >>> factors = np.indices((2, 2)).reshape(2, -1).T.repeat(500, axis=0)
        >>> fairness(factors, factors).mean.value < 0.05
        True
        >>> biased = factors[:, :1] + factors[:, 1:]  # one latent that mixes both
        >>> fairness(biased, factors).mean.value > 0.2
        True

    See Also:
        ``downstream``, which uses the same predictors; ``modularity``.
    """
    if len(factors.names) < 2:
        raise DistaffError("fairness compares factors: give at least 2 of them.")
    found = predictions(codes, factors, settings, (), seed)
    (guesses,) = found.guesses.values()
    truth, count = factors.classes[found.tested], len(factors.names)
    mean, highest = np.full((2, count, count), np.nan)
    for target in range(count):
        for sensitive in range(count):
            if target != sensitive:
                shares, distances = _distances(guesses[:, target], truth[:, sensitive])
                mean[target, sensitive] = shares @ distances
                highest[target, sensitive] = distances.max()
    details = {"mean": mean, "maximum": highest, "factors": factors.names}
    return {
        name: Result(
            np.nanmean(table), per_factor=np.nanmean(table, axis=1), details=details, rows=len(truth)
        )
        for name, table in {"unfairness_mean": mean, "unfairness_max": highest}.items()
    }


def _distances(guesses: IntArray, sensitive: IntArray) -> tuple[Float64Array, Float64Array]:
    """Shares of the sensitive classes that occur, and total variation of the guesses in each from all."""
    counts = np.zeros((sensitive.max() + 1, guesses.max() + 1))
    np.add.at(counts, (sensitive, guesses), 1)
    sizes = counts.sum(axis=1)
    counts, sizes = counts[sizes > 0], sizes[sizes > 0]
    within = counts / sizes[:, None]
    return sizes / sizes.sum(), np.abs(within - counts.sum(axis=0) / sizes.sum()).sum(axis=1) / 2
