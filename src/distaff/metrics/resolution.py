"""What a fixed grid of bins misses of the latents: anything finer than a bin."""

import numpy as np

from distaff.codes import Codes
from distaff.metrics.inputs import Float64Array, IntArray

HIDDEN = 0.05
"""If more than this share of a latent's variance lies within bins, the score gets a note."""


def hidden_shares(codes: Codes, places: IntArray, low: float, high: float, width: float) -> Float64Array:
    """(D,) the approximate share of each Gaussian latent's variance under q(z) that lies within bins.

    The variance within bins is E Var(μ | bin), for means clipped to the range; noise adds to it up to
    width²/12, the variance within a uniformly filled bin. The share of a constant latent is 1.

    Args:
        codes: the posteriors.
        places: (N, D) the bin of each mean.
        low: lower end of the range.
        high: upper end of the range.
        width: width of a bin.
    """
    shares = np.empty(codes.means.shape[1])
    for i, (mu, place) in enumerate(zip(codes.means.T, places.T, strict=True)):
        mu = mu.clip(low, high).astype(np.float64)
        centres = np.bincount(place, weights=mu) / np.maximum(np.bincount(place), 1)
        noise = np.zeros(1) if codes.logvars is None else np.exp(codes.logvars[:, i].astype(np.float64))
        within = np.square(mu - centres[place]).mean()
        within = max(within, min(within + np.minimum(noise, width**2 / 12).mean(), width**2 / 12))
        total = mu.var() * (mu.max() > mu.min()) + noise.mean()
        shares[i] = min(within / total, 1.0) if total > 0 else 1.0
    return shares


def hidden_note(names: tuple[str, ...], shares: Float64Array, low: float, high: float) -> tuple[str, ...]:
    """A note on the latents that the grid resolves too coarsely."""
    unseen = {name: share for name, share in zip(names, shares, strict=False) if share > HIDDEN}
    if not unseen:
        return ()
    listed = ", ".join(f"{name} {share:.0%}" for name, share in unseen.items())
    return (
        f"the bins over [{low:g}, {high:g}] miss what is finer than one of them ({listed} of the "
        "variance): rescale the latents, or narrow low and high",
    )
