"""Small representations whose scores are known."""

import numpy as np

from distaff import Codes

SIZES = (3, 4, 5, 6, 8)


def grid(sizes=SIZES, repeats=1):
    """(N, K) classes of a full factor grid, each combination ``repeats`` times."""
    classes = np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes), axis=1)
    return np.repeat(classes, repeats, axis=0)


def perfect_codes(classes, latents=None, seed=0):
    """One standardised latent a factor; further latents up to ``latents`` are noise."""
    z = (classes - classes.mean(0)) / classes.std(0)
    extra = (latents or z.shape[1]) - z.shape[1]
    return np.concatenate([z, np.random.default_rng(seed).normal(size=(len(z), extra))], axis=1)


def noise_codes(classes, latents=10, seed=0):
    return np.random.default_rng(seed).normal(size=(len(classes), latents))


def rotated(codes, seed=0):
    """The codes turned by a random rotation of all axes."""
    q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(codes.shape[1],) * 2))
    return codes @ q


def sharp(means, sigma=0.05):
    """Codes of an encoder that is sure: these means, one small σ."""
    return Codes(means, np.full(means.shape, 2 * np.log(sigma)))


def joined(*parts):
    """Codes side by side."""
    return Codes(
        np.concatenate([part.means for part in parts], axis=1),
        np.concatenate([part.logvars for part in parts], axis=1),
    )
