"""Image files in a folder, a zip or a tar: listed, read without unpacking the archive, and decoded."""

import io
import os
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from distaff.data.reading import short_hash
from distaff.foundation.archives import check_packing
from distaff.foundation.errors import DistaffError

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm"})
LARGEST_FILE, LARGEST_IMAGE = 200 << 20, 64_000_000
"""Bytes that one image file may have, and pixels that it may unpack to."""
GREY = frozenset({"1", "L", "LA"})
COLOUR = frozenset({"RGB", "RGBA", "P", "PA", "CMYK", "YCbCr", "HSV", "LAB"})
SHORT = frozenset({"I;16", "I;16B", "I;16L", "I;16N"})
DEEP = frozenset({"I", "F", *SHORT})
"""Grey with more than 8 bits: whole numbers up to 65,535, or any."""
Fit = Literal["squash", "crop", "pad"]
CHANNELS = {"L": 1, "RGB": 3, "RGBA": 4, "F": 1}
ENOUGH = 4
"""Pixels that are decoded for each one that is wanted, along a side."""
ORIENTATION = 0x0112
"""The tag by which a camera says how it was held."""
TURNED = frozenset({5, 6, 7, 8})
"""Its values for pictures that lie on their side."""


@dataclass(frozen=True)
class Pictures:
    """Image files by name.

    Args:
        place: the folder or archive.
        names: the files in it, sorted, with ``/`` between folders.
        state: a short hash that changes when a file is added, removed or written again.
        read: gives the bytes of one file.
    """

    place: Path
    names: tuple[str, ...]
    state: str
    read: Callable[[str], bytes]


@contextmanager
def open_pictures(place: Path) -> Iterator[Pictures]:
    """The image files in a folder (with its sub-folders), a ``.zip`` or a ``.tar``; or one image alone."""
    try:
        if place.is_dir():
            yield _folder(place)
        elif place.suffix.lower() in SUFFIXES and place.is_file():
            yield _file(place)
        elif zipfile.is_zipfile(place):
            with zipfile.ZipFile(place) as archive:
                yield _zip(place, archive)
        elif place.is_file():
            with place.open("rb") as file:
                zipped = file.read(2) == b"\x1f\x8b"
            with tarfile.open(place, "r:gz" if zipped else "r:") as bundle:
                yield _tar(place, bundle)
        else:
            raise DistaffError(f"there is no file or folder {place}.")
    except DistaffError:
        raise
    except Exception as problem:  # readers fed damaged bytes raise whatever they happen to meet
        raise DistaffError(
            f"{place} cannot be read as a folder, zip or tar of images ({problem})."
        ) from problem


def decode(
    data: bytes,
    label: str,
    mode: str,
    size: tuple[int, int] | None = None,
    crop: int | None = None,
    fit: Fit = "squash",
) -> NDArray[Any]:
    """One image (H, W, C), upright: uint8, or float32 where the mode is ``"F"``.

    Args:
        data: the file.
        label: what a message calls it.
        mode: ``"L"`` (grey), ``"RGB"``, ``"RGBA"`` or ``"F"`` (grey, in the file's own numbers).
        size: scale to this (height, width).
        crop: first cut a square of this many pixels per side out of the middle.
        fit: what to do where the proportions differ, see ``fitted``.
    """
    with _opened(data, label) as image:
        if (image.mode in DEEP) != (mode == "F"):
            kind, wanted = ("more than 8 bits", "8") if image.mode in DEEP else ("8 bits", "more")
            raise DistaffError(
                f"{label} has {kind} per pixel but the other images have {wanted}: convert it."
            )
        if size is not None and crop is None:
            _halve(image, ENOUGH * max(size))
        turned = upright(image)
        picture = _in_floats(turned) if mode == "F" else turned.convert(mode)
        if crop is not None:
            left, top = (picture.width - crop) // 2, (picture.height - crop) // 2
            picture = picture.crop((left, top, left + crop, top + crop))
        if size is not None:
            picture = fitted(picture, size, fit)
        return np.asarray(picture).reshape(picture.height, picture.width, -1)


def fitted(picture: Image.Image, size: tuple[int, int], fit: Fit = "squash") -> Image.Image:
    """A picture scaled to (height, width).

    Where the proportions differ, ``"squash"`` stretches it, ``"crop"`` keeps the middle and cuts off what
    stands over, ``"pad"`` keeps all of it with black beside it.
    """
    target = size[::-1]
    if picture.size == target:
        return picture
    if fit == "squash":
        return picture.resize(target, Image.Resampling.LANCZOS)
    how = ImageOps.fit if fit == "crop" else ImageOps.pad
    return how(picture, target, Image.Resampling.LANCZOS)


def _halve(image: Image.Image, side: int) -> None:
    """Let a JPEG file be decoded at a half, a quarter or an eighth, with so many pixels along each side left.

    Its decoder averages then as it goes: a photograph of 12 million pixels is brought to 64×64 in an eighth
    of the time, and no pixel of it is another by more than a grey level or two.
    """
    if image.format in ("JPEG", "MPO") and min(image.size) >= 2 * side:
        image.draft(None, (side, side))


def upright(picture: Image.Image) -> Image.Image:
    """A photograph as it is looked at, whichever way the camera was held."""
    return picture if _orientation(picture) == 1 else ImageOps.exif_transpose(picture)


