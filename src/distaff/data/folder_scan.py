"""Inspect the headers of image files before any of them is decoded."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from distaff.data.cache import writing
from distaff.data.decoding import or_skip
from distaff.data.images import Scaled
from distaff.data.pictures import CHANNELS, DEEP, SUFFIXES, Pictures, kind_of, open_pictures
from distaff.data.reading import short_hash
from distaff.foundation.errors import DistaffError
from distaff.foundation.files import write_json
from distaff.foundation.places import cache_folder
from distaff.foundation.progress import progress
from distaff.foundation.untrusted_files import read_json

WORDS = {"F": " (floats)", "I": " (whole numbers of 32 bits)"}
"""Explanations of Pillow's names of pixel types."""
Colours = Literal["auto", "grey", "rgb", "rgba"]
Kind = tuple[str, tuple[int, int]]
"""The pixel type of a file, and its (height, width)."""


@dataclass(frozen=True)
class Scan:
    """The result of inspecting the headers of images.

    Args:
        names: the files to use.
        mode: the mode they are decoded to.
        size: their (height, width).
        short: whether all have 16 bits.
        proportions: whether some have other proportions than the size they are scaled to.
        other: a description of the first file of another size.
        deep: a description of the first file with more than 8 bits.
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
    """The (C, H, W) of the images that ``load`` returns with the same arguments, without decoding them."""
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
    """The files to use, their mode and their size; cached, since reading every header takes a while."""
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
    with writing(memory):
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
    """The mode of the model's images; a model of arrays takes files with the same number of channels."""
    deep = [name for name, (kind, _) in kinds.items() if kind in DEEP]
    if len(deep) == len(kinds) and like.shape[0] != 1:
        raise DistaffError(
            f"{deep[0]} is grey with more than 8 bits per pixel, but the model was trained on colours: "
            "convert such files to 8 bits."
        )
    return "F" if deep and like.shape[0] == 1 else {1: "L", 3: "RGB", 4: "RGBA"}.get(like.shape[0], like.mode)


def _common_size(kinds: dict[str, Kind]) -> tuple[int, int]:
    (first, (_, size)), *others = kinds.items()
    for name, (_, other) in others:
        if other != size:
            raise DistaffError(
                f"{name} is {other[1]}×{other[0]} but {first} is {size[1]}×{size[0]}:"
                " scale them to one size with --resize 64."
            )
    return size
