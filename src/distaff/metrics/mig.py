"""MIG: the gap between the two latents most informative about a factor, over the factor's entropy."""

from dataclasses import dataclass

import numpy as np

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError
from distaff.metrics.binned_means import mean_information
from distaff.metrics.inputs import Factors
from distaff.metrics.labels import gap_details, hard_labels, highest_two, one_latent_note
from distaff.metrics.metric import metric
from distaff.metrics.options import BinCount, SampleCount
from distaff.metrics.result import Result
from distaff.metrics.rmig_jemmig import sampled_information
from distaff.metrics.sampled import means_only_note

SAMPLES_OF_EACH = (64, "compares samples with all posteriors, latent by latent")
"""The limit on latents of metrics that do this, see ``distaff.metrics.card.Card``."""


@dataclass(frozen=True)
class Gap:
    """Where the information comes from: means in bins, or samples of q(z|x).

    Args:
        bins: number of bins over each latent's own range (``"locatello19"``).
        samples: number of samples (``"chen18"``).
    """

    bins: BinCount | None = None
    samples: SampleCount | None = None


@metric(
    paper="Chen et al. 2018; Locatello et al. 2019",
    protocols={"locatello19": Gap(bins=20), "chen18": Gap(samples=10_000)},
    bounds=(0, 1),
    posterior=("chen18",),
    by_factor=True,
    says="compactness",
    widest={"chen18": SAMPLES_OF_EACH},
)
def mig(codes: Codes, factors: Factors, settings: Gap, seed: int) -> Result:
    """Mutual information gap: mean over factors of (I* − I°) / H(y_k).

    The two protocols give different numbers: binned means ignore the noise of q(z|x), and overestimate the
    information of latents that are mostly noise (Do & Tran 2020, A.13).

    Args:
        protocol: ``"locatello19"``: means in 20 bins between each latent's extremes; ``"chen18"``: 10,000
            samples of q(z|x), with q(z_i|y_k) the mixture of the posteriors of that class.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import mig
        >>> factors = np.indices((4, 5)).reshape(2, -1).T  # every combination of two factors
        >>> round(mig(factors, factors).value, 6)  # one latent per factor
        1.0
        >>> round(mig(np.hstack([factors, factors]), factors).value, 6)  # two latents per factor
        0.0

    See Also:
        ``rmig``, which reads q(z|x) and is in nats; ``jemmig``.
    """
    if settings.bins and settings.samples:
        raise DistaffError("mig takes bins with protocol='locatello19' and samples with protocol='chen18'.")
    labels = hard_labels(factors)
    notes = one_latent_note(codes)
    if settings.bins:
        information = mean_information(codes, settings.bins, labels).information
    else:
        information = sampled_information(codes, labels, settings.samples or 0, seed).mean(axis=0)
        notes += means_only_note(codes)
    best, second = highest_two(np.clip(information, 0, labels.entropies))
    gaps = (best - second) / labels.entropies
    return Result(
        gaps.mean(),
        per_factor=gaps,
        details=gap_details(codes, labels, information),
        notes=notes,
        rows=min(settings.samples or len(codes), len(codes)),
    )
