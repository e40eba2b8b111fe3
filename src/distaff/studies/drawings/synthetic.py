"""Codes made by rule from the factors of 2D Shapes: what can be asked of metrics without training."""

import numpy as np

from distaff.codes import Codes
from distaff.data.dsprites import NAMES, SIZES
from distaff.errors import DistaffError, unknown
from distaff.metrics import Factors, as_factors

NOISE = {
    "apart": (0.5, 0.2, 0.4, 0.1, 0.1),
    "partly": (0.6, 0.3, 0.5, 0.15, 0.15),
    "noisy": (1.0, 0.6, 0.9, 0.4, 0.4),
    "mixed": (0.0, 0.0, 0.0, 0.0, 0.0),
}
"""σ of q(z|x) for shape, scale, orientation and the two positions; every latent's q(z) has variance 1."""

KINDS = ("apart", "noisy", "mixed")
"""What stands for FactorVAEs, β-VAEs with a large β, and adversarial auto-encoders."""


def synthetic_codes(kind: str, observations: int, latents: int = 10, seed: int = 0) -> tuple[Codes, Factors]:
    """Codes of random 2D Shapes, and their factors.

    Args:
        kind: ``apart`` (each factor in a latent of its own, little noise), ``partly`` (shape leaks into
            scale and orientation), ``noisy`` (apart, but shape is lost and the others are blurred) or
            ``mixed`` (all factors turned at random, without noise).
        observations: how many, drawn from the grid without replacement.
        latents: how many; those beyond five are N(0, 1) whatever x is.
        seed: of observations and directions.
    """
    if kind not in NOISE:
        raise unknown("kind of synthetic codes", kind, NOISE)
    if latents < len(SIZES):
        raise DistaffError(f"synthetic codes have {len(SIZES)} latents or more, not {latents}.")
    rng = np.random.default_rng(seed)
    rows = rng.choice(int(np.prod(SIZES)), observations, replace=False)
    classes = np.stack(np.unravel_index(rows, SIZES), axis=1)
    z = classes / (np.array(SIZES) - 1) - 0.5
    z[:, 2] = np.sin(2 * np.pi * classes[:, 2] / SIZES[2])
    z = _standard(z)
    if kind == "partly":
        z[:, 1] += 0.4 * z[:, 0]
        z[:, 2] *= 1 + 0.5 * z[:, 0]
    if kind == "mixed":
        z = z @ np.linalg.qr(rng.normal(size=(len(SIZES), len(SIZES))))[0]
    sigma = np.array(NOISE[kind])
    means = np.zeros((observations, latents))
    means[:, : len(SIZES)] = _standard(z) * np.sqrt(1 - sigma**2)
    with np.errstate(divide="ignore"):  # σ = 0 is a log-variance of −∞
        logvars = np.zeros_like(means) + np.concatenate([2 * np.log(sigma), np.zeros(latents - len(SIZES))])
    return Codes(means, logvars), as_factors(classes, NAMES)


def _standard(z: np.ndarray) -> np.ndarray:
    return np.asarray((z - z.mean(0)) / z.std(0))
