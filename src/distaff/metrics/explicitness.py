"""Explicitness: how well linear classifiers of all latents tell each class of a factor from the rest."""

from dataclasses import asdict, dataclass

import numpy as np

from distaff.codes import FloatArray
from distaff.metrics.declare import metric, settle
from distaff.metrics.inputs import CodesLike, FactorsLike, labelled
from distaff.metrics.logistic import one_versus_rest
from distaff.metrics.options import Positive
from distaff.metrics.score import Score
from distaff.metrics.train_test import columns


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
        bootstrap: halves of the rows to score for the interval, 0 for none.
        seed: of the halves.
    """
    settings, protocol = settle(PROTOCOLS, protocol, penalty=penalty, normalize=normalize)
    codes, factors = labelled(codes, factors)
    classes = factors.classes
    x, _ = columns(codes)
    weights = one_versus_rest(x, classes, factors.sizes, settings.penalty)
    inputs = x.astype(np.float32)

    areas = np.empty(len(factors.names))
    offset = 0
    for k, size in enumerate(factors.sizes):
        of_class = np.empty(size)
        own = weights[:, offset : offset + size].astype(np.float32)
        logits = inputs @ own[:-1] + own[-1]
        for c in range(size):
            scores, member = logits[:, c], classes[:, k] == c
            of_class[c] = area_under_roc(scores[member], scores[~member])
        areas[k] = of_class.mean()
        offset += size
    if settings.normalize:
        areas = 2 * areas - 1
    return Score(
        name="explicitness",
        value=float(areas.mean()),
        protocol=protocol,
        settings=asdict(settings),
        per_factor=dict(zip(factors.names, areas.tolist(), strict=True)),
        notes=factors.notes,
    )


def area_under_roc(positives: FloatArray, negatives: FloatArray) -> float:
    """P(a positive scores above a negative), ties counted as one half."""
    ordered = np.sort(negatives)
    below = np.searchsorted(ordered, positives, side="left").astype(np.float64)
    upto = np.searchsorted(ordered, positives, side="right")
    return float((below + upto).mean() / (2 * len(negatives)))
