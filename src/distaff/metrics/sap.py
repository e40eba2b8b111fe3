"""SAP: how much better the best latent predicts a factor than the second best."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError, unknown
from distaff.metrics.inputs import Factors, Float64Array
from distaff.metrics.metric import metric
from distaff.metrics.missing_labels import Part, as_columns, of_each, parts
from distaff.metrics.options import Count, Positive
from distaff.metrics.predictability import r_squared, svm_accuracies, threshold_accuracies
from distaff.metrics.result import Result
from distaff.metrics.train_test import split_rows

ONE_BY_ONE = (4096, "trains a support vector machine for every latent and factor")


@dataclass(frozen=True)
class Predictability:
    """How classes are predicted: by thresholds on all rows, or by a linear SVM.

    Args:
        classifier: ``"thresholds"`` or ``"svm"``.
        standardise: whether the SVM reads latents of mean 0 and standard deviation 1.
        penalty: C of the SVM.
        train: number of training rows of the SVM.
        test: number of test rows of the SVM.
    """

    classifier: Literal["thresholds", "svm"]
    standardise: bool = False
    penalty: Positive = 0.01
    train: Count = 10_000
    test: Count = 5_000


def _idle(settings: Predictability, _: Codes) -> tuple[str, ...]:
    return ("standardise", "penalty", "train", "test") if settings.classifier == "thresholds" else ()


@metric(
    paper="Kumar et al. 2018",
    protocols={
        "kumar18": Predictability("thresholds"),
        "locatello19": Predictability("svm"),
        "locatello19-standardised": Predictability("svm", standardise=True),
    },
    bounds=(0, 1),
    idle=_idle,
    by_factor="within",
    says="compactness",
    widest={
        "kumar18": (2048, "searches thresholds on every latent, for every factor"),
        "locatello19": ONE_BY_ONE,
        "locatello19-standardised": ONE_BY_ONE,
    },
)
def sap(
    codes: Codes,
    factors: Factors,
    settings: Predictability,
    seed: int,
    *,
    continuous: Sequence[str] | bool | None = None,
) -> Result:
    """The gap between the two latents that predict a factor best, averaged over factors.

    S_ik is R² = Cov²/(Var Var) for a continuous factor, and the accuracy of a classifier that reads only z_i
    for a categorical one. Noise scores about 0.

    Args:
        codes: (N, D) means with D of at least 2, or ``Codes``.
        factors: (N, K) classes or real values.
        protocol: ``"kumar18"`` (the thresholds with the best balanced accuracy, on all rows),
            ``"locatello19"`` (one balanced linear SVM per pair, trained on 10,000 rows, tested on 5,000; the
            latents are not standardised, so the penalty is strong for small ones) or
            ``"locatello19-standardised"`` (the same, independent of the latents' scales).
        continuous: names of the factors to score by R², or True or False for all; by default the real-valued
            ones.
        seed: random seed for the split.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import sap
        >>> factors = np.indices((2, 2)).reshape(2, -1).T.repeat(10, axis=0)
        >>> sap(factors, factors).value  # the best latent is always right, the second one by chance
        0.5

    See Also:
        ``mig``, a gap in information; ``dci``.
    """
    if len(codes.names) < 2:
        raise DistaffError("SAP is a gap between two latents: the codes have only one.")

    real = _continuous(factors, continuous)
    cut = parts(codes, factors)
    found = of_each(cut, lambda part: _predictability(part, real[part.columns], settings, seed))
    table = as_columns(cut, [one for one, _ in found])
    ordered = np.sort(table, axis=0)
    gaps = ordered[-1] - ordered[-2]
    by_r2 = [name for name, r in zip(factors.names, real, strict=True) if r]
    return Result(
        gaps.mean(),
        per_factor=gaps,
        details={"predictability": table},
        settings={"continuous": by_r2},
        rows=min(tested for _, tested in found),
    )


def _predictability(
    part: Part, real: NDArray[np.bool_], settings: Predictability, seed: int
) -> tuple[Float64Array, int]:
    """(latents, k) S_ik of the k factors of a part, and the number of rows that it was tested on."""
    codes, factors = part.codes, part.factors
    tested = len(codes)
    table = np.empty((len(codes.names), len(factors.names)))
    if real.any():
        table[:, real] = r_squared(codes, factors.values[:, real])
    if not real.all():
        classes = factors.indices[:, ~real]
        if settings.classifier == "svm":
            rng = np.random.default_rng(seed)
            train_rows, test_rows = split_rows(len(codes), settings.train, settings.test, rng)
            tested = len(test_rows)
            table[:, ~real] = svm_accuracies(
                codes, classes, train_rows, test_rows, settings.penalty, settings.standardise
            )
        else:
            sizes = [size for size, r in zip(factors.sizes, real, strict=True) if not r]
            table[:, ~real] = threshold_accuracies(codes, classes, sizes)
    return table, tested


def _continuous(factors: Factors, given: Sequence[str] | bool | None) -> NDArray[np.bool_]:
    """(K,) which factors are scored by R²."""
    real = np.array(factors.sizes) == 0
    if given is None or given is True:
        return real if given is None else np.ones_like(real)
    if given is False:
        factors.refuse_real()
        return np.zeros_like(real)
    for name in given:
        if name not in factors.names:
            raise unknown("factor", name, factors.names)
    return np.asarray(real | np.isin(factors.names, list(given)))
