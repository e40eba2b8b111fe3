"""Scream dSprites: shapes of dSprites that invert patches of a picture (Locatello et al. 2019)."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from distaff.data import dsprites
from distaff.data.about import About, RemoteFile, folder_of
from distaff.data.color_dsprites import ABOUT as COLOR
from distaff.data.dataset import Dataset
from distaff.data.painted import PaintedImages
from distaff.foundation.errors import DistaffError

ABOUT = About(
    summary="dSprites that invert patches of your own picture, such as Munch's The Scream, 64×64.",
    source="https://en.wikipedia.org/wiki/The_Scream",
    licence="that of the picture; Apache-2.0 for the shapes",
    citation=COLOR.citation,
    count=dsprites.COUNT,
    shape=(3, 64, 64),
    factors=dsprites.ABOUT.factors,
    files=(RemoteFile("scream.jpg"),),
)
LARGEST = (350, 274)
"""Width and height that a picture is scaled to fit into, as in disentanglement_lib."""


def load(file: str | Path | None = None, seed: int = 0) -> Dataset:
    """All of dSprites, each on a patch of a picture mixed half with a random colour, inverted in the shape.

    disentanglement_lib draws a new patch each time an image is read; here each image keeps its patch.

    Args:
        file: the picture; by default ``scream.jpg`` in the data set's folder.
        seed: random seed for patches and colours.
    """
    path = Path(file) if file is not None else folder_of("scream_dsprites") / "scream.jpg"
    plain = dsprites.load()
    paint = partial(on_patch, picture=_picture(path))
    return replace(plain, images=PaintedImages(plain.images, paint, seed), name="scream_dsprites")


def on_patch(
    mask: NDArray[np.float32], rng: np.random.Generator, picture: NDArray[np.float32]
) -> NDArray[np.float32]:
    """A shape that inverts the patch behind it."""
    side = mask.shape[-1]
    top, left = (rng.integers(0, size - side + 1) for size in picture.shape[1:])
    patch = picture[:, top : top + side, left : left + side]
    tinted = ((patch + rng.random((3, 1, 1), np.float32)) / 2).astype(np.float32)
    return np.where(mask == 1, 1 - tinted, tinted)


def _picture(path: Path) -> NDArray[np.float32]:
    """(3, H, W) the picture, scaled down so that its patches differ."""
    if not path.is_file():
        raise DistaffError(
            f"scream_dsprites needs a picture, and there is none at {path}: give one with --file my.jpg."
        )
    try:
        with Image.open(path) as opened:
            image = opened.convert("RGB")
    except (UnidentifiedImageError, OSError) as problem:
        raise DistaffError(f"{path} cannot be read as a picture: {problem}.") from problem
    image.thumbnail(LARGEST)
    if min(image.size) < dsprites.SIDE:
        raise DistaffError(
            f"{path} is {image.width}×{image.height} pixels when fitted into {LARGEST[0]}×{LARGEST[1]}: "
            f"a picture needs {dsprites.SIDE} each way."
        )
    return (np.asarray(image, np.float32).transpose(2, 0, 1) / 255).astype(np.float32)
