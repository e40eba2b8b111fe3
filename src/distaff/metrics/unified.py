"""Unified scores: several summaries of several matrices of latents and factors."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError
from distaff.metrics.binned_means import mean_information
from distaff.metrics.dci import entropy_share, weighted_mean
from distaff.metrics.importances import Probing, probe
from distaff.metrics.inputs import Factors, Float64Array
from distaff.metrics.labels import hard_labels
from distaff.metrics.metric import metric
from distaff.metrics.missing_labels import Part, as_columns, of_each, parts
from distaff.metrics.modularity import modularities
from distaff.metrics.options import Count
from distaff.metrics.predictability import svm_accuracies
from distaff.metrics.result import Result
from distaff.metrics.sap import ONE_BY_ONE
from distaff.metrics.score import Score
from distaff.metrics.train_test import split_rows


class Unified(NamedTuple):
    """The five scores; higher is better for all."""

    disentanglement: Score
    completeness: Score
    mig: Score
    sap: Score
    modularity: Score


@dataclass(frozen=True)
class Relating:
    """The matrix that relates latents to factors.

    Args:
        matrix: mutual information of means in 20 bins, importances of boosted trees, or accuracies of linear
            support vector machines on one latent.
        rounds: number of boosting rounds.
    """

    matrix: Literal["information", "boosting", "svm"]
    rounds: Count = 100


@metric(
    paper="Locatello et al. 2020",
    protocols={name: Relating(name) for name in ("information", "boosting", "svm")},
    returns=Unified,
    by_factor="within",
    idle=lambda settings, _: () if settings.matrix == "boosting" else ("rounds",),
    says={
        "unified_disentanglement": "modularity",
        "unified_completeness": "compactness",
        "unified_mig": "compactness",
        "unified_sap": "compactness",
        "unified_modularity": "modularity",
    },
    widest={
        "boosting": (64, "grows trees over all latents"),
        "svm": ONE_BY_ONE,
    },
)
def unified(codes: Codes, factors: Factors, settings: Relating, seed: int) -> dict[str, Result]:
    """DCI's two scores, MIG, SAP and modularity as summaries of one matrix R (latents × factors).

    disentanglement_lib's ``unified_scores``: these metrics differ in the matrix they start from and in how
    they summarise it; here each summary is computed for each matrix. Disentanglement and completeness are
    those of ``dci`` with R as importances (weighted); ``unified_mig`` is the mean over factors of (R* − R°) /
    H(y_k), ``unified_sap`` that of R* − R°, ``unified_modularity`` the modularity with R as information.

    Args:
        factors: (N, K) classes, with K of at least 2; each column of R uses the rows that have the factor's
            label.
        protocol: ``"information"`` (then two of the five scores are ``mig`` and ``modularity``),
            ``"boosting"`` (the matrix of ``dci`` with ``locatello19``) or ``"svm"`` (the matrix of ``sap``
            with ``locatello19``).
        seed: random seed for the split and the trees.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import unified
        >>> factors = np.indices((4, 5)).reshape(2, -1).T
        >>> [round(score.value, 6) for score in unified(factors, factors)]  # SAP is in nats here
        [1.0, 1.0, 1.0, 1.497866, 1.0]

    See Also:
        ``dci``; ``mig``; ``sap``; ``modularity``; ``med``.
    """
    if len(factors.names) < 2 or len(codes.names) < 2:
        raise DistaffError("unified scores compare latents and factors: give at least 2 of both.")
    labels = hard_labels(factors)
    table = _matrix(codes, factors, settings, seed)
    by_latent, by_factor = (1 - entropy_share(table, axis=axis) for axis in (1, 0))
    ordered = np.sort(table, axis=0)
    gaps = ordered[-1] - ordered[-2]
    modular = modularities(table)
    details = {"matrix": table, "latents": codes.names}
    return {
        "unified_disentanglement": Result(
            weighted_mean(by_latent, table.sum(axis=1)), per_latent=by_latent, details=details, bounds=(0, 1)
        ),
        "unified_completeness": Result(
            weighted_mean(by_factor, table.sum(axis=0)), per_factor=by_factor, details=details, bounds=(0, 1)
        ),
        "unified_mig": Result((gaps / labels.entropies).mean(), per_factor=gaps / labels.entropies),
        "unified_sap": Result(gaps.mean(), per_factor=gaps),
        "unified_modularity": Result(modular.mean(), per_latent=modular, bounds=(0, 1)),
    }


def _matrix(codes: Codes, factors: Factors, settings: Relating, seed: int) -> Float64Array:
    """(latents, K) matrix, non-negative."""
    if settings.matrix == "information":
        return mean_information(codes, 20, hard_labels(factors)).information
    if settings.matrix == "boosting":
        boosting = Probing("boosting", "classification", rounds=settings.rounds)
        return probe(codes, factors, boosting, seed).importances
    cut = parts(codes, factors)
    return as_columns(cut, of_each(cut, lambda part: _accuracies(part, seed)))


def _accuracies(part: Part, seed: int) -> Float64Array:
    """(latents, k) accuracies of the support vector machines of ``sap`` with ``locatello19``."""
    train, test = split_rows(len(part.rows), 10_000, 5_000, np.random.default_rng(seed))
    classes = part.factors.classes
    return svm_accuracies(part.codes, classes, train, test, penalty=0.01, standardise=False)
