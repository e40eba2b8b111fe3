"""Codes for testing metrics: those of a run, or synthetic ones from the factors of 2D Shapes."""

from collections.abc import Callable, Sequence
from difflib import get_close_matches

import numpy as np

from distaff import Codes, DistaffError
from distaff.analysis import varied_factors
from distaff.data import dsprites, some_rows
from distaff.metrics import Factors, as_factors
from distaff.studies import StudyRun

Pair = tuple[Codes, Factors]
NAMES, SIZES = zip(*dsprites.ABOUT.factors.items(), strict=True)

NOISE = {
    "apart": (0.5, 0.2, 0.4, 0.1, 0.1),
    "partly": (0.9, 0.3, 0.4, 0.2, 0.2),
    "noisy": (1.0, 0.6, 0.9, 0.4, 0.4),
    "mixed": (0.1, 0.1, 0.1, 0.1, 0.1),
}
"""σ of q(z|x) for shape, scale, orientation and the two positions; every latent's q(z) has variance 1."""

KINDS = ("apart", "noisy", "mixed")
"""The kinds drawn side by side: separate and precise, separate and blurred, precise but not separate."""

SYMMETRY = np.array([4, 2, 1])
"""The order of rotational symmetry of squares, ellipses and hearts."""


def codes_and_factors(run: StudyRun, observations: int) -> Pair:
    """Codes and factors of random observations of a run's data."""
    data = run.data
    rows = some_rows(len(data), observations)
    factors = varied_factors(data.subset(rows))
    if factors is None:
        raise DistaffError(f"{data.name} has no factors, which this figure is about.")
    return run.codes[rows], factors


def over_seeds(seeds: int, settings: Sequence[int], measure: Callable[[int, int], float]) -> np.ndarray:
    """(seeds, settings) values of a measure."""
    return np.array([[measure(seed, setting) for setting in settings] for seed in range(seeds)])


def synthetic_codes(kind: str, observations: int, latents: int = 10, seed: int = 0) -> Pair:
    """Codes of random 2D Shapes, and their factors.

    Args:
        kind: ``apart`` (each factor in a latent of its own), ``noisy`` (the same, but shape is lost and the
            others are blurred), ``mixed`` (all factors randomly rotated) or ``partly`` (half rotated, and
            orientation only as far as it is visible).
        observations: number of observations, drawn from the grid without replacement.
        latents: number of latents; those beyond five are N(0, 1), independent of x.
        seed: seed of observations and directions.
    """
    if kind not in NOISE:
        near = "".join(f" did you mean {name!r}?" for name in get_close_matches(kind, NOISE, n=1))
        raise DistaffError(f"unknown kind of synthetic codes {kind!r}:{near} Known: {', '.join(NOISE)}.")
    if latents < len(SIZES):
        raise DistaffError(f"synthetic codes have {len(SIZES)} latents or more, not {latents}.")
    rng = np.random.default_rng(seed)
    rows = rng.choice(int(np.prod(SIZES)), observations, replace=False)
    classes = np.stack(np.unravel_index(rows, SIZES), axis=1)
    shape, _, orientation, *_ = classes.T
    z = classes / (np.array(SIZES) - 1) - 0.5
    z[:, 2] = np.sin(2 * np.pi * orientation / SIZES[2])
    z = _standard(z)
    rotation = np.linalg.qr(rng.normal(size=(len(SIZES), len(SIZES))))[0]
    if kind == "partly":
        z[:, 2] = np.sin(2 * np.pi * SYMMETRY[shape] * orientation / SIZES[2])
        z = _standard(z) + z @ rotation
    elif kind == "mixed":
        z = z @ rotation
    sigma = np.array(NOISE[kind])
    means = np.zeros((observations, latents), np.float32)
    means[:, : len(SIZES)] = _standard(z) * np.sqrt(1 - sigma**2)
    logvars = np.zeros_like(means)
    logvars[:, : len(SIZES)] = 2 * np.log(sigma)
    return Codes(means, logvars), as_factors(classes, NAMES)


def _standard(z: np.ndarray) -> np.ndarray:
    return np.asarray((z - z.mean(0)) / z.std(0))
