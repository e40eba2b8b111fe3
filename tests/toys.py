"""Small worlds with known answers, shared by tests."""

import math

import numpy as np
import torch

from distaff.codes import Codes
from distaff.data.arrays import from_array
from distaff.data.dataset import Dataset
from distaff.models import networks
from distaff.models.latents import LatentSpace
from distaff.models.networks.halving import Networks, Shape
from distaff.models.vae import VAE


def mlp(
    shape: Shape, parameters: int, width: int, outputs: Shape | None = None, hidden: int = 64
) -> Networks:
    """A small pair of networks for observations of any shape."""
    return networks.mlp(shape, parameters, width, outputs, hidden, layers=1)


def ring(count: int = 1000, side: int = 12, seed: int = 0) -> Dataset:
    """A soft dot somewhere on a circle: its two coordinates are dependent, and a VAE keeps that in q(z)."""
    rng = np.random.default_rng(seed)
    angles = rng.uniform(0, 2 * np.pi, count)
    grid = np.linspace(-1.6, 1.6, side)
    rows = np.exp(-((grid - np.cos(angles)[:, None]) ** 2) / 0.15)
    columns = np.exp(-((grid - np.sin(angles)[:, None]) ** 2) / 0.15)
    return from_array((rows[:, None, :, None] * columns[:, None, None, :]).astype(np.float32))


def tiny_images(count: int = 256, side: int = 16, seed: int = 0) -> Dataset:
    """Binary squares at random places, for networks of convolutions."""
    rng = np.random.default_rng(seed)
    images = np.zeros((count, 1, side, side), np.float32)
    for image, (row, column) in zip(images, rng.integers(0, side - 4, (count, 2)), strict=True):
        image[0, row : row + 4, column : column + 4] = 1
    return from_array(images)


def model(data: Dataset, latents: int | str = 4, seed: int = 0) -> VAE:
    """A new small VAE for a data set."""
    torch.manual_seed(seed)
    space = LatentSpace.parse(latents)
    return VAE(mlp(data.shape, space.parameters, space.width), space)


def exact_tc(codes: Codes, seed: int = 0) -> float:
    """TC of q(z) = 1/N Σ q(z|x_n), one sample an observation, by the full double sum in float64."""
    torch.manual_seed(seed)
    mu, sigma = torch.tensor(codes.means).double(), torch.tensor(codes.logvars).double().div(2).exp()
    z = mu + sigma * torch.randn_like(mu)
    pairs = torch.distributions.Normal(mu, sigma).log_prob(z[:, None])
    joint, marginals = pairs.sum(-1).logsumexp(1), pairs.logsumexp(1)
    return float((joint - marginals.sum(-1)).mean()) + (codes.means.shape[1] - 1) * math.log(len(codes))
