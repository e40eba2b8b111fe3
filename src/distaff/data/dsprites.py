"""dSprites: 737,280 white shapes on black, drawn here bit for bit as in the original files.

The drawing rule was recovered from the published images. An outline is scaled, turned and moved in float64,
its vertices are snapped to 1/256 pixel, and a pixel is white if its centre lies inside the snapped polygon,
decided in integers.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distaff.data.about import About, RemoteFile
from distaff.data.cache import cached, hash_of
from distaff.data.dataset import Dataset, grid
from distaff.data.images import BitImages
from distaff.data.reading import copy_blocks, not_official, rows_of
from distaff.foundation.hdf5 import member, open_hdf5
from distaff.foundation.progress import progress
from distaff.foundation.untrusted_files import open_npz

NAMES = ("shape", "scale", "orientation", "posX", "posY")
SIZES = (3, 6, 40, 32, 32)
COUNT = 737_280
ABOUT = About(
    summary="White squares, ellipses and hearts on black, 64×64: shape, scale, orientation and position.",
    source="https://github.com/google-deepmind/dsprites-dataset",
    licence="Apache-2.0",
    citation="Matthey, Higgins, Hassabis & Lerchner (2017), dSprites: disentanglement testing sprites",
    count=COUNT,
    shape=(1, 64, 64),
    factors=dict(zip(NAMES, SIZES, strict=True)),
    built_in=True,
    files=(
        RemoteFile(
            "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz",
            "https://raw.githubusercontent.com/deepmind/dsprites-dataset/master/",
        ),
        RemoteFile(
            "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.hdf5",
            "https://raw.githubusercontent.com/deepmind/dsprites-dataset/master/",
            "md5:b331c4447a651c44bf5e8ae09022e230",
            extra=True,
        ),
    ),
)
VALUES = (
    np.array([1.0, 2.0, 3.0]),
    0.5 + np.arange(6) * 0.5 / 5,
    np.arange(40) * 2 * np.pi / 39,
    np.arange(32) / 31,
    np.arange(32) / 31,
)
SIDE = 64
UNITS = 256
"""Sub-pixel positions per pixel: vertices are snapped to multiples of 1/256."""


def load(file: str | Path | None = None) -> Dataset:
    """All of dSprites in the official order and numbering, without its constant colour factor.

    Args:
        file: the official ``dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz`` or ``.hdf5``; by default the
            images are drawn once (a few seconds) and kept in the cache folder.
    """
    shape = (COUNT, SIDE * SIDE // 8)
    if file is None:
        packed = cached("dsprites-1", shape, _draw_all)
    else:
        packed = cached(f"dsprites-{hash_of(Path(file))[:16]}", shape, lambda array: _read(Path(file), array))
    return Dataset(BitImages(packed, (1, SIDE, SIDE)), grid(SIZES), NAMES, SIZES, VALUES, "dsprites")


def outlines() -> tuple[NDArray[np.float64], ...]:
    """The vertices (V, 2) of the square, the ellipse and the heart, in pixels at scale 1."""
    half = 9.6
    square = half * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    t = 2 * np.pi * np.arange(100) / 100
    ellipse = np.stack([half * 1.33 * np.cos(t), half / 1.33 * np.sin(t)], axis=1)
    t = 2 * np.pi * np.arange(150) / 150
    lobes = 13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)
    heart = half * np.stack([np.sin(t) ** 3, -(lobes / 14.5 + 0.15)], axis=1)
    return square, ellipse, heart


def draw(outline: NDArray[np.float64], scale: float, angles: NDArray[np.float64]) -> NDArray[np.uint64]:
    """One outline at one scale, every angle (A,) and all 32 × 32 positions, as rows of 64 bits (A, X, Y, 64).

    A row of pixels is the exclusive or, over the polygon's edges that cross it, of all pixels from the
    crossing to the right border: the even-odd rule. The x of vertices depends only on posX and their y only
    on posY, so which edge crosses which row is determined for all posX at once.
    """
    u, w = outline.T
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    centres = 16 + 32 * np.arange(32) / 31
    x = _snap(centres + (scale * (cos * u + sin * w))[:, :, None])  # (A, V, X)
    y = _snap(centres[:, None] + (scale * (-sin * u + cos * w))[:, None, :])  # (A, Y, V)
    next_x, next_y = np.roll(x, -1, axis=1), np.roll(y, -1, axis=2)

    # A bottom edge is inside and a top edge outside: an edge includes its lower end but not its upper one.
    row_y = UNITS * np.arange(SIDE, dtype=np.int32) + UNITS // 2
    top, bottom = np.minimum(y, next_y)[:, :, None], np.maximum(y, next_y)[:, :, None]
    angle, place, row, edge = np.nonzero((top < row_y[:, None]) & (row_y[:, None] <= bottom))

    start_x, end_x = x[angle, edge], next_x[angle, edge]  # (crossings, X)
    start_y, end_y = y[angle, place, edge][:, None], next_y[angle, place, edge][:, None]
    rise = end_y - start_y
    # The crossing in 1/256 pixel is numerator / |rise|, from the left border's pixel centre.
    numerator = np.sign(rise) * (
        (start_x - UNITS // 2) * rise + (row_y[row][:, None] - start_y) * (end_x - start_x)
    )
    # The first pixel with its centre at or right of the crossing: a left edge is inside, a right one outside.
    column = -(-numerator // (UNITS * np.abs(rise)))

    line = (angle * 32 + place) * SIDE + row
    first = np.flatnonzero(np.diff(line, prepend=-1))
    lines = np.zeros((len(angles) * 32 * SIDE, 32), np.uint64)
    lines[line[first]] = np.bitwise_xor.reduceat(_FROM_COLUMN[column], first, axis=0)
    return lines.reshape(len(angles), 32, SIDE, 32).transpose(0, 3, 1, 2)


_FROM_COLUMN = np.array([(2**64 - 1) >> column for column in range(SIDE + 1)], dtype=np.uint64)
"""The pixels of a row from a column to the right border; the leftmost pixel is the highest bit."""


def _snap(position: NDArray[np.float64]) -> NDArray[np.int32]:
    return np.floor(UNITS * position + 0.5).astype(np.int32)


def _draw_all(packed: NDArray[np.uint8]) -> None:
    images = packed.view(">u8").reshape(*SIZES, SIDE)
    angles = 2 * np.pi * np.arange(SIZES[2]) / (SIZES[2] - 1)
    kinds = [(shape, scale) for shape in range(SIZES[0]) for scale in range(SIZES[1])]
    for shape, scale in progress(kinds, "drawing dSprites"):
        images[shape, scale] = draw(outlines()[shape], 0.5 + 0.1 * scale, angles)


def _read(file: Path, packed: NDArray[np.uint8]) -> None:
    if file.suffix in (".h5", ".hdf5"):
        with open_hdf5(file) as source:
            images, classes = member(source, "imgs"), member(source, "latents/classes")
            _check(file, images.shape, classes[:])
            _pack(file, rows_of(images), packed)
    else:
        with open_npz(file) as archive:
            _check(file, archive.shape("imgs"), archive.array("latents_classes"))
            _pack(file, archive.blocks("imgs"), packed)


def _check(file: Path, shape: tuple[int, ...], classes: NDArray[Any]) -> None:
    if shape != (COUNT, SIDE, SIDE):
        raise not_official(file, "dSprites", f"its images are {shape}, not {(COUNT, SIDE, SIDE)}")
    if not np.array_equal(classes, grid((1, *SIZES))):
        raise not_official(file, "dSprites", "its factors are not the full grid in order")


def _pack(file: Path, blocks: Iterator[NDArray[Any]], packed: NDArray[np.uint8]) -> None:
    def bits(block: NDArray[Any]) -> NDArray[np.uint8]:
        if block.dtype != np.uint8 or block.max() > 1:
            raise not_official(file, "dSprites", "a pixel is neither 0 nor 1")
        return np.packbits(block.reshape(len(block), -1), axis=1)

    copy_blocks(blocks, packed, "reading dSprites", bits)
