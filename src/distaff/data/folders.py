"""Images of your own in a folder, zip or tar, decoded once into a memory-mapped cache."""

import csv
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from distaff.data.arrangements import Scaled
from distaff.data.dataset import Dataset
from distaff.data.decoding import decoded, or_skip
from distaff.data.images import ByteImages, Images, ScaledImages
from distaff.data.labels import with_factors
from distaff.data.pictures import CHANNELS, DEEP, SUFFIXES, Fit, Pictures, kind_of, open_pictures
from distaff.data.ranges import extremes, find_range
from distaff.data.reading import short_hash
from distaff.foundation.errors import DataNotice, DistaffError, said
from distaff.foundation.files import cache_folder, read_json, write_json
from distaff.foundation.progress import progress

WORDS = {"F": " (floats)", "I": " (whole numbers of 32 bits)"}
"""What Pillow's names of pixels mean."""
NAMED = 3
"""Files left out that a sentence names."""
WHITE, DARK = 65535.0, 8
"""Of images of 16 bits; those whose brightest pixel is below this part of white are dark."""
Colours = Literal["auto", "grey", "rgb", "rgba"]
Kind = tuple[str, tuple[int, int]]
"""What pixels a file has, and its (height, width)."""


def load(
    folder: str | Path,
    labels: str | Path | None = None,
    resize: int | None = None,
    skip_bad: bool = False,
    fit: Fit | None = None,
    range: str | None = None,
    colours: Colours = "auto",
    like: Scaled | None = None,
) -> Dataset:
    """The images below ``folder`` in the order of their names, grey if all of them are, else RGB.

    Args:
        folder: where to look, sub-folders included; a zip or tar of images, or one image, will do.
        labels: ``"folders"`` makes the sub-folder's name a factor; a CSV file, with a heading, gives the
            images' names in its first column and a factor in each other.
        resize: scale every image to this many pixels per side; without it all must have one size.
        skip_bad: leave out files that do not decode, instead of stopping at the first.
        fit: what to do where an image is not square: ``"crop"`` keeps its middle, ``"pad"`` keeps all of it
            with black beside it, ``"squash"`` stretches it, as is done by default.
        range: which values are black and white, for images of 16 bits or of floats: ``min-max``,
            ``percentiles:1:99``, ``signed`` (−1 to 1) or ``0:4095``.
        colours: ``"grey"``, ``"rgb"`` or ``"rgba"``, to have them so whatever they are.
        like: how the images of a trained model were brought in, to bring these in alike.
    """
    place = Path(folder)
    with open_pictures(place) as pictures:
        found = scan(pictures, resize, skip_bad, colours, like)
        how = fit or (like.fit if like is not None else None)
        if like is None and how is None and resize is not None:
            how = "squash"
            if found.proportions:
                warn_of_squashing(resize)
        if like is not None and how is None and found.other is not None:
            raise DistaffError(
                f"{found.other}, but the model was trained on images of {found.size[1]}×{found.size[0]}: say "
                "how to bring them there with --fit crop, --fit pad or --fit squash."
            )
        size, ways = found.size, how or "squash"
        images, good = decoded(pictures, found.names, found.mode, size, skip_bad=skip_bad, fit=ways)
    names = found.names
    stored, arrangement = _stored(images, found, range, how, like, place.name)
    files = np.array([str(PurePosixPath(name)) for name in names], np.str_)
    data = Dataset(stored, name=place.stem, arrangement=arrangement, row_names=files)
    if skip_bad:
        data, names = data.subset(good), [names[row] for row in good]
        _warn_of_bad(place, sorted({*pictures.names} - {*names}), len(pictures.names))
    if labels is None:
        return data
    if labels == "folders":
        return with_factors(data, [[_sub_folder(name) for name in names]], ["folder"])
    return with_factors(data, *_table(Path(labels), names))


