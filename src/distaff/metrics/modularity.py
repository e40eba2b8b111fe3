"""Modularity: whether each latent knows of one factor only."""

from dataclasses import asdict, dataclass

import numpy as np

from distaff.foundation.errors import DistaffError
from distaff.metrics.binned_means import mean_tables
from distaff.metrics.declare import metric, settle
from distaff.metrics.inputs import CodesLike, FactorsLike
from distaff.metrics.labels import read_labels
from distaff.metrics.options import BinCount
from distaff.metrics.quantized import Bins, posterior_tables
from distaff.metrics.sampled import means_only_note
from distaff.metrics.score import Score


@dataclass(frozen=True)
class Source:
    """Means in ``bins`` over each latent's own range, or q(z|x) in ``bins`` over [low, high]."""

    bins: BinCount
    posterior: bool
    low: float = -4.0
    high: float = 4.0


_TOLD = 1e-6
"""Nats: the masses of q(z|x) are in float32, and what their rounding leaves of a dead latent lies below."""

PROTOCOLS = {"original": Source(bins=20, posterior=False), "correct": Source(bins=100, posterior=True)}


@metric(
    paper="Ridgeway & Mozer 2018",
    protocols=PROTOCOLS,
    bounds=(0, 1),
    posterior="optional",
    posterior_protocols=("correct",),
)
def modularity(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    protocol: str = "original",
    bins: int | None = None,
    low: float | None = None,
    high: float | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score:
    """Mean over latents of 1 − Σ_{k≠k*} I(z_i; y_k)² / (I(z_i; y_k*)² (K − 1)).

    k* is the factor the latent knows most of. A latent with no information about any factor counts 0;
    information below a millionth of a nat, which float32 cannot tell from rounding, is none.

    Args:
        codes: (N, D) means, or ``Codes``.
        factors: (N, K) classes, K of at least 2.
        protocol: ``"original"``: information from means in 20 bins, as its authors do; ``"correct"``: from
            q(z|x) in 100 bins over [−4, 4] (Do & Tran 2020, A.8, Fig. 8).
        bins: number of bins.
        low: lower end of the range of ``"correct"``.
        high: upper end of the range of ``"correct"``.
        bootstrap: halves of the rows to score for the interval, 0 for none.
        seed: of the halves.
    """
    settings, protocol = settle(
        PROTOCOLS,
        protocol,
        idle=lambda s: () if s.posterior else ("low", "high"),
        bins=bins,
        low=low,
        high=high,
    )
    codes, labels = read_labels(codes, factors, None)
    count = len(labels.names)
    if count < 2:
        raise DistaffError("modularity compares factors: give at least 2 of them.")
    notes = labels.notes
    if settings.posterior:
        grid = Bins(settings.bins, settings.low, settings.high)
        tables = posterior_tables(codes, grid, labels)
        notes += means_only_note(codes) + tables.note(codes, grid)
    else:
        tables = mean_tables(codes, settings.bins, labels)

    information = tables.information(labels)
    squares = np.square(np.where(information > _TOLD, information, 0))
    best = squares.max(axis=1)
    others = (squares.sum(axis=1) - best) / (np.where(best > 0, best, 1) * (count - 1))
    each = np.where(best > 0, 1 - others, 0.0)
    empty = [name for name, score in zip(codes.names, each, strict=True) if score == 0]
    if empty:
        notes += (f"latents that know no factor count 0: {', '.join(empty)}",)
    return Score(
        name="modularity",
        value=float(each.mean()),
        protocol=protocol,
        settings={**asdict(settings), "seed": seed},
        per_latent=dict(zip(codes.names, each.tolist(), strict=True)),
        details={"mutual_information": information},
        notes=notes,
    )
