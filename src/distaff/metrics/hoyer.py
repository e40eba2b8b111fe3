"""Hoyer sparsity: whether each observation uses only a few latents."""

from dataclasses import dataclass

import numpy as np

from distaff.codes import Codes, FloatArray
from distaff.foundation.errors import DistaffError
from distaff.metrics.inputs import Float64Array
from distaff.metrics.metric import metric
from distaff.metrics.pieces import slices
from distaff.metrics.result import Result


@dataclass(frozen=True)
class Sparsity:
    """Whether latents are scaled first.

    Args:
        scale: divide each latent by its standard deviation over the data.
    """

    scale: bool


@metric(
    paper="Hurley & Rickard 2008; Mathieu et al. 2019",
    protocols={"mathieu19": Sparsity(scale=False), "mathieu19-code": Sparsity(scale=True)},
    bounds=(0, 1),
)
def hoyer(codes: Codes, settings: Sparsity) -> Result:
    """Mean over observations of (√D − |μ|₁/|μ|₂) / (√D − 1): 1 if one latent is used, 0 if all are alike.

    Args:
        codes: (N, D) means with D of at least 2, or ``Codes``; categorical latents are ignored.
        logvar: accepted as for other metrics of q(z); only the means are used.
        protocol: ``"mathieu19"`` (§6.3 of the paper) or ``"mathieu19-code"`` (latents are scaled first).

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import hoyer
        >>> hoyer(np.eye(3)).value  # one latent per observation
        1.0

    See Also:
        ``informativeness``, which looks at latents over all observations.
    """
    size = codes.means.shape[1]
    if size < 2:
        raise DistaffError("Hoyer sparsity compares latents: it needs at least two Gaussian ones.")
    largest = np.maximum(codes.means.max(axis=0), -codes.means.min(axis=0)).astype(np.float64)
    scale = _deviations(codes.means, largest) if settings.scale else np.ones(size)
    unit = scale * max(float((largest / scale).max()), 1e-300)
    root, sparsity = np.sqrt(size), []
    for some in slices(len(codes), size):
        z = np.abs(codes.means[some] / unit)
        norm = np.sqrt((z**2).sum(axis=1))
        used = norm > 0
        sparsity.append(np.clip((root - z[used].sum(axis=1) / norm[used]) / (root - 1), 0, 1))
    each = np.concatenate(sparsity)
    if not len(each):
        raise DistaffError("all codes are zero: their sparsity is not defined.")
    zero = len(codes) - len(each)
    return Result(each.mean(), notes=(f"{zero} rows of zeros left out",) if zero else ())


def _deviations(means: FloatArray, largest: Float64Array) -> Float64Array:
    """(D,) standard deviations of the latents; infinite for a constant one, so that it has no influence."""
    unit, found = np.where(largest > 0, largest, 1), np.empty(means.shape[1])
    for some in slices(means.shape[1], len(means)):
        found[some] = (means[:, some] / unit[some]).std(axis=0) * unit[some]
    return np.where(found > 0, found, np.inf)
