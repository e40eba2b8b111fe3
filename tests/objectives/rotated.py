"""A linear world whose axes nothing but supervision, or a bias towards axes, can find: a turned grid."""

import numpy as np
from torch import nn

from distaff.data.arrays import from_array
from distaff.data.dataset import Dataset, grid
from distaff.models.networks.halving import Networks, Shape

SIZES = (6, 6, 6)


def turned_grid(sizes: tuple[int, ...] = SIZES, seed: int = 3) -> Dataset:
    """x = 5 R f, f the factors at mean 0 and variance 1, R a rotation: x alone does not tell f's axes."""
    factors = grid(sizes)
    centred = factors - factors.mean(0)
    rotation, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(sizes), len(sizes))))
    return from_array(5 * (centred / centred.std(0)) @ rotation.T, factors)


def alignment(means: np.ndarray, factors: np.ndarray) -> float:
    """The mean over factors of the largest |correlation| with a latent: 1 if each has a latent to itself."""
    both = np.corrcoef(means.T, factors.T)[: means.shape[1], means.shape[1] :]
    return float(np.abs(both).max(0).mean())


def linear(shape: Shape, parameters: int, width: int, outputs: Shape | None = None) -> Networks:
    """Linear maps both ways: whatever these tell apart, no curved network did."""
    return Networks(nn.Linear(shape[0], parameters), nn.Linear(width, (outputs or shape)[0]))
