"""Importance of each latent for predicting each factor, from a lasso, random forest or gradient boosting."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from distaff.codes import Codes
from distaff.foundation.parallel import side_by_side
from distaff.metrics.active_latents import standardised
from distaff.metrics.boosting import boosted
from distaff.metrics.inputs import Factors, Float64Array, IntArray
from distaff.metrics.lasso import lasso_weights
from distaff.metrics.missing_labels import as_columns, of_each, parts
from distaff.metrics.options import Count, NotNegative
from distaff.metrics.train_test import by_latent, columns, split_rows


@dataclass(frozen=True)
class Probing:
    """How factors are predicted, and from how many rows.

    Args:
        predictor: ``"lasso"``, ``"forest"``, ``"boosting"`` or ``"histogram"``.
        task: whether classes are regressed as numbers or predicted as classes; real factors are regressed.
        weighted: whether completeness weights factors by their importances; trees give equal weights.
        train: number of training rows; two thirds of the rows if there are fewer in all.
        test: number of test rows.
        alpha: lasso penalty, for standardised latents and factors.
        trees: number of trees in a forest.
        rounds: number of boosting rounds.
    """

    predictor: Literal["lasso", "forest", "boosting", "histogram"]
    task: Literal["regression", "classification"]
    weighted: bool = False
    train: Count = 10_000
    test: Count = 5_000
    alpha: NotNegative = 0.002
    trees: Count = 10
    rounds: Count = 100


@dataclass(frozen=True)
class Probe:
    """The results of the predictors of all factors.

    Args:
        importances: (latents, K), non-negative.
        informativeness: (K,) 1 − NRMSE on test rows (0 if no better than the mean), or the accuracy.
        regressed: (K,) whether it is the former.
        trained: number of training rows of each predictor; the smallest if some labels are missing.
        tested: number of test rows.
    """

    importances: Float64Array
    informativeness: Float64Array
    regressed: NDArray[np.bool_]
    trained: int
    tested: int


def probe(codes: Codes, factors: Factors, settings: Probing, seed: int) -> Probe:
    """Train one predictor per factor on some rows and test it on others.

    The lasso reads latents and factors standardised by the training rows. Gradient boosting reads the latents
    at their own scale, which matters because scikit-learn's trees treat values closer than 1e-7 as equal. If
    a factor lacks labels, its predictor is trained and tested on the rows that have them.
    """
    cut = parts(codes, factors)
    found = of_each(cut, lambda part: _probe(part.codes, part.factors, settings, seed))
    return Probe(
        as_columns(cut, [one.importances for one in found]),
        as_columns(cut, [one.informativeness for one in found]),
        as_columns(cut, [one.regressed for one in found]),
        min(one.trained for one in found),
        min(one.tested for one in found),
    )


def _probe(codes: Codes, factors: Factors, settings: Probing, seed: int) -> Probe:
    """The same for factors without missing labels."""
    rng = np.random.default_rng(seed)
    x, owners = columns(codes, standardise=settings.predictor != "boosting")
    train, test = split_rows(len(x), settings.train, settings.test, rng)
    regressed = np.array([settings.task == "regression" or size == 0 for size in factors.sizes])
    if settings.predictor == "lasso":
        x, y = (_by_training_rows(values, train) for values in (x, standardised(factors.values)))
        weights = lasso_weights(x[train], y[train], settings.alpha)
        importances = np.abs(weights)
        losses = _relative_squares(y[test] - x[test] @ weights, y[test])
        regressed = np.ones_like(regressed)
    else:
        shares, columns_of_losses = [], []
        wanted = zip(regressed, factors.values.T, factors.indices.T, strict=True)
        targets = [np.ascontiguousarray(values if r else classes) for r, values, classes in wanted]

        def fitted(k: int) -> tuple[Float64Array, NDArray[Any]]:
            return _trees(x[train], targets[k][train], x[test], bool(regressed[k]), settings, seed)

        # Gradient boosting grows its trees sequentially and outside of Python: run factors in parallel.
        several = side_by_side if settings.predictor == "boosting" else map
        for k, (decrease, guess) in enumerate(several(fitted, range(len(targets)))):
            target, total = targets[k], decrease.sum()
            shares.append(decrease / total if total > 0 else np.zeros_like(decrease))
            wrong = (guess != target[test]).astype(np.float64)
            columns_of_losses.append(
                _relative_squares(target[test] - guess, target[test]) if regressed[k] else wrong
            )
        importances = np.stack(shares, axis=1)
        losses = np.stack(columns_of_losses, axis=1)
    means = losses.mean(axis=0)
    informativeness = np.maximum(1 - np.where(regressed, np.sqrt(means), means), 0)
    return Probe(by_latent(importances, owners), informativeness, regressed, len(train), len(test))


def _trees(
    x: Float64Array, y: NDArray[Any], test: Float64Array, regress: bool, settings: Probing, seed: int
) -> tuple[Float64Array, NDArray[Any]]:
    """(F,) mean impurity decrease of each column over trees or boosting rounds, and the predictions."""
    if settings.predictor == "forest":
        kind = RandomForestRegressor if regress else RandomForestClassifier
        model = kind(n_estimators=settings.trees, n_jobs=-1, random_state=seed).fit(x, y)
        return np.mean([tree.feature_importances_ for tree in model.estimators_], axis=0), model.predict(test)
    if len(np.unique(y)) == 1:
        return np.zeros(x.shape[1]), np.full(len(test), y[0])
    if settings.predictor == "boosting":
        exact = GradientBoostingRegressor if regress else GradientBoostingClassifier
        model = exact(n_estimators=settings.rounds, random_state=seed).fit(x, y)
        decrease = [
            sum(tree.tree_.compute_feature_importances(normalize=False) for tree in stage)
            for stage in model.estimators_
        ]
        return np.mean(decrease, axis=0), model.predict(test)
    model, guess = boosted(x, y, test, regress=regress, rounds=settings.rounds, penalty=1.0, seed=seed)
    return np.mean([_gains(rounds, x.shape[1]) for rounds in model._predictors], axis=0), guess


def _gains(trees: list[Any], inputs: int) -> Float64Array:
    """(F,) loss reduction by the splits on each column, over the trees of one boosting round."""
    nodes = np.concatenate([tree.nodes for tree in trees])
    splits = nodes[nodes["is_leaf"] == 0]
    gains = np.maximum(splits["gain"], 0.0)
    return np.bincount(splits["feature_idx"], weights=gains, minlength=inputs).astype(np.float64)


def _by_training_rows(values: Float64Array, train: IntArray) -> Float64Array:
    """The columns standardised by mean and standard deviation of the training rows; 0 if constant there."""
    known = values[train]
    deviation = known.std(axis=0)
    return np.asarray((values - known.mean(axis=0)) / np.where(deviation > 1e-12, deviation, np.inf))


def _relative_squares(residuals: NDArray[Any], targets: NDArray[Any]) -> Float64Array:
    """Squared errors divided by the targets' variance."""
    variance = targets.var(axis=0)
    return np.asarray(residuals**2 / np.where(variance > 0, variance, 1))
