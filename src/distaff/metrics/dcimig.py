"""DCIMIG: the information of the best latent that is dedicated to each factor."""

import numpy as np

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError
from distaff.metrics.binned_means import mean_information
from distaff.metrics.inputs import Factors
from distaff.metrics.labels import gap_details, hard_labels
from distaff.metrics.metric import metric
from distaff.metrics.mig_sup import OwnBins
from distaff.metrics.result import Result


@metric(
    paper="Sepliarskaia et al. 2019",
    protocols={"sepliarskaia19": OwnBins()},
    bounds=(0, 1),
    says="both",
    by_factor="within",
)
def dcimig(codes: Codes, factors: Factors, settings: OwnBins) -> Result:
    """Σ_k max_i R_ik / Σ_k H(y_k), where R_ik is the gap of a latent that is most informative about factor k.

    R_ik = I(z_i; y_k) − max_{l≠k} I(z_i; y_l) if k is the factor about which z_i has most information, else
    0. So a latent counts for one factor only, by the information it has beyond any other factor, and the best
    such latent of each factor counts. Uninformative or duplicate latents change nothing. ``per_factor`` is
    max_i R_ik / H(y_k). As in ubisoft's ``dcimig.py``, except for the number of bins.

    Args:
        factors: (N, K) classes, with K of at least 2.
        protocol: ``"sepliarskaia19"``: means in 20 bins between each latent's extremes.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import dcimig
        >>> factors = np.indices((4, 5)).reshape(2, -1).T
        >>> round(dcimig(factors, factors).value, 6)
        1.0
        >>> round(dcimig(factors[:, :1], factors).per_factor["factor1"], 6)  # no latent is about it
        0.0

    See Also:
        ``mig_sup``; ``mig``.
    """
    labels = hard_labels(factors)
    if len(labels.names) < 2:
        raise DistaffError("DCIMIG compares factors: give at least 2 of them.")
    information = mean_information(codes, settings.bins, labels).information
    ordered = np.sort(information, axis=1)
    gaps = np.zeros_like(information)
    own = information.argmax(axis=1)
    gaps[np.arange(len(gaps)), own] = ordered[:, -1] - ordered[:, -2]
    best = np.minimum(gaps.max(axis=0), labels.entropies)
    return Result(
        best.sum() / labels.entropies.sum(),
        per_factor=best / labels.entropies,
        details=gap_details(codes, labels, information),
    )
