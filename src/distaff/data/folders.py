"""Images of your own in a folder, zip or tar, decoded once into a memory-mapped cache."""

import csv
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distaff.data.arrays import with_factors
from distaff.data.dataset import Dataset
from distaff.data.decoding import decoded, or_skip
from distaff.data.images import ByteImages
from distaff.data.pictures import SUFFIXES, Pictures, kind_of, open_pictures
from distaff.data.reading import short_hash
from distaff.foundation.errors import DistaffError
from distaff.foundation.files import cache_folder, read_json, write_json
from distaff.foundation.progress import progress


def load(
    folder: str | Path,
    labels: str | Path | None = None,
    resize: int | None = None,
    skip_bad: bool = False,
) -> Dataset:
    """The images below ``folder`` in the order of their names, grey if all of them are, else RGB.

    Args:
        folder: where to look, sub-folders included; a zip or tar of images will do.
        labels: ``"folders"`` makes the sub-folder's name a factor; a CSV file, with a heading, gives the
            images' names in its first column and a factor in each other.
        resize: scale every image to this many pixels per side; without it all must have one size.
        skip_bad: leave out files that do not decode, instead of stopping at the first.
    """
    place = Path(folder)
    with open_pictures(place) as pictures:
        names, mode, size = _scan(pictures, resize, skip_bad)
        images, good = decoded(pictures, names, mode, size, skip_bad=skip_bad)
    data = Dataset(ByteImages(images, channels_last=True), name=place.stem)
    if skip_bad:
        data, names = data.subset(good), [names[row] for row in good]
    if labels is None:
        return data
    if labels == "folders":
        return with_factors(data, [[_sub_folder(name) for name in names]], ["folder"])
    return with_factors(data, *_table(Path(labels), names))


def _scan(pictures: Pictures, resize: int | None, skip_bad: bool) -> tuple[list[str], str, tuple[int, int]]:
    """The files to use, their mode and their size; remembered, because looking into each takes a while."""
    memory = cache_folder() / f"scan-{short_hash(f'{pictures.state} {resize} {skip_bad}')}.json"
    try:
        names, mode, (height, width) = read_json(memory)
        if mode in ("L", "RGB") and type(height) is type(width) is int and set(names) <= set(pictures.names):
            return names, mode, (height, width)
    except (OSError, ValueError, TypeError):
        pass
    kinds = {}
    for name in progress(pictures.names, f"looking into {pictures.place.name}"):
        try:
            kinds[name] = kind_of(pictures.read(name), f"{pictures.place}/{name}")
        except DistaffError as problem:
            if not skip_bad:
                raise or_skip(problem) from problem
    if not kinds:
        raise DistaffError(f"{pictures.place} holds no images ({', '.join(sorted(SUFFIXES))}).")
    mode = "L" if all(mode == "L" for mode, _ in kinds.values()) else "RGB"
    height, width = _common_size(kinds) if resize is None else (resize, resize)
    write_json(memory, (list(kinds), mode, (height, width)))
    return list(kinds), mode, (height, width)


def _common_size(kinds: dict[str, tuple[str, tuple[int, int]]]) -> tuple[int, int]:
    (first, (_, size)), *others = kinds.items()
    for name, (_, other) in others:
        if other != size:
            raise DistaffError(
                f"{name} is {other[1]}×{other[0]} but {first} is {size[1]}×{size[0]}:"
                " scale them to one size with --resize."
            )
    return size


def _sub_folder(name: str) -> str:
    parent = PurePosixPath(name).parent.name
    if not parent:
        raise DistaffError(
            f"{name} lies in no sub-folder, so its label is unknown: give a CSV file of labels."
        )
    return parent


def _table(file: Path, names: list[str]) -> tuple[list[NDArray[Any]], list[str]]:
    """The columns of factors and their names from a CSV whose first column names the files."""
    try:
        with file.open(newline="", encoding="utf-8") as text:
            heading, *lines = [line for line in csv.reader(text) if line]
    except (OSError, ValueError, csv.Error) as problem:
        raise DistaffError(f"{file} cannot be read as a CSV file with a heading ({problem}).") from problem
    rows = {}
    for line in lines:
        if len(line) != len(heading):
            raise DistaffError(
                f"{file} has {len(line)} columns in the row of {line[0]!r} but {len(heading)} headings."
            )
        rows[line[0]] = line[1:]
    missing = [name for name in names if name not in rows and PurePosixPath(name).name not in rows]
    if missing:
        raise DistaffError(f"{file} has no row for {missing[0]} and {len(missing) - 1} other images.")
    cells = [rows[name if name in rows else PurePosixPath(name).name] for name in names]
    columns = [_numbers(column) for column in zip(*cells, strict=True)]
    if not columns:
        raise DistaffError(f"{file} has no column of labels beside the file names.")
    return columns, heading[1:]


def _numbers(column: tuple[str, ...]) -> NDArray[Any]:
    try:
        return np.array([float(cell) for cell in column])
    except ValueError:
        return np.array(column)
