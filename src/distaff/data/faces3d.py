"""3D Faces: renderings of the Basel face model, read from the formats in which they are distributed."""

from pathlib import Path

import numpy as np
import torch

from distaff.data import arrays, folders
from distaff.data.about import About, RemoteFile, find
from distaff.data.dataset import Dataset, grid
from distaff.data.images import ByteImages
from distaff.foundation.errors import DistaffError, whole
from distaff.foundation.untrusted_files import open_npz

NAMES = ("identity", "azimuth", "elevation", "lighting")
ABOUT = About(
    summary="Grey renderings of the Basel face model, 64×64: identity, azimuth, elevation, lighting.",
    source="https://faces.dmi.unibas.ch/bfm/",
    licence="non-commercial; see the source",
    citation="Paysan, Knothe, Amberg, Romdhani & Vetter (2009), A 3D face model for pose and illumination",
    count=127_050,
    shape=(1, 64, 64),
    factors=dict(zip(NAMES, (50, 21, 11, 11), strict=True)),
    files=(RemoteFile("basel_face_renders.pth"),),
)


def load(file: str | Path | None = None, resize: int = 64) -> Dataset:
    """3D Faces from an array over identity × azimuth × elevation × lighting, or from plain images.

    Args:
        file: ``basel_face_renders.pth`` (a tensor of bytes (50, 21, 11, 11, 64, 64)), an ``.npz`` with such
            ``images`` or with (N, H, W) and optionally ``factors``, or a folder of images.
        resize: pixels per side to which the images of a folder are scaled.
    """
    place = Path(file) if file is not None else None
    if place is None or not place.is_dir():
        place = find("faces3d", ABOUT, place, "basel_face_renders.pth", "faces3d.npz", "images")
    if place.is_dir():
        return folders.load(place, resize=resize)
    if place.suffix == ".npz":
        with open_npz(place) as archive:
            if len(archive.shape("images")) != 6:
                return arrays.load(place)
            images = archive.array("images")
    else:
        images = _tensor(place).numpy()
    if images.ndim != 6 or images.dtype != np.uint8 or 0 in images.shape:
        raise DistaffError(
            f"{place} holds {images.dtype} {images.shape}, not bytes over identity × azimuth × elevation"
            " × lighting × rows × columns."
        )
    sizes = images.shape[:4]
    pixels = ByteImages(images.reshape(-1, 1, *images.shape[4:]))
    return Dataset(pixels, grid(sizes), NAMES, sizes, name="faces3d")


def _tensor(path: Path) -> torch.Tensor:
    with whole(path, "saved tensor"):
        tensor = torch.load(path, map_location="cpu", weights_only=True)
    if not isinstance(tensor, torch.Tensor):
        raise DistaffError(f"{path} holds a {type(tensor).__name__}, not a tensor of images.")
    return tensor
