"""Colour dSprites: dSprites with coloured shapes; the colour is not a factor (Locatello et al. 2019)."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from distaff.data import dsprites
from distaff.data.about import About
from distaff.data.dataset import Dataset
from distaff.data.painted import PaintedImages

ABOUT = About(
    summary="dSprites with random colours that are not a factor, 64×64.",
    source="https://github.com/google-research/disentanglement_lib",
    licence="Apache-2.0",
    citation="Locatello et al. (2019), Challenging common assumptions in the unsupervised learning of "
    "disentangled representations",
    count=dsprites.COUNT,
    shape=(3, 64, 64),
    factors=dsprites.ABOUT.factors,
    built_in=True,
)


def load(file: str | Path | None = None, seed: int = 0) -> Dataset:
    """All of dSprites, with each shape in a colour drawn from [0.5, 1]³ on black.

    disentanglement_lib draws a new colour each time an image is read; here each image keeps its colour.

    Args:
        file: the official file of dSprites, instead of the built-in images.
        seed: random seed for the colours.
    """
    plain = dsprites.load(file)
    return replace(plain, images=PaintedImages(plain.images, coloured, seed), name="color_dsprites")


def coloured(mask: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """A shape in one colour."""
    return mask * rng.uniform(0.5, 1, (3, 1, 1)).astype(np.float32)