def _stored(
    images: NDArray[Any], found: "Scan", text: str | None, fit: Fit | None, like: Scaled | None, name: str
) -> tuple[Images, Scaled]:
    """Decoded images as the model sees them, and what was done to them."""
    shape = (CHANNELS[found.mode], *found.size)
    if like is not None:
        low, high, told = like.low, like.high, like.told
        if found.mode != "F" and not told:
            low, high = 0.0, 255.0
    else:
        told = text is not None
        low, high = _range(images, found, text, name)
    how = Scaled(shape, low, high, fit, found.mode, told)
    if found.mode != "F" and (low, high) == (0, 255):
        return ByteImages(images, channels_last=True), how
    return ScaledImages(images, low, high, channels_last=True), how


def _range(images: NDArray[Any], found: "Scan", text: str | None, name: str) -> tuple[float, float]:
    if text is not None:
        return find_range(text, images, name)
    if found.mode != "F":
        return 0.0, 255.0
    if found.short:
        _, brightest = extremes(images, name)
        if brightest < WHITE / DARK:
            text = (
                f"the brightest pixel of {name} is {brightest:g} of {WHITE:g}, so that all images are dark: "
                f"--range min-max, or --range=0:{brightest:g}, makes it white."
            )
            warnings.warn(said(text), DataNotice, stacklevel=2)
        return 0.0, WHITE
    low, high = extremes(images, name)
    if low < 0 or high > 1:
        raise DistaffError(
            f"{found.deep}, and the images run from {low:g} to {high:g}: say what is black and white, as in "
            f"--range min-max, --range percentiles or --range={low:g}:{high:g}."
        )
    return 0.0, 1.0


@dataclass(frozen=True)
class Scan:
    """What the headers of images say.

    Args:
        names: the files to use.
        mode: what they are decoded to.
        size: their (height, width).
        short: whether all have 16 bits.
        proportions: whether some are not of the proportions that they are scaled to.
        other: what the first file of another size is, in words.
        deep: what the first file of more than 8 bits is, in words.
    """

    names: list[str]
    mode: str
    size: tuple[int, int]
    short: bool = False
    proportions: bool = False
    other: str | None = None
    deep: str | None = None


def shape_of(
    folder: str | Path,
    resize: int | None = None,
    skip_bad: bool = False,
    colours: Colours = "auto",
    **_: Any,
) -> tuple[int, int, int]:
    """The (C, H, W) that ``load`` with the same arguments gives images, before any of them is decoded."""
    with open_pictures(Path(folder)) as pictures:
        found = scan(pictures, resize, skip_bad, colours)
    return (CHANNELS[found.mode], *found.size)


def scan(
    pictures: Pictures,
    resize: int | None,
    skip_bad: bool,
    colours: Colours = "auto",
    like: Scaled | None = None,
) -> Scan:
    """The files to use, their mode and their size; remembered, because looking into each takes a while."""
    size = like.shape[1:] if like is not None else None
    how = f"{pictures.state} {resize} {skip_bad} {colours} {size} {like and like.mode}"
    memory = cache_folder() / f"looked-into-{short_hash(how)}.json"
    try:
        bad, mode, (height, width), *facts = read_json(memory)
        if (
            mode in CHANNELS
            and type(height) is type(width) is int
            and not set(bad).difference(pictures.names)
        ):
            return Scan(_without(pictures.names, bad), mode, (height, width), *facts)
    except (OSError, ValueError, TypeError):
        pass
    kinds: dict[str, Kind] = {}
    different: dict[Kind, Kind] = {}
    bad = []
    for name in progress(pictures.names, f"looking into {pictures.place.name}"):
        try:
            kind = kind_of(pictures.read(name), f"{pictures.place}/{name}")
            kinds[name] = different.setdefault(kind, kind)  # millions of files share a few
        except DistaffError as problem:
            if not skip_bad:
                raise or_skip(problem) from problem
            bad.append(name)
    if not kinds:
        raise DistaffError(f"{pictures.place} holds no images ({', '.join(sorted(SUFFIXES))}).")
    mode = _mode(kinds, colours, pictures) if like is None else _mode_like(kinds, like)
    if size is None:
        size = _common_size(kinds) if resize is None else (resize, resize)
    height, width = size
    short = all(kind == "I;16" for kind, _ in kinds.values())
    proportions = any(h * width != w * height for _, (h, w) in kinds.values())
    others = (f"{n} is {w}×{h}" for n, (_, (h, w)) in kinds.items() if (h, w) != (height, width))
    deep = (
        f"{n} has pixels of kind {kind}{WORDS.get(kind, '')}"
        for n, (kind, _) in kinds.items()
        if kind in DEEP
    )
    facts = (short, proportions, next(others, None), next(deep, None))
    write_json(memory, [bad, mode, (height, width), *facts])
    return Scan(list(kinds), mode, (height, width), *facts)


