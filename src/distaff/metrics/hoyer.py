"""Hoyer sparsity: whether each observation uses few latents."""

from dataclasses import dataclass

import numpy as np

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError
from distaff.metrics.metric import metric
from distaff.metrics.score import Result


@dataclass(frozen=True)
class Sparsity:
    """Whether latents of all scales count alike.

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
        codes: (N, D) means with D of at least 2, or ``Codes``; categorical latents take no part.
        logvar: accepted as for other metrics of q(z); the means alone are used.
        protocol: ``"mathieu19"`` (§6.3 as printed) or ``"mathieu19-code"`` (latents scaled first).

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import hoyer
        >>> hoyer(np.eye(3)).value  # one latent per observation
        1.0

    See Also:
        ``informativeness``, of latents over all observations.
    """
    size = codes.means.shape[1]
    if size < 2:
        raise DistaffError("Hoyer sparsity compares latents: it needs at least two Gaussian ones.")
    z = np.abs(codes.means.astype(np.float64))
    z /= max(float(z.max()), 1e-300)
    if settings.scale:
        deviation = codes.means.std(axis=0, dtype=np.float64)
        z = z / np.where(deviation > 0, deviation, np.inf)
        z /= max(float(z.max()), 1e-300)
    norm = np.sqrt((z**2).sum(axis=1))
    used = norm > 0
    if not used.any():
        raise DistaffError("all codes are zero: their sparsity is not defined.")
    root = np.sqrt(size)
    sparsity = np.clip((root - z[used].sum(axis=1) / norm[used]) / (root - 1), 0, 1)
    zero = int((~used).sum())
    return Result(sparsity.mean(), notes=(f"{zero} rows of zeros left out",) if zero else ())
