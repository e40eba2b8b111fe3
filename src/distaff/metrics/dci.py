"""DCI: disentanglement, completeness and informativeness from the importances of trained predictors."""

from typing import NamedTuple

import numpy as np

from distaff.codes import Codes
from distaff.metrics.importances import Probing, probe
from distaff.metrics.inputs import Factors, Float64Array
from distaff.metrics.metric import metric
from distaff.metrics.result import Result
from distaff.metrics.score import Score

_IDLE = {
    "lasso": ("task", "trees", "rounds"),
    "forest": ("alpha", "rounds"),
    "boosting": ("alpha", "trees"),
    "histogram": ("alpha", "trees"),
}


class DCI(NamedTuple):
    """The three scores; all are best at 1."""

    disentanglement: Score
    completeness: Score
    informativeness: Score


@metric(
    paper="Eastwood & Williams 2018",
    protocols={
        "esmaeili18": Probing("forest", "regression"),
        "eastwood18": Probing("lasso", "regression"),
        "eastwood18-code": Probing("lasso", "regression", alpha=0.02),
        "locatello19": Probing("boosting", "classification", weighted=True),
        "locatello19-histogram": Probing("histogram", "classification", weighted=True),
    },
    bounds=(0, 1),
    returns=DCI,
    by_factor="within",
    idle=lambda settings, _: _IDLE[settings.predictor],
    widest=(256, "grows trees over all latents"),
    says={
        "dci_disentanglement": "modularity",
        "dci_completeness": "compactness",
        "dci_informativeness": "explicitness",
    },
)
def dci(codes: Codes, factors: Factors, settings: Probing, seed: int) -> dict[str, Result]:
    """Whether each latent matters for one factor, each factor needs one latent, and all are predicted.

    One predictor per factor gives importances R_ik (|weights| or impurity decrease). With P_i· = R_i·/Σ_k
    R_ik and ρ_i = Σ_k R_ik/ΣR, disentanglement is Σ_i ρ_i (1 − H_K(P_i·)); with P_·k = R_·k/Σ_i R_ik,
    completeness is the mean over factors of 1 − H_D(P_·k), optionally weighted by Σ_i R_ik/ΣR. Entropies
    are in base K and D. Informativeness is the mean over factors of 1 − NRMSE on test rows, which is 0 for
    predicting the mean (the paper reports the error itself), or of the accuracy if classes are predicted.
    Noise scores near 0 (accuracy: chance).

    Args:
        codes: (N, D) means, or ``Codes``; the importance of a categorical latent is the sum over its classes.
        factors: (N, K) classes or real values; each factor is predicted on the rows that have its label.
        protocol: ``"esmaeili18"`` (random forest); ``"eastwood18"`` (lasso, with the penalty that Do & Tran
            2020 give); ``"eastwood18-code"`` (the penalty 0.02 of the authors' notebook);
            ``"locatello19"`` (scikit-learn's gradient boosting of classes, which takes minutes for a hundred
            classes, and weighted completeness) or ``"locatello19-histogram"`` (gradient boosting on
            histograms, which is faster but grows other trees and gives other numbers).
        seed: random seed for the split and the trees.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import dci
        >>> factors = np.indices((2, 3)).reshape(2, -1).T.repeat(10, axis=0)
        >>> [round(score.value, 6) for score in dci(factors, factors)]  # one latent per factor
        [1.0, 1.0, 1.0]

    See Also:
        ``dci_es``, explicitness and size; ``infomec``; ``modularity``.
    """
    found = probe(codes, factors, settings, seed)

    by_latent = 1 - entropy_share(found.importances, axis=1)
    by_factor = 1 - entropy_share(found.importances, axis=0)
    factor_weights = found.importances.sum(axis=0) if settings.weighted else np.ones_like(by_factor)
    details = {"importances": found.importances}
    notes = factors.read_as_numbers() if found.regressed.any() else ()
    return {
        "dci_disentanglement": Result(
            weighted_mean(by_latent, found.importances.sum(axis=1)),
            per_latent=by_latent,
            details=details,
            notes=notes + sole_note("factor", len(by_factor)),
            rows=found.trained,
        ),
        "dci_completeness": Result(
            weighted_mean(by_factor, factor_weights),
            per_factor=by_factor,
            details=details,
            notes=notes + sole_note("latent", len(by_latent)),
            rows=found.trained,
        ),
        "dci_informativeness": Result(
            found.informativeness.mean(),
            per_factor=found.informativeness,
            details=details,
            notes=notes,
            rows=found.tested,
            trials=None if found.regressed.any() else found.tested,
        ),
    }


def sole_note(kind: str, count: int) -> tuple[str, ...]:
    """A note on a score of shares among ``count`` factors, or latents, if there is one, which has all."""
    return (f"a single {kind} shares with no other: the score says nothing about the codes",) * (count == 1)


def entropy_share(importances: Float64Array, axis: int) -> Float64Array:
    """The entropy of the shares along ``axis`` divided by its maximum; 1 if there is nothing to share."""
    size = importances.shape[axis]
    total = importances.sum(axis=axis, keepdims=True)
    shares = np.divide(importances, total, out=np.full_like(importances, 1 / size), where=total > 0)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    if size == 1:
        return np.asarray((total == 0).squeeze(axis).astype(np.float64))
    return np.asarray(np.minimum(-(shares * logs).sum(axis=axis) / np.log(size), 1.0))


def weighted_mean(values: Float64Array, weights: Float64Array) -> float:
    """The weighted mean; 0 if all weights are 0."""
    total = weights.sum()
    return float((values * weights).sum() / total) if total > 0 else 0.0
