"""MED: disentanglement and completeness from mutual information instead of trained predictors."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from distaff.codes import Codes
from distaff.metrics.binned_means import mean_information
from distaff.metrics.dci import entropy_share, sole_note, weighted_mean
from distaff.metrics.inputs import Factors, Float64Array, IntArray
from distaff.metrics.labels import hard_labels
from distaff.metrics.metric import metric
from distaff.metrics.options import BinCount, Count
from distaff.metrics.result import Result
from distaff.metrics.score import Score


class MED(NamedTuple):
    """The two scores; both are best at 1."""

    disentanglement: Score
    completeness: Score


@dataclass(frozen=True)
class Picking:
    """How means are binned, and which latents count.

    Args:
        bins: number of bins over each latent's own range.
        top: number of latents to keep per factor: among those most informative about it, the ones least
            informative about others; all latents by default.
    """

    bins: BinCount = 20
    top: Count | None = None


@metric(
    paper="Cao et al. 2022",
    protocols={"cao22": Picking()},
    bounds=(0, 1),
    by_factor="within",
    returns=MED,
    says={"med_disentanglement": "modularity", "med_completeness": "compactness"},
)
def med(codes: Codes, factors: Factors, settings: Picking) -> dict[str, Result]:
    """DCI's disentanglement and completeness with mutual information as importance, also for wide codes.

    R_ik = I(z_i; y_k) / Σ_j I(z_j; y_k); then as in ``dci``: Σ_i ρ_i (1 − H_K(R_i·/Σ_k R_ik)) with ρ_i =
    Σ_k R_ik / ΣR, and the same over columns. Nothing is trained. Top-k MED (``top=k``) assigns each latent to
    the factor it informs most about and keeps the k most disentangled latents per factor: it shows whether
    part of a wide representation is disentangled. The definition follows the authors' public ``med.py``.

    Args:
        protocol: ``"cao22"``: means in 20 bins between each latent's extremes, all latents.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import med
        >>> factors = np.indices((4, 5)).reshape(2, -1).T
        >>> wide = np.hstack([factors, factors @ [[5, 1], [1, 4]]])  # two more latents that mix both
        >>> round(med(wide, factors, top=1).disentanglement.value, 6)
        1.0

    See Also:
        ``dci``, with trained predictors.
    """
    labels = hard_labels(factors)
    information = mean_information(codes, settings.bins, labels).information
    total = information.sum(axis=0)
    shares = information / np.where(total > 0, total, 1)
    each = 1 - entropy_share(shares, axis=1)
    chosen = np.arange(len(shares)) if settings.top is None else most_disentangled(shares, each, settings.top)
    kept = shares[chosen]
    by_factor = 1 - entropy_share(kept, axis=0)
    names = {codes.names[i]: float(each[i]) for i in chosen}
    details = {"importances": shares, "mutual_information": information, "latents": codes.names}
    return {
        "med_disentanglement": Result(
            weighted_mean(each[chosen], kept.sum(axis=1)),
            per_latent=names,
            details=details,
            notes=sole_note("factor", len(by_factor)),
        ),
        "med_completeness": Result(
            weighted_mean(by_factor, kept.sum(axis=0)),
            per_factor=by_factor,
            details=details,
            notes=sole_note("latent", len(kept)),
        ),
    }


def most_disentangled(shares: Float64Array, each: Float64Array, count: int) -> IntArray:
    """The ``count`` most disentangled latents among those that share most with each factor."""
    owner = shares.argmax(axis=1)
    order = np.argsort(-each, kind="stable")
    picked = [order[owner[order] == k][:count] for k in range(shares.shape[1])]
    return np.sort(np.concatenate(picked))
