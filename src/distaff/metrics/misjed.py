"""MISJED: whether pairs of latents are independent and informative at once."""

from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from distaff.foundation.errors import DistaffError
from distaff.metrics.declare import metric, settle
from distaff.metrics.entropies import entropy
from distaff.metrics.inputs import CodesLike, as_codes
from distaff.metrics.options import BinCount
from distaff.metrics.quantized import Bins, posterior_tables
from distaff.metrics.sampled import means_only_note
from distaff.metrics.score import Basis, Score


@dataclass(frozen=True)
class Grid:
    """``bins`` over [low, high] for each latent; divided by the log of the number of cells or not."""

    bins: BinCount = 100
    low: float = -4.0
    high: float = 4.0
    normalize: bool = True


PROTOCOLS = {"do20": Grid()}


@metric(
    paper="Do & Tran 2020",
    protocols=PROTOCOLS,
    bounds=(0, 1),
    direction="lower",
    inputs="codes",
    posterior="yes",
)
def misjed(
    codes: CodesLike,
    logvar: ArrayLike | None = None,
    *,
    protocol: str = "do20",
    bins: int | None = None,
    low: float | None = None,
    high: float | None = None,
    normalize: bool | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score:
    """Mean over pairs of latents of H(z_i) + H(z_j) − H(z̄_i, z̄_j); low for independent informative pairs.

    Do & Tran 2020, Eq. 7: the entropies are those of q(z_i), the joint entropy that of the means z̄ = E[z|x].
    Noise widens the first and not the second, so noisy latents score high and cannot pass for independent.
    All are quantized; normalised, a pair is divided by 2 log(bins). For a categorical latent z̄ is the
    likeliest class. ``details["pairs"]`` is the matrix; ``per_latent`` is each latent's mean over its pairs.

    Args:
        codes: (N, D) means, or ``Codes``; two latents or more.
        logvar: (N, D) log-variances; −inf is a deterministic latent.
        protocol: ``"do20"``: 100 bins over [−4, 4]. The joint entropy needs N well above bins², else it is
            too low and the score too high (the paper takes 50 bins for 16,000 rows).
        bins: number of bins.
        low: lower end of the range.
        high: upper end of the range.
        normalize: whether to divide by 2 log(bins).
        bootstrap: halves of the rows to score for the interval, 0 for none.
        seed: of the halves.
    """
    settings, protocol = settle(PROTOCOLS, protocol, bins=bins, low=low, high=high, normalize=normalize)
    codes = as_codes(codes, logvar)
    count = len(codes.names)
    if count < 2:
        raise DistaffError("MISJED compares pairs of latents: there is only one.")
    grid = Bins(settings.bins, settings.low, settings.high)
    tables = posterior_tables(codes, grid)
    places = np.concatenate(
        [grid.index(codes.means), *(p.argmax(axis=1)[:, None] for p in codes.categories.values())], axis=1
    )
    sizes = [settings.bins] * codes.means.shape[1] + [p.shape[1] for p in codes.categories.values()]
    alone = entropy(tables.masses)
    matrix = np.full((count, count), np.nan)
    for i, j in combinations(range(count), 2):
        joint = np.bincount(places[:, i] * sizes[j] + places[:, j]) / len(codes)
        unit = np.log(sizes[i] * sizes[j]) if settings.normalize else 1.0
        matrix[i, j] = matrix[j, i] = (alone[i] + alone[j] - entropy(joint)) / unit
    notes = means_only_note(codes) + tables.note(codes, grid)
    if len(codes) < 5 * settings.bins**2:
        notes += (
            f"{len(codes)} rows for {settings.bins}² cells: the joint entropy is too low, use fewer bins",
        )
    return Score(
        name="misjed",
        value=float(np.nanmean(matrix)),
        protocol=protocol,
        direction="lower",
        settings={**asdict(settings), "seed": seed},
        per_latent=dict(zip(codes.names, np.nanmean(matrix, axis=1).tolist(), strict=True)),
        details={"pairs": matrix, "latents": codes.names},
        notes=notes,
        basis=Basis(bounds=(0.0, 1.0 if settings.normalize else np.inf)),
    )
