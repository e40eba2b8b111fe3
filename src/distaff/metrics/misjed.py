"""MISJED: whether pairs of latents are both independent and informative."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError
from distaff.metrics.binned_means import Bins
from distaff.metrics.labels import entropy
from distaff.metrics.metric import metric
from distaff.metrics.options import BinCount
from distaff.metrics.quantized import posterior_tables
from distaff.metrics.result import Result


@dataclass(frozen=True)
class Grid:
    """The bins of each latent.

    Args:
        bins: number of bins.
        low: lower end of the range of the bins.
        high: upper end of the range of the bins.
        normalize: whether to divide by 2 log(bins).
    """

    bins: BinCount = 100
    low: float = -4.0
    high: float = 4.0
    normalize: bool = True


@metric(
    paper="Do & Tran 2020",
    protocols={"do20": Grid()},
    bounds=(-1, 1),
    direction="lower",
    posterior="yes",
    says="independence",
    widest=(512, "counts every pair of latents in 10,000 cells"),
)
def misjed(codes: Codes, settings: Grid) -> Result:
    """Mean over pairs of latents of H(z_i) + H(z_j) − H(z̄_i, z̄_j); low for independent informative pairs.

    Do & Tran 2020, Eq. 7: the entropies are those of q(z_i), the joint entropy that of the means z̄ = E[z|x].
    Noise increases the former but not the latter, so noisy latents score high and cannot pass as independent.
    The value can be slightly negative only if noise makes nothing more uniform (means that fill all bins
    equally). All entropies are quantized; normalised, a pair is divided by 2 log(bins). For a categorical
    latent, z̄ is the most likely class. ``details["pairs"]`` is the matrix; ``per_latent`` is each latent's
    mean over its pairs.

    Args:
        codes: (N, D) means, or ``Codes``; at least two latents.
        protocol: ``"do20"``: 100 bins over [−4, 4]. The joint entropy needs N well above bins², otherwise it
            is too low and the score too high (the paper uses 50 bins for 16,000 rows).

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import misjed
        >>> mu = np.indices((4, 4)).reshape(2, -1).T - 1.5  # two independent latents without noise
        >>> abs(round(misjed(mu, np.full((16, 2), -np.inf), bins=4).value, 6))
        0.0

    See Also:
        ``separability``, between a latent and all others; ``jemmig``, which needs labels.
    """
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
    notes = tables.note(codes, grid)
    if len(codes) < 5 * settings.bins**2:
        notes += (
            f"{len(codes)} rows for {settings.bins}² cells: the joint entropy is too low, use fewer bins",
        )
    return Result(
        np.nanmean(matrix),
        per_latent=np.nanmean(matrix, axis=1),
        details={"pairs": matrix, "latents": codes.names},
        notes=notes,
        bounds=(0.0, 1.0 if settings.normalize else np.inf),
    )
