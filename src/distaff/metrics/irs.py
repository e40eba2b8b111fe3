"""IRS: whether a latent stays put while its factor is held fixed and all others change."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Gt, Le

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError
from distaff.metrics.active_latents import constant_latents
from distaff.metrics.factor_vae import Groups, group_rows
from distaff.metrics.inputs import Factors
from distaff.metrics.metric import metric
from distaff.metrics.pieces import slices
from distaff.metrics.result import Result
from distaff.metrics.strays_by_class import strays_of


@dataclass(frozen=True)
class Robustness:
    """The quantile that replaces the largest deviation.

    Args:
        quantile: quantile of the deviations in a group.
    """

    quantile: Annotated[float, Gt(0), Le(1)]


SHARES = (1 / 2, 1 / 4, 1 / 16)
"""The largest deviation is a maximum, whose variance hardly falls with the rows; these parts show how."""


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
    groups = [_missing_as_class(group) for group in group_rows(factors)]
    still = constant_latents(codes)[: codes.means.shape[1]]  # deviations of equal numbers may be rounding
    largest = np.zeros(len(still))
    table = np.zeros((len(still), len(factors.names)))
    for some in slices(len(largest), len(codes)):
        means = np.ascontiguousarray(codes.means[:, some])
        found = strays_of(means, settings.quantile, groups)
        largest[some] = np.where(still[some], 0, found.furthest)
        for k, by_class in enumerate(found.by_class):
            strays = by_class[: factors.sizes[k]]
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


def _missing_as_class(group: Groups) -> Groups:
    """The factor with one more class, the last, of the rows whose label is missing."""
    if group.complete:
        return group
    return Groups(np.where(group.classes < 0, group.size, group.classes), group.size + 1)
