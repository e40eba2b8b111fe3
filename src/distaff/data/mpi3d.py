"""MPI3D: a robot arm holding an object, simulated or photographed, 1,036,800 images each."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from distaff.data.about import About, RemoteFile, find
from distaff.data.cache import cached, hash_of
from distaff.data.dataset import Dataset, grid
from distaff.data.images import ByteImages
from distaff.data.reading import copy_blocks, not_official
from distaff.foundation.errors import unknown
from distaff.foundation.untrusted_files import open_npz

_FOLDER = "https://storage.googleapis.com/mpi3d_disentanglement_dataset/"
NAMES = (
    "object_color",
    "object_shape",
    "object_size",
    "camera_height",
    "background_color",
    "horizontal_axis",
    "vertical_axis",
)
SIZES = (6, 6, 2, 3, 3, 40, 40)
COUNT = 1_036_800
VARIANTS = ("toy", "realistic", "real")
ABOUT = About(
    summary="A robot arm with an object, 64×64 RGB, as toy, realistic or real images: seven factors.",
    source="https://github.com/rr-learning/disentanglement_dataset",
    licence="CC BY 4.0",
    citation="Gondal et al. (2019), On the transfer of inductive bias from simulation to the real world",
    count=COUNT,
    shape=(3, 64, 64),
    factors=dict(zip(NAMES, SIZES, strict=True)),
    files=(
        RemoteFile("mpi3d_toy.npz", _FOLDER, "md5:55889cb7c7dfc655d6e0277beee88868"),
        RemoteFile("mpi3d_realistic.npz", _FOLDER, "md5:59a6225b88b635365f70c91b3e52f70f", extra=True),
        RemoteFile("mpi3d_real.npz", _FOLDER, "md5:0f33f609918fb5c97996692f91129802", extra=True),
    ),
)


def load(file: str | Path | None = None, variant: Literal["toy", "realistic", "real"] = "toy") -> Dataset:
    """MPI3D in the official order, unpacked once into the cache (12.7 GB).

    Args:
        file: the official ``.npz``, or the folder that holds it.
        variant: which of the three to look for, if ``file`` does not name it.
    """
    if variant not in VARIANTS:
        raise unknown("variant of mpi3d", variant, VARIANTS)
    path = find("mpi3d", ABOUT, file, f"mpi3d_{variant}.npz")

    def build(images: NDArray[Any]) -> None:
        with open_npz(path) as archive:
            shape, dtype = archive.shape("images"), archive.dtype("images")
            if shape != images.shape or dtype != np.uint8:
                raise not_official(path, "MPI3D", f"its images are {dtype} {shape}, not uint8 {images.shape}")
            copy_blocks(archive.blocks("images"), images, "reading MPI3D")

    images = cached(f"mpi3d-{hash_of(path)[:16]}", (COUNT, 64, 64, 3), build)
    return Dataset(ByteImages(images, channels_last=True), grid(SIZES), NAMES, SIZES, name=path.stem)
