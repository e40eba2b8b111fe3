"""MIG-sup: the gap between the two factors that a latent is most informative about, over their entropies."""

from dataclasses import dataclass

import numpy as np

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError
from distaff.metrics.binned_means import mean_information
from distaff.metrics.inputs import Factors, Float64Array
from distaff.metrics.labels import gap_details, hard_labels
from distaff.metrics.metric import metric
from distaff.metrics.mig import SAMPLES_OF_EACH
from distaff.metrics.missing_labels import as_columns, of_each, parts
from distaff.metrics.options import BinCount, NotNegative, SampleCount
from distaff.metrics.result import Result
from distaff.metrics.rmig_jemmig import sampled_information
from distaff.metrics.sampled import means_only_note


@dataclass(frozen=True)
class OwnBins:
    """How means are binned.

    Args:
        bins: number of bins over each latent's own range.
    """

    bins: BinCount = 20


@dataclass(frozen=True)
class FactorGap:
    """Where the information comes from, and which latents are included.

    Args:
        bins: number of bins over each latent's own range (``"li20"``).
        samples: number of samples (``"li20-code"``).
        active: variance of the means up to which a latent is left out.
    """

    bins: BinCount | None = None
    samples: SampleCount | None = None
    active: NotNegative | None = None


@metric(
    paper="Li et al. 2020",
    protocols={"li20": FactorGap(bins=20), "li20-code": FactorGap(samples=10_000, active=0.01)},
    bounds=(0, 1),
    posterior=("li20-code",),
    says="modularity",
    by_factor="within",
    widest={"li20-code": SAMPLES_OF_EACH},
)
def mig_sup(codes: Codes, factors: Factors, settings: FactorGap, seed: int) -> Result:
    """Mean over latents of the gap between their two highest I(z_i; y_k) / H(y_k) over factors.

    It complements ``mig``: MIG asks for one latent per factor, this asks for one factor per latent. With
    ``"li20"``, an uninformative latent counts 0, so spare latents lower the score; the authors' code leaves
    out latents that hardly vary. ubisoft's ``mig_sup.py`` computes something else: it divides by the entropy
    of the latent's bins.

    Args:
        factors: (N, K) classes, with K of at least 2.
        protocol: ``"li20"``: means in 20 bins between each latent's extremes, all latents; ``"li20-code"``,
            the authors' ``metric_MIG.py``: 10,000 samples of q(z|x), and only latents whose means have a
            variance above 0.01, so the score depends on their scale.
        seed: random seed for the samples.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import mig_sup
        >>> factors = np.indices((4, 5)).reshape(2, -1).T
        >>> round(mig_sup(factors, factors).value, 6)  # one factor per latent
        1.0
        >>> round(mig_sup(factors @ [[5], [1]], factors, bins=20).value, 6)  # a latent that encodes both
        0.0
        >>> spare = np.hstack([factors, np.zeros((20, 2))])  # two more latents, which are constant
        >>> [round(mig_sup(spare, factors, active=active).value, 6) for active in (None, 0.01)]
        [0.5, 1.0]

    See Also:
        ``mig``; ``modularity``; ``dcimig``.
    """
    if settings.bins and settings.samples:
        raise DistaffError("mig_sup takes bins with protocol='li20' and samples with protocol='li20-code'.")
    labels = hard_labels(factors)
    if len(labels.names) < 2:
        raise DistaffError("MIG-sup is a gap between two factors: give at least 2 of them.")
    notes: tuple[str, ...] = ()
    if settings.bins:
        information = mean_information(codes, settings.bins, labels).information
    else:
        information = _sampled(codes, factors, settings.samples or 0, seed)
        notes = means_only_note(codes)
    active = np.ones(len(codes.names), dtype=bool)
    if settings.active is not None:
        active[: codes.means.shape[1]] = codes.means.var(axis=0, ddof=1, dtype=np.float64) > settings.active
    if not active.all():
        still = ", ".join(name for name, moves in zip(codes.names, active, strict=True) if not moves)
        notes += (
            f"latents left out because the variance of their means is at most {settings.active:g}: {still}",
        )
    fewest = int((factors.indices >= 0).sum(axis=0).min())
    ordered = np.sort(np.clip(information / labels.entropies, 0, 1), axis=1)
    gaps = ordered[:, -1] - ordered[:, -2]
    return Result(
        gaps[active].mean() if active.any() else 0.0,
        per_latent={name: float(gaps[i]) for i, name in enumerate(codes.names) if active[i]},
        details=gap_details(codes, labels, information),
        notes=notes,
        rows=min(settings.samples, fewest) if settings.samples else None,
    )


def _sampled(codes: Codes, factors: Factors, count: int, seed: int) -> Float64Array:
    """(latents, K) I(z_i; y_k), from samples of the rows that have the factor's label."""
    cut = parts(codes, factors)
    return as_columns(
        cut,
        of_each(
            cut,
            lambda part: sampled_information(part.codes, hard_labels(part.factors), count, seed).mean(axis=0),
        ),
    )
