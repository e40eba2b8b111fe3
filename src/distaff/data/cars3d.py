"""Cars3D: 183 cars, each rendered from 24 azimuths and 4 elevations."""

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from distaff.data.about import About, RemoteFile, find, folder_of
from distaff.data.cache import cached, hash_of
from distaff.data.dataset import Dataset, grid
from distaff.data.images import ByteImages
from distaff.data.reading import short_hash
from distaff.foundation.errors import DistaffError, whole
from distaff.foundation.progress import progress

NAMES, CARS = ("elevation", "azimuth", "car"), 183
ABOUT = About(
    summary="17,568 renderings of 183 cars in colour, scaled to 64×64: elevation, azimuth, car.",
    source="http://www.scottreed.info/",
    licence="see the source",
    citation="Reed, Zhang, Zhang & Lee (2015), Deep visual analogy-making",
    count=17_568,
    shape=(3, 64, 64),
    factors=dict(zip(NAMES, (4, 24, CARS), strict=True)),
    files=(
        RemoteFile(
            "nips2015-analogy-data.tar.gz",
            "http://www.scottreed.info/files/",
            "md5:4e866a7919c1beedf53964e6f7a23686",
        ),
    ),
)
MESH = (128, 128, 3, 24, 4)
"""The shape of one file: rows, columns, colours, azimuths, elevations."""


def load(file: str | Path | None = None) -> Dataset:
    """Cars3D in the order of Locatello et al. (2019): elevation, then azimuth, then car.

    Args:
        file: ``nips2015-analogy-data.tar.gz``, or a folder with ``car_NNN_mesh.mat`` files in or below it.
    """
    place = folder_of("cars3d") if file is None else Path(file)
    folder = sorted(place.rglob("car_*_mesh.mat")) if place.is_dir() else []
    if folder:
        facts = [f"{path.name} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in folder]
        state, meshes = short_hash(str(place.resolve()), *facts), _from_folder(folder)
    else:
        archive = find("cars3d", ABOUT, file, ABOUT.files[0].name)
        state, meshes = hash_of(archive)[:16], _from_tar(archive)
    sizes = (4, 24, CARS)

    def build(images: NDArray[Any]) -> None:
        pixels = images.reshape(*sizes, 64, 64, 3)
        count = 0
        for label, data in progress(meshes, "reading Cars3D", CARS):
            if count < CARS:
                pixels[:, :, count] = _views(label, data)
            count += 1
        if count != CARS:
            raise DistaffError(f"{place} holds {count} files car_NNN_mesh.mat, not {CARS}: fetch it again.")

    images = cached(f"cars3d-{state}", (4 * 24 * CARS, 64, 64, 3), build)
    return Dataset(ByteImages(images, channels_last=True), grid(sizes), NAMES, sizes, name="cars3d")


def _from_folder(paths: list[Path]) -> Iterator[tuple[str, bytes]]:
    for path in paths:
        with whole(path, "MATLAB file"):
            content = path.read_bytes()
        yield str(path), content


def _from_tar(path: Path) -> Iterator[tuple[str, bytes]]:
    found = {}
    with whole(path, "tar archive"), tarfile.open(path) as archive:
        for info in archive:
            name = info.name.rpartition("/")[2]
            if info.isfile() and name.startswith("car_") and name.endswith("_mesh.mat"):
                file = archive.extractfile(info) if info.size < 1 << 28 else None
                found[name] = b"" if file is None else file.read()
    yield from sorted(found.items())


def _views(label: str, data: bytes) -> NDArray[np.uint8]:
    """The images (4, 24, 64, 64, 3) of one car."""
    from scipy.io import loadmat, whosmat

    stream: Any = io.BytesIO(data)
    with whole(label, "MATLAB file"):
        if ("im", MESH, "uint8") not in whosmat(stream):
            raise DistaffError(f"{label} has no array 'im' of bytes {MESH}: it is not a car of Cars3D.")
        mesh = loadmat(stream, variable_names=["im"])["im"]
    views = np.ascontiguousarray(mesh.transpose(4, 3, 0, 1, 2)).reshape(-1, 128, 128, 3)
    small = [np.asarray(Image.fromarray(view).resize((64, 64), Image.Resampling.LANCZOS)) for view in views]
    return np.stack(small).reshape(4, 24, 64, 64, 3)
