"""Two sources of codes and factors without end, for whatever must hold over fresh data."""

import numpy as np

from distaff import Codes

MIX = 0.75 * np.eye(4) + 0.25 * np.linalg.qr(np.random.default_rng(5).normal(size=(4, 4)))[0]


def noisy(rng, count=1000):
    """Independent balanced factors of 3, 4 and 2 classes, and latents with Gaussian noise.

    Three latents know one factor each, from well to hardly; one knows two, and one none.
    """
    sizes = np.array([3, 4, 2])
    classes = rng.integers(sizes, size=(count, 3))
    f = (classes - (sizes - 1) / 2) / np.sqrt((sizes**2 - 1) / 12)
    signal = np.stack([f[:, 0], f[:, 1], f[:, 2], 0.6 * f[:, 0] + 0.6 * f[:, 1], 0 * f[:, 0]], axis=1)
    means = signal + rng.normal(scale=[0.4, 0.3, 1.5, 0.5, 1.0], size=signal.shape)
    logvars = np.array([-2, -2.5, -1.5, -1, -0.1]) + rng.normal(scale=0.4, size=means.shape)
    return Codes(means, logvars), classes


def tangled(rng, count=1000):
    """Dependent, unbalanced factors of 3, 3 and 5 classes; four latents that mix them, with bounded noise."""
    first = rng.choice(3, p=[0.6, 0.3, 0.1], size=count)
    second = np.where(rng.random(count) < 0.4, first, rng.integers(3, size=count))
    classes = np.stack([first, second, rng.integers(5, size=count)], axis=1)
    f = (classes - [0.5, 0.8, 2.0]) / [0.67, 0.8, 1.41]
    means = np.concatenate([f, rng.uniform(-1.7, 1.7, size=(count, 1))], axis=1) @ MIX
    means = means + rng.uniform(-0.4, 0.4, size=means.shape)
    logvars = -2 - 0.2 * np.abs(means) + rng.normal(scale=0.3, size=means.shape)
    return Codes(means, logvars), classes


WORLDS = {"noisy": noisy, "tangled": tangled}
