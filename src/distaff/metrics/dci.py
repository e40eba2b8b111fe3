"""DCI: disentanglement, completeness and informativeness from the importances of trained predictors."""

from dataclasses import asdict
from typing import Literal, NamedTuple

import numpy as np

from distaff.errors import unknown
from distaff.metrics.bootstrap import checked_draws, interval
from distaff.metrics.declare import metric, settle
from distaff.metrics.importances import Probing, probe
from distaff.metrics.inputs import CodesLike, FactorsLike, Float64Array, labelled
from distaff.metrics.score import Score

PROTOCOLS = {
    "esmaeili18": Probing("forest", "regression"),
    "eastwood18": Probing("lasso", "regression"),
    "locatello19": Probing("boosting", "classification"),
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
    predictor: Literal["lasso", "forest", "boosting"] | None = None,
    task: Literal["regression", "classification"] | None = None,
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
    is the mean over factors of 1 − H_D(P_·k); entropies in base K and D. Informativeness is the mean over
    factors of 1 − NRMSE on test rows, 0 for guessing the mean (the paper prints the error itself), or of the
    accuracy when classes are predicted. Noise scores near 0 (accuracy: chance).

    Args:
        codes: (N, D) means, or ``Codes``; the importance of a categorical latent is that of its classes.
        factors: (N, K) classes or real values.
        protocol: ``"esmaeili18"`` (random forest), ``"eastwood18"`` (lasso) or ``"locatello19"`` (gradient
            boosting of classes).
        predictor: ``"lasso"``, ``"forest"`` or ``"boosting"``.
        task: whether classes are regressed as numbers or predicted as classes; real factors are regressed.
        train: rows that train; with fewer rows in all, two thirds of them.
        test: rows that test.
        alpha: lasso penalty, for standardised latents and factors.
        trees: trees in a forest.
        bootstrap: number of resamples: of rows for the lasso, of trees for importances by trees, and of test
            rows for informativeness.
        seed: of the split, the trees and the resamples.
    """
    settings, protocol = settle(
        PROTOCOLS,
        protocol,
        idle=lambda s: {"lasso": ("task", "trees"), "forest": ("alpha",)}.get(
            s.predictor, ("alpha", "trees")
        ),
        predictor=predictor,
        task=task,
        train=train,
        test=test,
        alpha=alpha,
        trees=trees,
    )
    if settings.predictor not in ("lasso", "forest", "boosting"):
        raise unknown("predictor", settings.predictor, ("lasso", "forest", "boosting"))
    if settings.task not in ("regression", "classification"):
        raise unknown("task", settings.task, ("regression", "classification"))
    codes, factors = labelled(codes, factors)
    draws = checked_draws(bootstrap)
    found = probe(codes, factors, settings, draws, seed)

    by_latent = 1 - entropy_share(found.importances, axis=2)
    by_factor = 1 - entropy_share(found.importances, axis=1)
    informed = found.informativeness(draws, np.random.default_rng(seed))
    weights = found.importances.sum(axis=2)
    total = weights.sum(axis=1)
    values = {
        "dci_disentanglement": (by_latent * weights).sum(axis=1) / np.where(total > 0, total, 1),
        "dci_completeness": by_factor.mean(axis=1),
        "dci_informativeness": informed.mean(axis=1),
    }
    scores = [
        Score(
            name=name,
            value=float(value[0]),
            protocol=protocol,
            settings={**asdict(settings), "seed": seed},
            interval=interval(float(value[0]), value[1:], (0, 1)) if draws else None,
            per_latent=_named(codes.names, by_latent[0]) if name == "dci_disentanglement" else None,
            per_factor=None
            if name == "dci_disentanglement"
            else _named(factors.names, (by_factor if name == "dci_completeness" else informed)[0]),
            details={"importances": found.importances[0]},
            notes=factors.notes,
        )
        for name, value in values.items()
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


def _named(names: tuple[str, ...], values: Float64Array) -> dict[str, float]:
    return dict(zip(names, values.tolist(), strict=True))
