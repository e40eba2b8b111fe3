"""IRS: whether a latent stays put when its factor is held fixed and all others change."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
from annotated_types import Gt, Le

from distaff.codes import Codes, FloatArray
from distaff.foundation.errors import DistaffError
from distaff.foundation.parallel import side_by_side
from distaff.metrics.fixed_factor_sampling import Groups, group_rows
from distaff.metrics.inputs import Factors, Float64Array
from distaff.metrics.metric import metric
from distaff.metrics.score import Result
from distaff.metrics.shared import slices


@dataclass(frozen=True)
class Robustness:
    """What stands for the largest deviation.

    Args:
        quantile: of the deviations in a group.
    """

    quantile: Annotated[float, Gt(0), Le(1)]


SHARES = (1 / 2, 1 / 4, 1 / 16)
"""The largest deviation is a maximum, whose variance hardly falls with more rows; these parts tell how."""


BUNDLE = 8
"""Values of which the highest is looked at first."""


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
    |z_i − E[z_i | f_k]|, and IRS_i = max_k 1 − D_ik / max |z_i − E z_i|. The score averages latents with
    their largest deviations as weights, so it depends on the latents' scales. Noise does not score 0 (about
    0.4 for Gaussian latents), since a 0.99 quantile is below the maximum. It is below 0 where a latent strays
    further from the means of groups than from that of all rows, as in groups that are skewed both ways.

    Args:
        codes: (N, D) means; categorical latents take no part.
        bootstrap: parts of the rows of each of three sizes to score for the interval, 0 for none.

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
    largest = np.zeros(codes.means.shape[1])
    table = np.zeros((codes.means.shape[1], len(factors.names)))
    for some in slices(len(largest), len(codes)):
        latents = np.ascontiguousarray(codes.means[:, some].T)
        centre = latents.mean(axis=1, dtype=np.float64)
        largest[some] = np.maximum(latents.max(axis=1) - centre, centre - latents.min(axis=1))
        found = side_by_side(partial(_strays, latents, settings.quantile), groups)
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


def _strays(latents: FloatArray, quantile: float, group: Groups) -> Float64Array:
    """(classes, d) the quantile of the distances to the group's mean, for each class of one factor.

    ``latents`` is (d, N): a selection within rows that lie in memory of their own is several times as quick.
    """
    ordered = np.take(latents, group.order, axis=1)
    return np.stack([_quantile(z, quantile) for z in np.split(ordered, group.starts[1:], axis=1)])


def _quantile(z: FloatArray, quantile: float) -> Float64Array:
    """(d,) ``numpy.quantile`` of |z − mean| along the rows of (d, n); one selection instead of two."""
    strays = z - z.mean(axis=1, dtype=np.float64, keepdims=True)
    np.abs(strays, out=strays)
    place = quantile * (strays.shape[1] - 1)
    below = int(place)
    highest = strays.shape[1] - below
    strays = _with_highest(strays, highest)
    below = strays.shape[1] - highest
    strays.partition(below, axis=1)
    first = strays[:, below]
    if place == int(place):
        return np.asarray(first.copy())
    second = strays[:, below + 1 :].min(axis=1)
    share, step = place - int(place), second - first
    return np.asarray(first + step * share if share < 0.5 else second - step * (1 - share))


def _with_highest(values: Float64Array, count: int) -> Float64Array:
    """(d, m) some of (d, n) values, the ``count`` highest of each row among them.

    Of values in bundles, the highest lie in the bundles whose own highest values are the highest: to select
    among those of bundles, and then in few of these, takes a third of the time.
    """
    rows, each = values.shape[0], values.shape[1] // BUNDLE
    if 2 * count > each:
        return values
    bundles = values[:, : BUNDLE * each].reshape(rows, BUNDLE, each)
    chosen = np.argpartition(bundles.max(axis=1), each - count, axis=1)[:, None, each - count :]
    found = np.take_along_axis(bundles, chosen, axis=2).reshape(rows, -1)
    return np.concatenate([found, values[:, BUNDLE * each :]], axis=1)
