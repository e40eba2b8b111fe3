"""IRS: whether a latent stays put while its factor is held fixed and all others change."""

from dataclasses import dataclass
from functools import partial
from math import isqrt
from typing import Annotated

import numpy as np
from annotated_types import Gt, Le

from distaff.codes import Codes, FloatArray
from distaff.foundation.errors import DistaffError
from distaff.foundation.parallel import side_by_side
from distaff.metrics.active_latents import constant_latents
from distaff.metrics.fixed_factor_sampling import Groups, group_rows
from distaff.metrics.inputs import Factors, Float64Array
from distaff.metrics.metric import metric
from distaff.metrics.score import Result
from distaff.metrics.shared import slices


@dataclass(frozen=True)
class Robustness:
    """The quantile that replaces the largest deviation.

    Args:
        quantile: quantile of the deviations in a group.
    """

    quantile: Annotated[float, Gt(0), Le(1)]


SHARES = (1 / 2, 1 / 4, 1 / 16)
"""The largest deviation is a maximum, whose variance hardly falls with the rows; these parts show how."""

_BUNDLED = 4
"""Values are bundled if the best bundles are at least this large; in smaller ones there is little to gain."""


@metric(
    paper="Suter et al. 2019",
    protocols={"suter19": Robustness(quantile=0.99)},
    bounds=(-1, 1),
    by_factor="within",
    shares=SHARES,
    says="modularity",
)
def irs(codes: Codes, factors: Factors, settings: Robustness) -> Result:
    """One minus how far a latent strays while its factor is fixed, over how far it ever strays.

    For latent i and factor k, D_ik is the mean over the factor's values of the 0.99 quantile of
    |z_i − E[z_i | f_k]|, and IRS_i = max_k 1 − D_ik / max |z_i − E z_i|. The score averages latents weighted
    by their largest deviations, so it depends on the latents' scales. Noise does not score 0 (about 0.4 for
    Gaussian latents), since a 0.99 quantile is below the maximum. The score is negative if a latent strays
    further from the group means than from the overall mean, as in groups that are skewed both ways.

    Args:
        codes: (N, D) means; categorical latents are ignored.
        bootstrap: number of parts of the rows, in each of three sizes, to score for the interval; 0 for none.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import irs
        >>> factors = np.indices((4, 5)).reshape(2, -1).T
        >>> irs(factors, factors).value  # a latent does not move while its factor is fixed
        1.0

    See Also:
        ``factor_vae_score``, which also holds factors fixed; ``modularity``.
    """
    if not codes.means.shape[1]:
        raise DistaffError("IRS needs Gaussian latents: these codes are all categorical.")
    groups = group_rows(factors)
    still = constant_latents(codes)[: codes.means.shape[1]]  # deviations of equal numbers may be rounding
    largest = np.zeros(len(still))
    table = np.zeros((len(still), len(factors.names)))
    for some in slices(len(largest), len(codes)):
        means = np.ascontiguousarray(codes.means[:, some])
        largest[some] = np.where(still[some], 0, _quantile(means.T, 1.0))
        found = side_by_side(partial(_strays, means, settings.quantile), groups)
        for k, strays in enumerate(found):
            relative = np.divide(strays, largest[some], out=np.ones_like(strays), where=largest[some] > 0)
            table[some, k] = 1 - relative.mean(axis=0)
    best = table.max(axis=1)
    if not largest.any():
        raise DistaffError("all latents are constant: IRS is not defined.")
    gaussian = codes.names[: codes.means.shape[1]]
    value = best @ largest / largest.sum()
    return Result(
        value,
        per_latent=dict(zip(gaussian, best.tolist(), strict=True)),
        details={"robustness": table},
        bounds=(0.0, 1.0) if value >= 0 else None,
    )


def _strays(means: FloatArray, quantile: float, group: Groups) -> Float64Array:
    """(classes, d) the quantile of the distances to the group's mean, for each class of one factor.

    Whole rows (N, d) are moved, and only those of one class at a time, which stay in a core's cache.
    """
    members = np.split(group.order, group.starts[1:])
    return np.stack([_quantile(means.take(rows, axis=0).T, quantile) for rows in members])


def _quantile(z: FloatArray, quantile: float) -> Float64Array:
    """(d,) ``numpy.quantile`` of |z − mean| along the rows of (d, n), with one selection instead of two."""
    place = quantile * (z.shape[1] - 1)
    highest = z.shape[1] - int(place)
    strays = _highest_strays(z.T, highest)
    below = strays.shape[1] - highest
    strays.partition(below, axis=1)
    first = strays[:, below]
    if place == int(place):
        return np.asarray(first.copy())
    second = strays[:, below + 1 :].min(axis=1)
    share, step = place - int(place), second - first
    return np.asarray(first + step * share if share < 0.5 else second - step * (1 - share))


def _highest_strays(z: FloatArray, count: int) -> Float64Array:
    """(d, m) some of the distances |z − mean| of (n, d), among them the ``count`` highest of each column.

    They lie in the ``count`` bundles that reach furthest from the mean, as their highest and lowest values
    tell. Selecting among n/b bundles of b, and then among ``count`` · b values, takes least for b² =
    n/``count``. A bundle is made of rows that lie far apart, so that long rows are added and compared.
    """
    size, width = isqrt(len(z) // count), z.shape[1]
    if size < _BUNDLED:
        columns = np.ascontiguousarray(z.T)
        return np.asarray(np.abs(columns - columns.mean(axis=1, dtype=np.float64, keepdims=True)))
    each = len(z) // size
    bundles, rest = z[: size * each].reshape(size, each * width), z[size * each :]
    sums = bundles.sum(axis=0, dtype=np.float64).reshape(each, width).sum(axis=0)
    centre = (sums + rest.sum(axis=0, dtype=np.float64))[:, None] / len(z)
    high, low = (ends.reshape(each, width).T for ends in (bundles.max(axis=0), bundles.min(axis=0)))
    reach = np.maximum(high - centre, centre - low, order="C")
    chosen = np.argpartition(reach, each - count, axis=1)[:, each - count :]
    found = bundles.take(chosen * width + np.arange(width)[:, None], axis=1)
    found = np.concatenate([found.swapaxes(0, 1).reshape(width, -1), rest.T], axis=1)
    return np.asarray(np.abs(found - centre))
