"""Hoyer sparsity: whether each observation uses few latents."""

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike

from distaff.foundation.errors import DistaffError
from distaff.metrics.declare import metric, settle
from distaff.metrics.inputs import CodesLike, as_codes
from distaff.metrics.score import Score


@dataclass(frozen=True)
class Sparsity:
    """Whether latents are divided by their standard deviation first."""

    scale: bool


PROTOCOLS = {"mathieu19": Sparsity(scale=False), "mathieu19-code": Sparsity(scale=True)}


@metric(
    paper="Hurley & Rickard 2008; Mathieu et al. 2019", protocols=PROTOCOLS, bounds=(0, 1), inputs="codes"
)
def hoyer(
    codes: CodesLike,
    logvar: ArrayLike | None = None,
    *,
    protocol: str = "mathieu19",
    scale: bool | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score:
    """Mean over observations of (√D − |μ|₁/|μ|₂) / (√D − 1): 1 if one latent is used, 0 if all are alike.

    Args:
        codes: (N, D) means with D of at least 2, or ``Codes``; categorical latents take no part.
        logvar: accepted as for other metrics of q(z); the means alone are used.
        protocol: ``"mathieu19"`` (§6.3 as printed) or ``"mathieu19-code"`` (latents scaled first).
        scale: divide each latent by its standard deviation over the data.
        bootstrap: halves of the rows to score for the interval, 0 for none.
        seed: of the halves.
    """
    settings, protocol = settle(PROTOCOLS, protocol, scale=scale)
    codes = as_codes(codes, logvar)
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
    value = float(sparsity.mean())
    zero = int((~used).sum())
    return Score(
        name="hoyer",
        value=value,
        protocol=protocol,
        settings=asdict(settings),
        notes=(f"{zero} rows of zeros left out",) if zero else (),
    )
