"""Correlation matrices of latents: a quick look at independence (Do & Tran 2020, A.6)."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from distaff.foundation.errors import DistaffError
from distaff.metrics.active_latents import standardised
from distaff.metrics.inputs import CodesLike, Float64Array, as_codes


def correlation_matrix(
    codes: CodesLike,
    logvar: ArrayLike | None = None,
    *,
    of: Literal["samples", "means"] = "samples",
    seed: int = 0,
) -> Float64Array:
    """(D, D) Pearson correlations of the Gaussian latents.

    With ``"samples"`` (one draw of q(z|x) per observation) they are the correlations of the latents
    themselves; with ``"means"`` they overestimate the dependence of noisy latents, as Fig. 20 of the paper
    shows. A constant latent has correlation 0 with every other latent.

    Args:
        codes: (N, D) means, or ``Codes``.
        logvar: (N, D) log-variances; not needed for ``of="means"``.
        of: ``"samples"`` or ``"means"``.
        seed: random seed for the draws.
    """
    codes = as_codes(codes, logvar)
    z = codes.means.astype(np.float64)
    if of == "samples":
        if codes.logvars is None:
            raise DistaffError("correlations of samples need log-variances: give them, or of='means'.")
        z += np.exp(codes.logvars / 2) * np.random.default_rng(seed).standard_normal(z.shape)
    elif of != "means":
        raise DistaffError(f"of must be 'samples' or 'means', not {of!r}.")
    z = standardised(z)
    matrix = z.T @ z / len(z)
    np.fill_diagonal(matrix, 1)
    return np.clip(matrix, -1, 1)
