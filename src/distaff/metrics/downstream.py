"""Downstream prediction: how well factors are predicted from codes, and from how few labels."""

from typing import NamedTuple

import numpy as np

from distaff.codes import Codes
from distaff.metrics.inputs import Factors, Float64Array
from distaff.metrics.metric import metric
from distaff.metrics.missing_labels import Part, as_columns, of_each, parts
from distaff.metrics.predictors import PREDICTORS, WIDEST, Predicting, idle, predictions
from distaff.metrics.result import Result
from distaff.metrics.score import Score

SIZES = (10, 100, 1_000)
FEW = 100


class Downstream(NamedTuple):
    """The two scores; both are best at 1."""

    accuracy: Score
    efficiency: Score


@metric(
    paper="Locatello et al. 2019",
    protocols=PREDICTORS,
    bounds=(0, 1),
    returns=Downstream,
    by_factor="within",
    says="use",
    idle=idle,
    widest=WIDEST,
)
def downstream(codes: Codes, factors: Factors, settings: Predicting, seed: int) -> dict[str, Result]:
    """Accuracy of predicting factors from all latents on held-out rows, and how much of it 100 labels give.

    ``downstream_accuracy`` is the mean over factors after training on 10,000 rows;
    ``downstream_efficiency`` is the mean accuracy after 100 rows divided by it, at most 1 (the sample
    efficiency of Locatello et al.). ``details["accuracies"]`` has the accuracies after 10, 100, 1,000 and all
    training rows, as far as there are that many (NaN for a factor with fewer labels). disentanglement_lib
    chooses the logistic penalty by cross-validation and draws new rows for each size; here the penalty is
    fixed and smaller training sets are subsets of the largest.

    Args:
        codes: (N, D) means, or ``Codes``; a categorical latent enters as its class probabilities.
        factors: (N, K) classes; each factor is predicted on the rows that have its label.
        protocol: ``"logistic"`` or ``"boosted"`` (trees, minutes for a hundred classes); two thirds of the
            rows, at most 10,000, are training rows, and others, at most 5,000, are test rows.
        seed: random seed for the split.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import downstream
        >>> factors = np.indices((2, 2)).reshape(2, -1).T.repeat(100, axis=0)
        >>> [score.value for score in downstream(factors, factors)]  # few labels tell all
        [1.0, 1.0]

    See Also:
        ``explicitness`` and ``r2``; ``fairness``, which uses the same predictors.
    """
    factors.refuse_real()
    cut = parts(codes, factors)
    found = of_each(cut, lambda part: _right(part, settings, seed))
    sizes = sorted({size for right, _ in found for size in right})
    accuracies = {
        str(size): as_columns(
            cut,
            [
                right.get(size, np.full(len(part.columns), np.nan))
                for part, (right, _) in zip(cut, found, strict=True)
            ],
        )
        for size in sizes
    }
    whole = as_columns(cut, [right[max(right)] for right, _ in found])
    few = as_columns(cut, [right[min(FEW, max(right))] for right, _ in found])
    most = max(max(right) for right, _ in found)
    details = {"accuracies": accuracies}
    notes = (f"{most} training rows: efficiency compares them with themselves",) if most <= FEW else ()
    tested = min(tested for _, tested in found)
    return {
        "downstream_accuracy": Result(
            whole.mean(), per_factor=whole, details=details, rows=tested, trials=tested
        ),
        "downstream_efficiency": Result(
            min(few.mean() / max(whole.mean(), 1e-12), 1.0) if np.any(whole) else 0.0,
            details=details,
            rows=tested,
            notes=notes,
        ),
    }


def _right(part: Part, settings: Predicting, seed: int) -> tuple[dict[int, Float64Array], int]:
    """Number of training rows → (k,) accuracies for the factors of a part, and the number of test rows."""
    found = predictions(part.codes, part.factors, settings, SIZES, seed)
    truth = part.factors.classes[found.tested]
    right = {size: np.asarray((guess == truth).mean(axis=0)) for size, guess in found.guesses.items()}
    return right, len(truth)
