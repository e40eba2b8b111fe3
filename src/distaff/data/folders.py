"""A folder of images of your own, decoded once into a memory-mapped cache."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from distaff.data.cache import cached
from distaff.data.dataset import Dataset
from distaff.data.images import ByteImages
from distaff.data.progress import progress
from distaff.errors import DistaffError

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm"})
LARGEST_IMAGE = 64_000_000
"""Pixels that one image file may unpack to."""
GREY, COLOUR = (
    frozenset({"1", "L", "LA"}),
    frozenset({"RGB", "RGBA", "P", "CMYK", "YCbCr", "PA", "HSV", "LAB"}),
)


def load(folder: str | Path, resize: int | None = None, skip_bad: bool = False) -> Dataset:
    """The images below ``folder`` in the order of their names, grey if all of them are, else RGB.

    Args:
        folder: where to look, sub-folders included.
        resize: scale every image to this many pixels a side; without it all must have one size.
        skip_bad: leave out files that do not decode, instead of stopping at the first.
    """
    path = Path(folder)
    if not path.is_dir():
        raise DistaffError(f"there is no folder {path}.")
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
    headers = [(file, header) for file in files if (header := _header(file, skip_bad)) is not None]
    if not headers:
        raise DistaffError(f"{path} holds no images ({', '.join(sorted(SUFFIXES))}).")
    files = [file for file, _ in headers]
    height, width = _common_size(headers) if resize is None else (resize, resize)
    mode = "L" if all(mode in GREY for _, (mode, _) in headers) else "RGB"

    def decode_all(images: NDArray[Any]) -> None:
        for image, file in zip(images, progress(files, f"decoding {path.name}"), strict=True):
            image[...] = decode(file, mode, (height, width))

    shape = (len(files), height, width, len(mode) if mode == "RGB" else 1)
    images = cached(f"folder-{_state(path, files, shape)}", shape, decode_all)
    return Dataset(ByteImages(images, channels_last=True), name=path.name)


def decode(file: Path, mode: str, size: tuple[int, int]) -> NDArray[np.uint8]:
    """One image as uint8 (H, W, C), scaled to ``size`` (height, width) where it differs."""
    try:
        with Image.open(file) as image:
            _check_pixels(file, image)
            picture = image.convert(mode)
            if picture.size != size[::-1]:
                picture = picture.resize(size[::-1], Image.Resampling.LANCZOS)
            return np.asarray(picture).reshape(*size, -1)
    except DistaffError:
        raise
    except Exception as problem:  # a decoder fed damaged bytes raises whatever it happens to meet
        raise DistaffError(f"{file} does not decode as an image ({problem}).") from problem


def _header(file: Path, skip_bad: bool) -> tuple[str, tuple[int, int]] | None:
    """The mode and the size (height, width) of an image file; ``None`` for a bad one that may be skipped."""
    try:
        with Image.open(file) as image:
            _check_pixels(file, image)
            if image.mode not in GREY | COLOUR:
                raise DistaffError(
                    f"{file} has pixels of kind {image.mode}: convert it to 8-bit grey or RGB."
                )
            if skip_bad:
                image.load()
            return image.mode, image.size[::-1]
    except Exception as problem:  # a decoder fed damaged bytes raises whatever it happens to meet
        if skip_bad:
            return None
        if isinstance(problem, DistaffError):
            raise
        raise DistaffError(
            f"{file} does not decode as an image ({problem}): remove it, or skip such files with --skip-bad."
        ) from problem


def _check_pixels(file: Path, image: Image.Image) -> None:
    if image.width * image.height > LARGEST_IMAGE:
        raise DistaffError(f"{file} unpacks to {image.width}×{image.height} pixels, more than is accepted.")


def _common_size(headers: list[tuple[Path, tuple[str, tuple[int, int]]]]) -> tuple[int, int]:
    first, (_, size) = headers[0]
    for file, (_, other) in headers:
        if other != size:
            raise DistaffError(
                f"{file} is {other[1]}×{other[0]} but {first.name} is {size[1]}×{size[0]}:"
                " scale them to one size with --resize."
            )
    return size


def _state(folder: Path, files: list[Path], shape: tuple[int, ...]) -> str:
    """A short hash that changes when a file is added, removed or written again."""
    digest = hashlib.sha256(f"{folder.resolve()} {shape}".encode())
    for file in files:
        stat = file.stat()
        digest.update(f"{file.relative_to(folder)} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]
