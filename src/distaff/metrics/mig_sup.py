"""MIG-sup: the gap between the two factors that a latent knows most of, over their entropies."""

from dataclasses import dataclass

import numpy as np

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError
from distaff.metrics.binned_means import mean_information
from distaff.metrics.inputs import Factors
from distaff.metrics.labels import gap_details, hard_labels
from distaff.metrics.metric import metric
from distaff.metrics.options import BinCount
from distaff.metrics.score import Result


@dataclass(frozen=True)
class OwnBins:
    """How means are binned.

    Args:
        bins: over each latent's own range.
    """

    bins: BinCount = 20


@metric(
    paper="Li et al. 2020",
    protocols={"li20": OwnBins()},
    bounds=(0, 1),
    says="modularity",
    by_factor="within",
)
def mig_sup(codes: Codes, factors: Factors, settings: OwnBins) -> Result:
    """Mean over latents of the gap between the two factors they know most of: I(z_i; y_k) / H(y_k).

    The supplement of ``mig``: MIG asks that a factor has one latent, this that a latent has one factor. A
    latent that knows nothing counts 0, so that spare latents lower the score. As in ubisoft's
    ``mig_sup.py``, but for the number of bins, which is that of ``mig``.

    Args:
        factors: (N, K) classes, K of at least 2.
        protocol: ``"li20"``: means in 20 bins between each latent's extremes.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import mig_sup
        >>> factors = np.indices((4, 5)).reshape(2, -1).T
        >>> round(mig_sup(factors, factors).value, 6)  # one factor per latent
        1.0
        >>> round(mig_sup(factors @ [[5], [1]], factors, bins=20).value, 6)  # a latent that is both
        0.0

    See Also:
        ``mig``; ``modularity``; ``dcimig``.
    """
    labels = hard_labels(factors)
    if len(labels.names) < 2:
        raise DistaffError("MIG-sup is a gap between two factors: give at least 2 of them.")
    information = mean_information(codes, settings.bins, labels).information
    ordered = np.sort(np.clip(information / labels.entropies, 0, 1), axis=1)
    gaps = ordered[:, -1] - ordered[:, -2]
    return Result(gaps.mean(), per_latent=gaps, details=gap_details(codes, labels, information))
