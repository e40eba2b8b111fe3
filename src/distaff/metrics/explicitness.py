"""Explicitness: how well linear classifiers on all latents separate each class of a factor from the rest."""

from dataclasses import dataclass

import numpy as np

from distaff.codes import Codes, FloatArray
from distaff.metrics.fixed_factor_sampling import Groups
from distaff.metrics.inputs import Factors, IntArray
from distaff.metrics.logistic import one_versus_rest
from distaff.metrics.metric import metric
from distaff.metrics.options import Positive
from distaff.metrics.result import Result
from distaff.metrics.train_test import columns


@dataclass(frozen=True)
class Separation:
    """How classes are separated, and how the result is scored.

    Args:
        penalty: penalty on the squared weights, for standardised latents.
        normalize: return 2·AUC − 1, so that chance is 0.
    """

    penalty: Positive
    normalize: bool


@metric(
    paper="Ridgeway & Mozer 2018",
    protocols={"ridgeway18": Separation(penalty=1.0, normalize=False)},
    bounds=(0, 1),
    by_factor=True,
    says="explicitness",
    widest=(2048, "fits a logistic regression on all latents for every class"),
)
def explicitness(codes: Codes, factors: Factors, settings: Separation) -> Result:
    """Area under the ROC curve of one-versus-rest logistic regressions, averaged over classes and factors.

    The classifiers read all latents and are scored on the rows they were trained on. Noise scores 0.5, and
    slightly more if there are few rows for the number of latents; perfect separation scores 1.

    Args:
        codes: (N, D) means, or ``Codes``; a categorical latent enters as its class probabilities.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import explicitness
        >>> factors = np.indices((2, 2)).reshape(2, -1).T.repeat(10, axis=0)
        >>> explicitness(factors @ [[1, 1], [1, -1]], factors).value  # mixed, but a linear map reads them
        1.0

    See Also:
        ``modularity``, its companion in the paper; ``infomec``; ``dci_es``.
    """
    classes = factors.classes
    x, _ = columns(codes)
    weights = one_versus_rest(x, classes, factors.sizes, settings.penalty)
    inputs = x.astype(np.float32)

    areas = np.empty(len(factors.names))
    offset = 0
    for k, size in enumerate(factors.sizes):
        of_class = np.empty(size)
        own = weights[:, offset : offset + size].astype(np.float32)
        logits = np.ascontiguousarray((inputs @ own[:-1] + own[-1]).T)
        group = Groups(classes[:, k], size)
        for c, rows in enumerate(np.split(group.order, group.starts[1:])):
            of_class[c] = area_under_roc(logits[c], rows)
        areas[k] = of_class.mean()
        offset += size
    if settings.normalize:
        areas = 2 * areas - 1
    return Result(areas.mean(), per_factor=areas)


def area_under_roc(scores: FloatArray, members: IntArray) -> float:
    """P(a member of a class scores higher than a row outside it), ties counted as one half.

    Args:
        scores: (N,) scores of all rows.
        members: indices of the rows in the class.
    """
    every, own = np.sort(scores), np.sort(scores[members])
    # Rows below each member: counted among all rows, minus those that are members.
    below = np.searchsorted(every, own, side="left") - np.searchsorted(own, own, side="left")
    upto = np.searchsorted(every, own, side="right") - np.searchsorted(own, own, side="right")
    return float((below + upto).mean() / (2 * (len(scores) - len(members))))
