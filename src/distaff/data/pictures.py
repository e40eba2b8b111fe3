"""Image files in a folder, a zip or a tar: list, read without unpacking the archive, and decode them."""

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
from distaff.foundation.errors import DistaffError
from distaff.foundation.untrusted_files import check_packing

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm"})
LARGEST_FILE, LARGEST_IMAGE = 200 << 20, 64_000_000
"""Maximum size of an image file in bytes, and of a decoded image in pixels."""
GREY = frozenset({"1", "L", "LA"})
COLOUR = frozenset({"RGB", "RGBA", "P", "PA", "CMYK", "YCbCr", "HSV", "LAB"})
SHORT = frozenset({"I;16", "I;16B", "I;16L", "I;16N"})
APPLE_DOUBLE = "._"
"""The beginning of names that macOS gives to what it writes beside copied files; these are no images."""
DEEP = frozenset({"I", "F", *SHORT})
"""Grey with more than 8 bits: integers up to 65,535, or any numbers."""
Fit = Literal["squash", "crop", "pad"]
CHANNELS = {"L": 1, "RGB": 3, "RGBA": 4, "F": 1}
ENOUGH = 4
"""Minimum number of decoded pixels per output pixel, along a side."""
ORIENTATION = 0x0112
"""The EXIF tag for the orientation of the camera."""
TURNED = frozenset({5, 6, 7, 8})
"""Its values for pictures that lie on their side."""


@dataclass(frozen=True)
class Pictures:
    """Image files by name.

    Args:
        place: the folder or archive.
        names: the files in it, sorted, with ``/`` between folders.
        state: a short hash that changes when a file is added, removed or rewritten.
        read: returns the bytes of one file.
    """

    place: Path
    names: tuple[str, ...]
    state: str
    read: Callable[[str], bytes]


@contextmanager
def open_pictures(place: Path) -> Iterator[Pictures]:
    """Open the image files in a folder (with its sub-folders), a ``.zip`` or a ``.tar``, or a single one."""
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
    except Exception as problem:  # on damaged bytes, readers can raise anything
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
    """Decode one image to (H, W, C), upright: uint8, or float32 if the mode is ``"F"``.

    Args:
        data: the content of the file.
        label: the name of the file in messages.
        mode: ``"L"`` (grey), ``"RGB"``, ``"RGBA"`` or ``"F"`` (grey, in the file's own numbers).
        size: (height, width) to scale to.
        crop: side in pixels of a square to cut from the middle first.
        fit: how to fit images of other proportions, see ``fitted``.
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

    If the proportions differ, ``"squash"`` stretches it, ``"crop"`` keeps the middle and cuts off the rest,
    ``"pad"`` keeps all of it and adds black borders.
    """
    target = size[::-1]
    if picture.size == target:
        return picture
    if fit == "squash":
        return picture.resize(target, Image.Resampling.LANCZOS)
    how = ImageOps.fit if fit == "crop" else ImageOps.pad
    return how(picture, target, Image.Resampling.LANCZOS)


def _halve(image: Image.Image, side: int) -> None:
    """Let a JPEG file be decoded at 1/2, 1/4 or 1/8 of its size, with at least ``side`` pixels per side left.

    The decoder then averages pixels: a photograph of 12 million pixels is scaled to 64×64 in an eighth of the
    time, and no pixel differs by more than a grey level or two.
    """
    if image.format in ("JPEG", "MPO") and min(image.size) >= 2 * side:
        image.draft(None, (side, side))


def upright(picture: Image.Image) -> Image.Image:
    """A photograph turned upright, however the camera was held."""
    return picture if _orientation(picture) == 1 else ImageOps.exif_transpose(picture)


def _orientation(picture: Image.Image) -> int:
    """The orientation of the camera; 1 (upright) if the header has none. Pillow turns TIFF files itself."""
    if "exif" not in picture.info:
        return 1
    try:
        value = picture.getexif().get(ORIENTATION, 1)
    except Exception:  # damaged metadata; the pixels may be intact
        return 1
    return int(value) if value in range(1, 9) else 1


def _in_floats(image: Image.Image) -> Image.Image:
    return Image.fromarray(np.asarray(image).astype(np.float32))


def kind_of(data: bytes, label: str) -> tuple[str, tuple[int, int]]:
    """The kind of pixels and the size (height, width) of an upright image, from its header.

    The kind is ``"L"`` (grey), ``"RGB"``, ``"RGBA"``, ``"I;16"`` (16 bits), ``"I"`` or ``"F"`` (any
    integers, any numbers).
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
    except Exception as problem:  # on damaged bytes, a decoder can raise anything
        why = "it is of no kind that is known" if isinstance(problem, UnidentifiedImageError) else problem
        raise DistaffError(f"{label} does not decode as an image ({why}).") from problem


def _folder(place: Path) -> Pictures:
    return _pictures(place, _files_below(str(place), ""), lambda name: _read_file(place / name))


def _files_below(folder: str, prefix: str) -> Iterator[tuple[str, str]]:
    """The image files of a folder and its sub-folders, each with its state.

    Without ``pathlib``, which takes three times as long: there may be millions of files.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _files_below(entry.path, f"{prefix}{entry.name}/")
            elif os.path.splitext(entry.name)[1].lower() not in SUFFIXES or entry.name.startswith(
                APPLE_DOUBLE
            ):
                continue
            elif entry.is_file():
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
    """Files by name, each listed with a text that changes when the file is rewritten.

    Only this text is kept in memory per file, since there may be millions.
    """
    lines = sorted(f"{name}\0{state}" for name, state in listed)
    names = tuple(line.partition("\0")[0] for line in lines)
    facts = (line.replace("\0", " ", 1) for line in lines)

    def checked(name: str) -> bytes:
        try:
            return read(name)
        except DistaffError as problem:
            raise DistaffError(f"{name} {problem}") from problem
        except Exception as problem:  # a damaged member can fail in zlib, in its checksum or in its header
            raise DistaffError(f"{name} in {place} cannot be read ({problem}).") from problem

    # "upright" invalidates caches of versions that did not turn pictures upright.
    return Pictures(place, names, short_hash("upright", str(place.resolve()), lines=facts), checked)


def _check_size(size: int) -> None:
    if size > LARGEST_FILE:
        raise DistaffError(f"has {size:,} bytes, too many to accept of one image.")


def _is_picture(place: Path, name: str) -> bool:
    """Whether an entry of an archive is an image; an error for one that points outside the archive."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or (path.parts and path.parts[0].endswith(":")):
        raise DistaffError(f"{place} holds the entry {name!r}, which points outside of it: it is not opened.")
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(APPLE_DOUBLE)
