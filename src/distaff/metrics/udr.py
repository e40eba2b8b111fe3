"""UDR: models whose latents agree with those of other models, up to order and sign, are disentangled."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

import numpy as np
from scipy.stats import rankdata

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError
from distaff.metrics.active_latents import active_latents, standardised
from distaff.metrics.declare import metric, settle
from distaff.metrics.inputs import CodesLike, Float64Array, as_codes
from distaff.metrics.intervals import Error, checked_draws, errors, interval
from distaff.metrics.lasso import lasso_weights
from distaff.metrics.options import NotNegative
from distaff.metrics.score import Score


@dataclass(frozen=True)
class Similarity:
    """How latents of two models are compared; ``alpha`` is the lasso's penalty."""

    similarity: Literal["lasso", "spearman"]
    alpha: NotNegative = 0.1


PROTOCOLS = {"duan20": Similarity("lasso"), "duan20-spearman": Similarity("spearman")}


@metric(
    paper="Duan et al. 2020", protocols=PROTOCOLS, bounds=(0, 1), inputs="several codes", posterior="optional"
)
def udr(
    models: Mapping[str, CodesLike] | Sequence[CodesLike],
    *,
    protocol: str = "duan20",
    similarity: Literal["lasso", "spearman"] | None = None,
    alpha: float | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> dict[str, Score]:
    """How one-to-one the latents of a model are with those of other models of the same data.

    For models i and j, R_ab is how much latent a of i matters for latent b of j (|lasso weights|, or
    |Spearman correlations|), over latents that are not collapsed. UDR_ij is the mean of the averages over b
    and over a of r²/ΣR with r the largest entry of the column or row; the score of a model is the median over
    the others.

    Args:
        models: two or more codes of the same observations, by name or in order; with log-variances, latents
            with less than 0.01 nats of KL to N(0, 1) are left out.
        protocol: ``"duan20"`` (lasso) or ``"duan20-spearman"``.
        similarity: ``"lasso"`` or ``"spearman"``.
        alpha: lasso penalty, for standardised latents.
        bootstrap: halves of the rows to score for the interval, 0 for none. It holds the mean score over
            fresh rows and fresh other models of the same kind, and needs three models or more.
        seed: of the halves.
    """
    settings, protocol = settle(
        PROTOCOLS,
        protocol,
        idle=lambda s: ("alpha",) if s.similarity == "spearman" else (),
        similarity=similarity,
        alpha=alpha,
    )
    named = models if isinstance(models, Mapping) else {f"model{i}": codes for i, codes in enumerate(models)}
    names, all_codes = list(named), [as_codes(codes) for codes in named.values()]
    if len(names) < 2:
        raise DistaffError("UDR compares models: give the codes of at least two.")
    if len({len(codes) for codes in all_codes}) > 1:
        raise DistaffError("UDR compares models on the same observations: their codes differ in length.")
    scores = _agreements(names, all_codes, settings, protocol)
    draws, count = checked_draws(bootstrap), len(all_codes[0])
    if draws and len(names) > 2:
        of_rows = errors(
            scores,
            lambda rows, _: _agreements(names, [codes[rows] for codes in all_codes], settings, protocol),
            count,
            draws,
            seed,
        )
        scores = [
            replace(score, interval=interval(score, error + _of_models(score), (0, 1), count))
            for score, error in zip(scores, of_rows, strict=True)
        ]
    return dict(zip(names, scores, strict=True))


def _agreements(
    names: Sequence[str], models: Sequence[Codes], settings: Similarity, protocol: str
) -> list[Score]:
    """The score of each model, without an interval."""
    latents = [_live(codes) for codes in models]
    pairwise = np.full((len(names), len(names)), np.nan)
    for i, x in enumerate(latents):
        for j, y in enumerate(latents):
            if i != j:
                pairwise[i, j] = relative_strength(_similarities(x, y, settings))
    scores = []
    for i, name in enumerate(names):
        others = np.delete(pairwise[:, i], i)
        scores.append(
            Score(
                name="udr",
                value=float(np.median(others)),
                protocol=protocol,
                settings=asdict(settings),
                details={
                    "pairwise": dict(zip((n for n in names if n != name), others.tolist(), strict=True))
                },
                notes=() if latents[i].shape[1] else ("no latent is active",),
            )
        )
    return scores


def _of_models(score: Score) -> Error:
    """The error of a median over other models, as of so many normal values."""
    others = list(score.details["pairwise"].values())
    count = len(others)
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
    """(dx, dy) how much each latent of one model matters for each of the other."""
    if not (x.shape[1] and y.shape[1]):
        return np.zeros((x.shape[1], y.shape[1]))
    if settings.similarity == "lasso":
        return np.asarray(np.abs(lasso_weights(x, y, settings.alpha)))
    ranks = [standardised(rankdata(z, axis=0)) for z in (x, y)]
    return np.asarray(np.abs(ranks[0].T @ ranks[1]) / len(x))
