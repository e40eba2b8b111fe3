"""Noisy dSprites: white shapes of dSprites on noise (Locatello et al. 2019)."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from distaff.data import dsprites
from distaff.data.about import About
from distaff.data.color_dsprites import ABOUT as COLOR
from distaff.data.dataset import Dataset
from distaff.data.painted import PaintedImages

ABOUT = About(
    summary="dSprites in white on a background of coloured noise, 64×64.",
    source=COLOR.source,
    licence=COLOR.licence,
    citation=COLOR.citation,
    count=dsprites.COUNT,
    shape=(3, 64, 64),
    factors=dsprites.ABOUT.factors,
    built_in=True,
)


def load(file: str | Path | None = None, seed: int = 0) -> Dataset:
    """All of dSprites, with every background pixel drawn from [0, 1]³.

    disentanglement_lib draws new noise each time an image is read; here each image keeps its noise.

    Args:
        file: the official file of dSprites, instead of the built-in images.
        seed: random seed for the noise.
    """
    plain = dsprites.load(file)
    return replace(plain, images=PaintedImages(plain.images, on_noise, seed), name="noisy_dsprites")


def on_noise(mask: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """A white shape on noise."""
    return np.asarray(np.minimum(mask + rng.random((3, *mask.shape[1:]), np.float32), 1), np.float32)