def _orientation(picture: Image.Image) -> int:
    """How a camera was held; 1, upright, where the header does not say. TIFF files are turned by Pillow."""
    if "exif" not in picture.info:
        return 1
    try:
        value = picture.getexif().get(ORIENTATION, 1)
    except Exception:  # notes of a camera that are damaged, beside pixels that may be whole
        return 1
    return int(value) if value in range(1, 9) else 1


def _in_floats(image: Image.Image) -> Image.Image:
    return Image.fromarray(np.asarray(image).astype(np.float32))


def kind_of(data: bytes, label: str) -> tuple[str, tuple[int, int]]:
    """The kind of pixels and the size (height, width) of an upright image, from its header.

    The kind is ``"L"`` (grey), ``"RGB"``, ``"RGBA"``, ``"I;16"`` (16 bits), ``"I"`` or ``"F"`` (any
    whole numbers, any numbers).
    """
    with _opened(data, label) as image:
        kinds = {"RGBA": "RGBA", **dict.fromkeys(GREY, "L"), **dict.fromkeys(SHORT, "I;16")}
        kinds |= {"I": "I", "F": "F"}
        size = (image.height, image.width)
        return kinds.get(image.mode, "RGB"), size[::-1] if _orientation(image) in TURNED else size


@contextmanager
def _opened(data: bytes, label: str) -> Iterator[Image.Image]:
    try:
        with Image.open(io.BytesIO(data)) as image:
            if image.width * image.height > LARGEST_IMAGE:
                raise DistaffError(
                    f"{label} unpacks to {image.width}×{image.height} pixels, too many to accept."
                )
            if image.mode not in GREY | COLOUR | DEEP:
                raise DistaffError(
                    f"{label} has pixels of kind {image.mode}: convert it to 8-bit grey or RGB."
                )
            yield image
    except DistaffError:
        raise
    except Exception as problem:  # a decoder fed damaged bytes raises whatever it happens to meet
        why = "it is of no kind that is known" if isinstance(problem, UnidentifiedImageError) else problem
        raise DistaffError(f"{label} does not decode as an image ({why}).") from problem


def _folder(place: Path) -> Pictures:
    return _pictures(place, _files_below(str(place), ""), lambda name: _read_file(place / name))


def _files_below(folder: str, prefix: str) -> Iterator[tuple[str, str]]:
    """The image files of a folder and its sub-folders, each with its state.

    Without ``pathlib``, which takes three times as long: there may be millions.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _files_below(entry.path, f"{prefix}{entry.name}/")
            elif os.path.splitext(entry.name)[1].lower() in SUFFIXES and entry.is_file():
                yield prefix + entry.name, _state(entry.stat())


def _file(place: Path) -> Pictures:
    return _pictures(place.parent, [(place.name, _state(place.stat()))], lambda name: _read_file(place))


def _state(stat: os.stat_result) -> str:
    return f"{stat.st_size} {stat.st_mtime_ns}"


def _read_file(path: Path) -> bytes:
    _check_size(path.stat().st_size)
    return path.read_bytes()


def _zip(place: Path, archive: zipfile.ZipFile) -> Pictures:
    members = {info.filename: info for info in archive.infolist() if _is_picture(place, info.filename)}
    for info in members.values():
        check_packing(place, info)

    def read(name: str) -> bytes:
        _check_size(members[name].file_size)
        return archive.read(members[name])

    listed = ((name, f"{info.CRC} {info.file_size}") for name, info in members.items())
    return _pictures(place, listed, read)


def _tar(place: Path, bundle: tarfile.TarFile) -> Pictures:
    members = {info.name: info for info in bundle if info.isfile() and _is_picture(place, info.name)}

    def read(name: str) -> bytes:
        _check_size(members[name].size)
        file = bundle.extractfile(members[name])
        return b"" if file is None else file.read()

    return _pictures(place, ((name, f"{info.size} {info.mtime}") for name, info in members.items()), read)


def _pictures(place: Path, listed: Iterable[tuple[str, str]], read: Callable[[str], bytes]) -> Pictures:
    """Files by name, each listed with a text that changes when it is written again.

    A text each is all that is held of a file meanwhile: there may be millions.
    """
    lines = sorted(f"{name}\0{state}" for name, state in listed)
    names = tuple(line.partition("\0")[0] for line in lines)
    facts = (line.replace("\0", " ", 1) for line in lines)

    def checked(name: str) -> bytes:
        try:
            return read(name)
        except DistaffError as problem:
            raise DistaffError(f"{name} {problem}") from problem
        except Exception as problem:  # a damaged member fails in zlib, in its checksum or in its header
            raise DistaffError(f"{name} in {place} cannot be read ({problem}).") from problem

    # What was decoded before pictures were turned upright is decoded again.
    return Pictures(place, names, short_hash("upright", str(place.resolve()), lines=facts), checked)


def _check_size(size: int) -> None:
    if size > LARGEST_FILE:
        raise DistaffError(f"has {size:,} bytes, too many to accept of one image.")


def _is_picture(place: Path, name: str) -> bool:
    """Whether an archive's entry is an image; an entry that points outside the archive is refused."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or (path.parts and path.parts[0].endswith(":")):
        raise DistaffError(f"{place} holds the entry {name!r}, which points outside of it: it is not opened.")
    return path.suffix.lower() in SUFFIXES and not path.name.startswith("._")
