"""DCI: disentanglement, completeness and informativeness from the importances of trained predictors."""

from dataclasses import asdict
from typing import Literal, NamedTuple

import numpy as np

from distaff.metrics.declare import metric, settle
from distaff.metrics.importances import Predictor, Probing, probe
from distaff.metrics.inputs import CodesLike, FactorsLike, Float64Array, labelled
from distaff.metrics.score import Basis, Score

PROTOCOLS = {
    "esmaeili18": Probing("forest", "regression"),
    "eastwood18": Probing("lasso", "regression"),
    "eastwood18-code": Probing("lasso", "regression", alpha=0.02),
    "locatello19": Probing("boosting", "classification", weighted=True),
    "locatello19-histogram": Probing("histogram", "classification", weighted=True),
}
_IDLE = {
    "lasso": ("task", "trees"),
    "forest": ("alpha",),
    "boosting": ("alpha", "trees"),
    "histogram": ("alpha", "trees"),
}


class DCI(NamedTuple):
    """The three scores; all are best at 1."""

    disentanglement: Score
    completeness: Score
    informativeness: Score


@metric(paper="Eastwood & Williams 2018", protocols=PROTOCOLS, bounds=(0, 1))
def dci(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "esmaeili18",
    predictor: Predictor | None = None,
    task: Literal["regression", "classification"] | None = None,
    weighted: bool | None = None,
    train: int | None = None,
    test: int | None = None,
    alpha: float | None = None,
    trees: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> DCI:
    """Whether each latent matters for one factor, each factor needs one latent, and all are predicted.

    One predictor a factor gives importances R_ik (|weights| or impurity decrease). With P_i· = R_i·/Σ_k R_ik
    and ρ_i = Σ_k R_ik/ΣR, disentanglement is Σ_i ρ_i (1 − H_K(P_i·)); with P_·k = R_·k/Σ_i R_ik, completeness
    is the mean over factors of 1 − H_D(P_·k), or their mean with Σ_i R_ik/ΣR as weights; entropies in base K
    and D. Informativeness is the mean over factors of 1 − NRMSE on test rows, 0 for guessing the mean (the
    paper prints the error itself), or of the accuracy when classes are predicted. Noise scores near 0
    (accuracy: chance).

    Args:
        codes: (N, D) means, or ``Codes``; the importance of a categorical latent is that of its classes.
        factors: (N, K) classes or real values.
        protocol: ``"esmaeili18"`` (random forest); ``"eastwood18"`` (lasso, with the penalty that Do & Tran
            2020 give); ``"eastwood18-code"`` (the penalty of 0.02 of the authors' notebook);
            ``"locatello19"`` (scikit-learn's gradient boosting of classes, minutes for a hundred of them, and
            weighted completeness) or ``"locatello19-histogram"`` (boosting on histograms, quicker; other
            trees and other numbers).
        predictor: ``"lasso"``, ``"forest"``, ``"boosting"`` or ``"histogram"``.
        task: whether classes are regressed as numbers or predicted as classes; real factors are regressed.
        weighted: whether factors weigh as their importances in completeness; those by trees are equal.
        train: rows that train; with fewer rows in all, two thirds of them.
        test: rows that test.
        alpha: lasso penalty, for standardised latents and factors.
        trees: trees in a forest.
        bootstrap: halves of the rows to score for the interval, 0 for none.
        seed: of the split, the trees and the halves.
    """
    settings, protocol = settle(
        PROTOCOLS,
        protocol,
        idle=lambda s: _IDLE.get(s.predictor, ()),
        predictor=predictor,
        task=task,
        weighted=weighted,
        train=train,
        test=test,
        alpha=alpha,
        trees=trees,
    )
    codes, factors = labelled(codes, factors)
    found = probe(codes, factors, settings, seed)

    by_latent = 1 - entropy_share(found.importances, axis=1)
    by_factor = 1 - entropy_share(found.importances, axis=0)
    factor_weights = found.importances.sum(axis=0) if settings.weighted else np.ones_like(by_factor)
    values = {
        "dci_disentanglement": _weighted(by_latent, found.importances.sum(axis=1)),
        "dci_completeness": _weighted(by_factor, factor_weights),
        "dci_informativeness": float(found.informativeness.mean()),
    }
    trained = Basis(rows=found.trained)
    tested = Basis(rows=found.tested, trials=None if found.regressed.any() else found.tested)
    scores = [
        Score(
            name=name,
            value=value,
            protocol=protocol,
            settings={**asdict(settings), "seed": seed},
            per_latent=_named(codes.names, by_latent) if name == "dci_disentanglement" else None,
            per_factor=None
            if name == "dci_disentanglement"
            else _named(factors.names, by_factor if name == "dci_completeness" else found.informativeness),
            details={"importances": found.importances},
            notes=factors.notes,
            basis=basis,
        )
        for (name, value), basis in zip(values.items(), (trained, trained, tested), strict=True)
    ]
    return DCI(*scores)


def entropy_share(importances: Float64Array, axis: int) -> Float64Array:
    """The entropy of shares along ``axis`` over its largest value; 1 where there is nothing to share."""
    size = importances.shape[axis]
    total = importances.sum(axis=axis, keepdims=True)
    shares = np.divide(importances, total, out=np.full_like(importances, 1 / size), where=total > 0)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    if size == 1:
        return np.asarray((total == 0).squeeze(axis).astype(np.float64))
    return np.asarray(np.minimum(-(shares * logs).sum(axis=axis) / np.log(size), 1.0))


def _weighted(values: Float64Array, weights: Float64Array) -> float:
    """The mean; 0 where nothing has weight."""
    total = weights.sum()
    return float((values * weights).sum() / total) if total > 0 else 0.0


def _named(names: tuple[str, ...], values: Float64Array) -> dict[str, float]:
    return dict(zip(names, values.tolist(), strict=True))
