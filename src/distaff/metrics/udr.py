"""UDR: a model is disentangled if its latents agree with those of other models, up to order and sign."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import rankdata

from distaff.codes import Codes
from distaff.metrics.active_latents import active_latents, standardised
from distaff.metrics.inputs import Float64Array
from distaff.metrics.lasso import lasso_weights
from distaff.metrics.metric import metric
from distaff.metrics.options import NotNegative
from distaff.metrics.result import Error, Result


@dataclass(frozen=True)
class Similarity:
    """How latents of two models are compared.

    Args:
        similarity: ``"lasso"`` or ``"spearman"``.
        alpha: lasso penalty, for standardised latents.
    """

    similarity: Literal["lasso", "spearman"]
    alpha: NotNegative = 0.1


@metric(
    paper="Duan et al. 2020",
    protocols={"duan20": Similarity("lasso"), "duan20-spearman": Similarity("spearman")},
    posterior="used if given",
    returns=dict,
    idle=lambda settings, _: ("alpha",) if settings.similarity == "spearman" else (),
)
def udr(models: Mapping[str, Codes], settings: Similarity) -> dict[str, Result]:
    """How one-to-one the latents of a model are with those of other models of the same data.

    For models i and j, R_ab is how much latent a of i matters for latent b of j (|lasso weights|, or
    |Spearman correlations|), over latents that are not collapsed. UDR_ij is the mean of the averages over b
    and over a of r²/ΣR, where r is the largest entry of the column or row; the score of a model is the median
    over the others. It is 1 for a permutation of latents; lasso weights of correlated latents, and with them
    the score, can exceed 1.

    Args:
        models: codes of two or more models for the same observations, by name or in order; with
            log-variances, latents with less than 0.01 nats of KL to their prior, whichever it is, are left
            out. Categorical latents are ignored, with a note.
        protocol: ``"duan20"`` (lasso) or ``"duan20-spearman"``.
        bootstrap: number of random halves of the rows to score for the interval; 0 for none. The interval is
            for the mean score over new rows and new other models of the same kind, and needs at least three
            models.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import udr
        >>> z = np.random.default_rng(0).normal(size=(500, 3))
        >>> scores = udr({"one": z, "two": -z[:, ::-1]}, alpha=0)  # the same latents in another order
        >>> {name: round(score.value, 1) for name, score in scores.items()}
        {'one': 1.0, 'two': 1.0}

    See Also:
        ``dci``, whose importances it computes between models.
    """
    names, latents = list(models), [_live(codes) for codes in models.values()]
    pairwise = np.full((len(names), len(names)), np.nan)
    ends = np.cumsum([y.shape[1] for y in latents])[:-1]
    everything = np.hstack(latents)  # one regression for the latents of all models at once
    for i, x in enumerate(latents):
        for j, found in enumerate(np.split(_similarities(x, everything, settings), ends, axis=1)):
            if i != j:
                pairwise[i, j] = relative_strength(found)
    results = {}
    for i, (name, codes) in enumerate(models.items()):
        left_out = ", ".join(codes.categories)
        others = np.delete(pairwise[:, i], i)
        value = np.median(others)
        results[name] = Result(
            value,
            details={"pairwise": dict(zip((n for n in names if n != name), others.tolist(), strict=True))},
            notes=("no latent is active",) * (not latents[i].shape[1])
            + (f"categorical latents take no part: {left_out}",) * bool(left_out),
            bounds=(0.0, 1.0) if value <= 1 else None,
            error=_of_models(others),
        )
    return results


def _of_models(others: Float64Array) -> Error:
    """The error of a median over other models, as for normal values; infinite for a single other model."""
    count = len(others)
    if count < 2:
        return Error(np.inf, 1)
    return Error(float(np.var(others, ddof=1) * np.pi / (2 * count + np.pi - 2)), count - 1)


def relative_strength(similarities: Float64Array) -> float:
    """Mean over columns and over rows of (largest entry)²/(sum of entries): 1 for a permutation matrix."""
    if not similarities.size:
        return 0.0
    parts = []
    for axis in (0, 1):
        largest, total = similarities.max(axis=axis), similarities.sum(axis=axis)
        parts.append(np.divide(largest**2, total, out=np.zeros_like(total), where=total > 0).mean())
    return float(np.mean(parts))


def _live(codes: Codes) -> Float64Array:
    """(N, d) the standardised Gaussian latents that are not collapsed."""
    active, _, _ = active_latents(codes)
    return np.asarray(standardised(codes.means)[:, active[: codes.means.shape[1]]])


def _similarities(x: Float64Array, y: Float64Array, settings: Similarity) -> Float64Array:
    """(dx, dy) how much each latent of one model matters for each latent of the other."""
    if not (x.shape[1] and y.shape[1]):
        return np.zeros((x.shape[1], y.shape[1]))
    if settings.similarity == "lasso":
        return np.asarray(np.abs(lasso_weights(x, y, settings.alpha)))
    ranks = [standardised(rankdata(z, axis=0)) for z in (x, y)]
    return np.asarray(np.abs(ranks[0].T @ ranks[1]) / len(x))
