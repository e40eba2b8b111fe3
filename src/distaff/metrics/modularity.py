"""Modularity: whether each latent is informative about one factor only."""

from dataclasses import dataclass

import numpy as np

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError
from distaff.metrics.binned_means import Bins, mean_information
from distaff.metrics.inputs import Factors, Float64Array
from distaff.metrics.labels import hard_labels
from distaff.metrics.metric import metric
from distaff.metrics.missing_labels import Part, as_columns, of_each, parts
from distaff.metrics.options import BinCount
from distaff.metrics.quantized import MASSES_OF_BINS, posterior_tables
from distaff.metrics.result import Result
from distaff.metrics.sampled import means_only_note


@dataclass(frozen=True)
class Source:
    """Where the information comes from.

    Args:
        bins: number of bins.
        posterior: whether to bin q(z|x) over [low, high] rather than means over each latent's own range.
        low: lower end of the range of q(z|x).
        high: upper end of the range of q(z|x).
    """

    bins: BinCount
    posterior: bool
    low: float = -4.0
    high: float = 4.0


_TOLD = 1e-6
"""In nats. Masses of q(z|x) are float32, and their rounding leaves less than this for a collapsed latent."""


@metric(
    paper="Ridgeway & Mozer 2018",
    protocols={"original": Source(bins=20, posterior=False), "correct": Source(bins=100, posterior=True)},
    bounds=(0, 1),
    posterior=("correct",),
    by_factor="within",
    idle=lambda settings, _: () if settings.posterior else ("low", "high"),
    says="modularity",
    widest={"correct": MASSES_OF_BINS},
)
def modularity(codes: Codes, factors: Factors, settings: Source) -> Result:
    """Mean over latents of 1 − Σ_{k≠k*} I(z_i; y_k)² / (I(z_i; y_k*)² (K − 1)).

    k* is the factor that the latent is most informative about. A latent without information about any factor
    counts 0; information below a millionth of a nat, which float32 rounding can produce, counts as none.

    Args:
        factors: (N, K) classes, with K of at least 2; the information about each factor comes from the rows
            that have its label.
        protocol: ``"original"``: information from means in 20 bins, as in the paper; ``"correct"``: from
            q(z|x) in 100 bins over [−4, 4] (Do & Tran 2020, A.8, Fig. 8).

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import modularity
        >>> factors = np.indices((4, 5)).reshape(2, -1).T
        >>> modularity(factors, factors).value  # one latent per factor
        1.0
        >>> modularity(factors @ [[1, 0, 0], [0, 5, 0]], factors).per_latent  # the last latent is dead
        {'z0': 1.0, 'z1': 1.0, 'z2': 0.0}

    See Also:
        ``explicitness``, its companion in the paper; ``infomec``; ``dci``.
    """
    labels = hard_labels(factors)
    if len(labels.names) < 2:
        raise DistaffError("modularity compares factors: give at least 2 of them.")
    notes: tuple[str, ...] = ()
    if settings.posterior:
        grid = Bins(settings.bins, settings.low, settings.high)
        cut = parts(codes, factors)
        found = of_each(cut, lambda part: _posterior_information(part, grid))
        information = as_columns(cut, [part for part, _ in found])
        most = max(range(len(cut)), key=lambda p: len(cut[p].rows))
        notes += means_only_note(codes) + found[most][1]
    else:
        information = mean_information(codes, settings.bins, labels).information

    each = modularities(information)
    empty = [name for name, best in zip(codes.names, information.max(axis=1), strict=True) if best <= _TOLD]
    if empty:
        notes += (f"latents without information about any factor count 0: {', '.join(empty)}",)
    return Result(each.mean(), per_latent=each, details={"mutual_information": information}, notes=notes)


def _posterior_information(part: Part, grid: Bins) -> tuple[Float64Array, tuple[str, ...]]:
    """(L, k) I(z_i; y_k) of q(z|x) in nats, and notes on what the bins miss."""
    labels = hard_labels(part.factors)
    tables = posterior_tables(part.codes, grid, labels)
    return tables.information(labels), tables.note(part.codes, grid)


def modularities(information: Float64Array) -> Float64Array:
    """(L,) 1 − Σ_{k≠k*} I_ik² / (I_ik*² (K − 1)) from (L, K), with K of at least 2; 0 without information."""
    squares = np.square(np.where(information > _TOLD, information, 0))
    best = squares.max(axis=1)
    others = (squares.sum(axis=1) - best) / (np.where(best > 0, best, 1) * (squares.shape[1] - 1))
    return np.where(best > 0, 1 - others, 0.0)
