"""SAP: how much better the best latent predicts a factor than the second best."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from distaff.foundation.errors import DistaffError, unknown
from distaff.metrics.declare import metric, settle
from distaff.metrics.inputs import CodesLike, Factors, FactorsLike, labelled
from distaff.metrics.options import Count, Positive
from distaff.metrics.predictability import r_squared, svm_accuracies, threshold_accuracies
from distaff.metrics.score import Basis, Score
from distaff.metrics.train_test import split_rows


@dataclass(frozen=True)
class Predictability:
    """How classes are predicted: by thresholds on all rows, or by a linear SVM on ``train`` rows."""

    classifier: Literal["thresholds", "svm"]
    standardise: bool = False
    penalty: Positive = 0.01
    train: Count = 10_000
    test: Count = 5_000


PROTOCOLS = {
    "kumar18": Predictability("thresholds"),
    "locatello19": Predictability("svm"),
    "locatello19-standardised": Predictability("svm", standardise=True),
}


@metric(paper="Kumar et al. 2018", protocols=PROTOCOLS, bounds=(0, 1))
def sap(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "kumar18",
    continuous: Sequence[str] | bool | None = None,
    classifier: Literal["thresholds", "svm"] | None = None,
    standardise: bool | None = None,
    penalty: float | None = None,
    train: int | None = None,
    test: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score:
    """The gap between the two latents that predict a factor best, averaged over factors.

    S_ik is R² = Cov²/(Var Var) for a continuous factor, and for one of classes the accuracy of a classifier
    that reads z_i alone. Noise scores about 0.

    Args:
        codes: (N, D) means with D of at least 2, or ``Codes``.
        factors: (N, K) classes or real values.
        protocol: ``"kumar18"`` (the thresholds with the best balanced accuracy, on all rows),
            ``"locatello19"`` (one balanced linear SVM a pair, trained on 10,000 rows, tested on 5,000; the
            latents enter as they are, so that small ones meet a strong penalty) or
            ``"locatello19-standardised"`` (the same whatever the latents' scales).
        continuous: names of the factors to score by R², or True or False for all; the real-valued ones if
            not given.
        classifier: ``"thresholds"`` or ``"svm"``.
        standardise: whether the SVM reads latents of mean 0 and standard deviation 1.
        penalty: C of the SVM.
        train: rows that train the SVM.
        test: rows that test it.
        bootstrap: halves of the rows to score for the interval, 0 for none.
        seed: of the split and the halves.
    """
    settings, protocol = settle(
        PROTOCOLS,
        protocol,
        idle=lambda s: ("standardise", "penalty", "train", "test") if s.classifier == "thresholds" else (),
        classifier=classifier,
        standardise=standardise,
        penalty=penalty,
        train=train,
        test=test,
    )
    codes, factors = labelled(codes, factors)
    if len(codes.names) < 2:
        raise DistaffError("SAP is a gap between two latents: the codes have only one.")

    real = _continuous(factors, continuous)
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

    ordered = np.sort(table, axis=0)
    gaps = ordered[-1] - ordered[-2]
    by_r2 = [name for name, r in zip(factors.names, real, strict=True) if r]
    return Score(
        name="sap",
        value=float(gaps.mean()),
        protocol=protocol,
        settings={**asdict(settings), "continuous": by_r2, "seed": seed},
        per_factor=dict(zip(factors.names, gaps.tolist(), strict=True)),
        details={"predictability": table},
        notes=factors.notes,
        basis=Basis(rows=tested),
    )


def _continuous(factors: Factors, given: Sequence[str] | bool | None) -> NDArray[np.bool_]:
    """(K,) which factors are scored by R²."""
    real = np.array(factors.sizes) == 0
    if given is None or given is True:
        return real if given is None else np.ones_like(real)
    if given is False:
        _ = factors.classes  # real-valued factors cannot be classes: this says how to quantize them
        return np.zeros_like(real)
    for name in given:
        if name not in factors.names:
            raise unknown("factor", name, factors.names)
    return np.asarray(real | np.isin(factors.names, list(given)))