def _without(names: Sequence[str], left_out: Sequence[str]) -> list[str]:
    absent = set(left_out)
    return [name for name in names if name not in absent]


def _mode(kinds: dict[str, Kind], colours: Colours, pictures: Pictures) -> str:
    found = {kind: name for name, (kind, _) in kinds.items()}
    deep, shallow = found.keys() & DEEP, found.keys() - DEEP
    if deep and shallow:
        raise DistaffError(
            f"{pictures.place} mixes pixels of 8 bits ({found[min(shallow)]}) and of more "
            f"({found[min(deep)]}): convert them to one kind."
        )
    if deep:
        return "F"
    if colours != "auto":
        return {"grey": "L", "rgb": "RGB", "rgba": "RGBA"}[colours]
    return "L" if found.keys() == {"L"} else "RGB"


def _mode_like(kinds: dict[str, Kind], like: Scaled) -> str:
    """As the model's images were decoded; a model of arrays takes files that have its channels."""
    deep = [name for name, (kind, _) in kinds.items() if kind in DEEP]
    if len(deep) == len(kinds) and like.shape[0] != 1:
        raise DistaffError(
            f"{deep[0]} is grey with more than 8 bits per pixel, but the model was trained on colours: "
            "convert such files to 8 bits."
        )
    return "F" if deep and like.shape[0] == 1 else {1: "L", 3: "RGB", 4: "RGBA"}.get(like.shape[0], like.mode)


def _warn_of_bad(place: Path, bad: list[str], count: int) -> None:
    if bad:
        named = ", ".join(bad[:NAMED]) + (", …" if len(bad) > NAMED else "")
        warnings.warn(
            f"{len(bad):,} of {count:,} images in {place.name} left out, which do not decode: {named}.",
            DataNotice,
            stacklevel=3,
        )


def warn_of_squashing(side: int) -> None:
    """Images of other proportions lose them, which no one should learn from the results."""
    text = (
        f"some images are not square and are squashed to {side}×{side}: --fit crop keeps their middle, "
        "--fit pad keeps all of them, --fit squash silences this."
    )
    warnings.warn(said(text), DataNotice, stacklevel=3)


def _common_size(kinds: dict[str, Kind]) -> tuple[int, int]:
    (first, (_, size)), *others = kinds.items()
    for name, (_, other) in others:
        if other != size:
            raise DistaffError(
                f"{name} is {other[1]}×{other[0]} but {first} is {size[1]}×{size[0]}:"
                " scale them to one size with --resize 64."
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
    columns = {title: _numbers(c) for title, c in zip(heading[1:], zip(*cells, strict=True), strict=True)}
    for title in [title for title, column in columns.items() if _all_different(column)]:
        warnings.warn(
            f"{file}: the column {title!r} is no factor, its texts are all different.",
            DataNotice,
            stacklevel=3,
        )
        del columns[title]
    if not columns:
        raise DistaffError(f"{file} has no column of labels beside the file names.")
    return list(columns.values()), list(columns)


def _all_different(column: NDArray[Any]) -> bool:
    """Whether a column of texts names its rows, as ids and dates do."""
    return column.dtype.kind == "U" and len(column) > 2 and len(np.unique(column)) == len(column)


def _numbers(column: tuple[str, ...]) -> NDArray[Any]:
    try:
        return np.array([float(cell) for cell in column])
    except ValueError:
        return np.array(column)
