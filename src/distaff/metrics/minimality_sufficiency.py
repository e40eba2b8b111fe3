"""Minimality and sufficiency: disentanglement if factors depend on each other."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from distaff.codes import Codes
from distaff.metrics.binned_means import mean_information
from distaff.metrics.inputs import Factors
from distaff.metrics.labels import gap_details, hard_labels
from distaff.metrics.metric import metric
from distaff.metrics.options import BinCount
from distaff.metrics.result import Result
from distaff.metrics.score import Score


class MinimalSufficient(NamedTuple):
    """The two scores; both are best at 1."""

    minimality: Score
    sufficiency: Score


@dataclass(frozen=True)
class FewBins:
    """How means are binned.

    Args:
        bins: number of bins over each latent's own range.
    """

    bins: BinCount = 15


@metric(
    paper="Almudévar & Ortega 2024",
    protocols={"almudevar24": FewBins()},
    bounds=(0, 1),
    by_factor="within",
    returns=MinimalSufficient,
    says={"minimality": "modularity", "sufficiency": "compactness"},
)
def minimality_sufficiency(codes: Codes, factors: Factors, settings: FewBins) -> dict[str, Result]:
    """Whether each latent encodes one factor and nothing else, and one latent fully encodes each factor.

    Minimality is the mean over latents of max_k I(z_i; y_k) / H(z_i), sufficiency the mean over factors of
    max_i I(z_i; y_k) / H(y_k). There is no gap: a latent may have the information about a second factor that
    its own factor implies, so dependent factors can score 1. H(z_i) is the entropy of the bins and includes
    noise: minimality is below 1 for a latent with noise finer than its factor. Constant latents are ignored.
    The definition follows the authors' public ``min_suf.py``.

    Args:
        protocol: ``"almudevar24"``: means in 15 bins between each latent's extremes.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import mig, minimality_sufficiency
        >>> shape = np.repeat(np.arange(4), 25)
        >>> factors = np.stack([shape, np.where(np.arange(100) % 5, shape, 0)], axis=1)  # they often agree
        >>> [round(score.value, 6) for score in minimality_sufficiency(factors, factors)]
        [1.0, 1.0]
        >>> mig(factors, factors).value < 0.6
        True

    See Also:
        ``mig`` and ``mig_sup``, which assume independent factors.
    """
    labels = hard_labels(factors)
    known = mean_information(codes, settings.bins, labels)
    information, heights = known.information, known.entropies
    varies = heights > 0
    # If labels are missing, H(z_i) is that of other rows than the information, and may be below it.
    own = np.divide(information.max(axis=1), heights, out=np.zeros(len(heights)), where=varies).clip(max=1)
    full = np.minimum(information.max(axis=0) / labels.entropies, 1)
    still = [name for name, moving in zip(codes.names, varies, strict=True) if not moving]
    notes = (f"constant latents left out: {', '.join(still)}",) if still else ()
    details = gap_details(codes, labels, information)
    minimal = float(own[varies].mean()) if varies.any() else 0.0
    by_latent = {name: float(v) for name, v, moves in zip(codes.names, own, varies, strict=True) if moves}
    return {
        "minimality": Result(minimal, per_latent=by_latent, details=details, notes=notes),
        "sufficiency": Result(full.mean(), per_factor=full, details=details),
    }
