"""3D Shapes: 480,000 colour images of one object in a room, rendered here or read from the official file.

The visible surfaces and their brightness depend only on scale × shape × orientation: 480 scenes. Each is
ray-cast once into the weights of the floor's, wall's, object's and sky's colour in every pixel; an image is
these weights times its colours, composed when a batch is read.
"""

import colorsys
import math
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from distaff.data import shapes3d_renderer as scene
from distaff.data.about import About, RemoteFile
from distaff.data.cache import cached, hash_of
from distaff.data.dataset import Dataset, grid
from distaff.data.images import ByteImages, Indices, as_rows, is_single
from distaff.data.reading import copy_blocks, not_official, rows_of
from distaff.foundation.hdf5 import member, open_hdf5
from distaff.foundation.progress import progress

NAMES = ("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation")
SIZES = (10, 10, 10, 8, 4, 15)
ABOUT = About(
    summary="A cube, cylinder, sphere or capsule in a coloured room, 64×64 RGB: hues, scale, shape, view.",
    source="https://github.com/google-deepmind/3d-shapes",
    licence="Apache-2.0",
    citation="Burgess & Kim (2018), 3D Shapes dataset",
    count=480_000,
    shape=(3, 64, 64),
    factors=dict(zip(NAMES, SIZES, strict=True)),
    built_in=True,
    files=(
        RemoteFile(
            "3dshapes.h5",
            "https://storage.googleapis.com/3d-shapes/",
            "md5:099a2078d58cec4daad0702c55d06868",
        ),
    ),
)
VALUES = (
    *[np.linspace(0.0, 0.9, 10)] * 3,
    np.linspace(0.75, 1.25, 8),
    np.arange(4.0),
    np.linspace(-30.0, 30.0, 15),
)
SIDE = 64
SCENES = 8 * 4 * 15
BLOCK = 128
"""Number of images composed at a time, so that a large batch copies few layers at once."""
SKY = np.array([0.76, 0.86, 0.96], np.float32)


def load(file: str | Path | None = None) -> Dataset:
    """All of 3D Shapes in the official order and numbering.

    Args:
        file: the official ``3dshapes.h5``; by default the scenes are rendered (once, in a few seconds).
    """
    if file is not None:
        return _read(Path(file))
    layers = cached("shapes3d-1", (SCENES, scene.LAYERS, SIDE, SIDE), _render_all, np.float32)
    return Dataset(ComposedImages(layers), grid(SIZES), NAMES, SIZES, VALUES, "shapes3d")


class ComposedImages:
    """Images composed from scene layers (480, 4, 64, 64) when they are read."""

    shape = (3, SIDE, SIDE)

    def __init__(self, layers: NDArray[np.float32]) -> None:
        self.layers = np.array(layers).reshape(SCENES, scene.LAYERS, SIDE * SIDE)
        self.colours = np.array([colorsys.hsv_to_rgb(hue, 1.0, 1.0) for hue in VALUES[0]], np.float32)

    def __len__(self) -> int:
        return 480_000

    def __getitem__(self, indices: Indices) -> Tensor:
        floor, wall, item, view = np.unravel_index(as_rows(indices, len(self)), (10, 10, 10, SCENES))
        colours = [self.colours[floor], self.colours[wall], self.colours[item]]
        mixing = np.stack([*colours, np.broadcast_to(SKY, (len(view), 3))], axis=2)  # (B, RGB, layer)
        pixels = np.empty((len(view), 3, SIDE * SIDE), np.float32)
        for start in range(0, len(view), BLOCK):
            part = slice(start, start + BLOCK)
            np.matmul(mixing[part], self.layers[view[part]], out=pixels[part])
        batch = torch.from_numpy(pixels).view(-1, *self.shape)
        return batch[0] if is_single(indices) else batch


def _read(file: Path) -> Dataset:
    def copy(images: NDArray[np.uint8]) -> None:
        with open_hdf5(file) as source:
            pixels, labels = member(source, "images"), member(source, "labels")
            if pixels.shape != images.shape or pixels.dtype != np.uint8:
                raise not_official(file, "3D Shapes", f"its images are {pixels.dtype} {pixels.shape}")
            expected = np.stack([table[k] for table, k in zip(VALUES, grid(SIZES).T, strict=True)], axis=1)
            if labels.shape != expected.shape or not np.allclose(labels[:], expected, atol=1e-6):
                raise not_official(file, "3D Shapes", "its labels are not the full grid in order")
            copy_blocks(rows_of(pixels), images, "reading 3D Shapes")

    pixels = cached(f"shapes3d-{hash_of(file)[:16]}", (math.prod(SIZES), SIDE, SIDE, 3), copy)
    return Dataset(ByteImages(pixels, channels_last=True), grid(SIZES), NAMES, SIZES, VALUES, "shapes3d")


def _render_all(layers: NDArray[np.float32]) -> None:
    views = layers.reshape(8, 4, 15, *layers.shape[1:])
    for orientation, angle in enumerate(progress(VALUES[5].tolist(), "rendering 3D Shapes")):
        room = scene.Room(angle, SIDE)
        for scale, size in enumerate(VALUES[3]):
            for shape in range(4):
                views[scale, shape, orientation] = room.layers(shape, float(size))
