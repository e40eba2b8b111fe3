"""Explicitness: how well linear classifiers of all latents tell each class of a factor from the rest."""

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from distaff.codes import FloatArray
from distaff.metrics.bootstrap import checked_draws, interval, resample_counts
from distaff.metrics.declare import metric, settle
from distaff.metrics.inputs import CodesLike, FactorsLike, Float64Array, IntArray, labelled
from distaff.metrics.logistic import one_versus_rest
from distaff.metrics.options import Positive
from distaff.metrics.score import Score
from distaff.metrics.splits import columns

_BINS = 200


@dataclass(frozen=True)
class Separation:
    """The L2 ``penalty`` of the classifiers, and whether areas of 0.5 to 1 are stretched to 0 to 1."""

    penalty: Positive
    normalize: bool


PROTOCOLS = {"ridgeway18": Separation(penalty=1.0, normalize=False)}


@metric(paper="Ridgeway & Mozer 2018", protocols=PROTOCOLS, bounds=(0, 1))
def explicitness(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "ridgeway18",
    penalty: float | None = None,
    normalize: bool | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score:
    """Area under the ROC curve of one-versus-rest logistic regressions, averaged over classes and factors.

    The classifiers read all latents and are scored on the rows they learn from. Noise scores 0.5 and slightly
    above when rows are few for the number of latents; perfect separation scores 1.

    Args:
        codes: (N, D) means, or ``Codes``; a categorical latent enters as its class probabilities.
        factors: (N, K) classes.
        protocol: ``"ridgeway18"``.
        penalty: of the squared weights, for standardised latents.
        normalize: give 2·AUC − 1, so that chance is 0.
        bootstrap: number of resamples of the rows; the classifiers stay.
        seed: of the resamples.
    """
    settings, protocol = settle(PROTOCOLS, protocol, penalty=penalty, normalize=normalize)
    codes, factors = labelled(codes, factors)
    classes = factors.classes
    x, _ = columns(codes)
    weights = one_versus_rest(x, classes, factors.sizes, settings.penalty)
    inputs = x.astype(np.float32)
    draws = checked_draws(bootstrap)
    rng = np.random.default_rng(seed)

    areas = np.empty((1 + draws, len(factors.names)))
    offset = 0
    for k, size in enumerate(factors.sizes):
        of_class = np.empty((1 + draws, size))
        own = weights[:, offset : offset + size].astype(np.float32)
        logits = inputs @ own[:-1] + own[-1]
        for c in range(size):
            scores, member = logits[:, c], classes[:, k] == c
            of_class[0, c] = area_under_roc(scores[member], scores[~member])
            if draws:
                of_class[1:, c] = _areas(resample_counts(_histograms(scores, member), draws, rng))
        areas[:, k] = of_class.mean(axis=1)
        offset += size
    if settings.normalize:
        areas = 2 * areas - 1
    value = float(areas[0].mean())
    return Score(
        name="explicitness",
        value=value,
        protocol=protocol,
        settings=asdict(settings),
        per_factor=dict(zip(factors.names, areas[0].tolist(), strict=True)),
        interval=interval(value, areas[1:].mean(axis=1), (0, 1)) if draws else None,
        notes=factors.notes,
    )


def area_under_roc(positives: FloatArray, negatives: FloatArray) -> float:
    """P(a positive scores above a negative), ties counted as one half."""
    ordered = np.sort(negatives)
    below = np.searchsorted(ordered, positives, side="left").astype(np.float64)
    upto = np.searchsorted(ordered, positives, side="right")
    return float((below + upto).mean() / (2 * len(negatives)))


def _histograms(scores: FloatArray, member: NDArray[np.bool_]) -> IntArray:
    """(2, bins) counts of members and others in quantile bins of the score."""
    sample = scores[:: max(1, len(scores) // 10_000)]
    edges = np.unique(np.quantile(sample, np.linspace(0, 1, _BINS + 1)[1:-1]))
    place = np.searchsorted(edges, scores)
    bins = len(edges) + 1
    return np.bincount(np.where(member, 0, bins) + place, minlength=2 * bins).reshape(2, bins)


def _areas(counts: IntArray) -> Float64Array:
    """(draws,) areas from histograms (draws, 2, bins)."""
    inside, outside = counts[:, 0].astype(np.float64), counts[:, 1].astype(np.float64)
    won = np.cumsum(outside, axis=1) - outside / 2
    pairs = np.maximum(inside.sum(axis=1) * outside.sum(axis=1), 1)
    return np.asarray((inside * won).sum(axis=1) / pairs)
