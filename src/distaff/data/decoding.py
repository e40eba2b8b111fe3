"""Decode many image files once, into one memory-mapped array."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distaff.data.cache import cached
from distaff.data.images import IntArray
from distaff.data.pictures import CHANNELS, Fit, Pictures, decode
from distaff.data.reading import short_hash
from distaff.foundation.errors import DistaffError
from distaff.foundation.files import write_json
from distaff.foundation.places import cache_folder
from distaff.foundation.progress import progress
from distaff.foundation.untrusted_files import read_json


def decoded(
    pictures: Pictures,
    names: Sequence[str],
    mode: str,
    size: tuple[int, int],
    crop: int | None = None,
    skip_bad: bool = False,
    fit: Fit = "squash",
) -> tuple[NDArray[Any], IntArray]:
    """The named images as (N, H, W, C) from the cache, and the rows of those that decoded.

    Args:
        pictures: the folder or archive.
        names: the files to decode, in this order.
        mode: ``"L"``, ``"RGB"``, ``"RGBA"`` or ``"F"``.
        size: the (height, width) to scale to.
        crop: side in pixels of a square to cut from the middle first.
        skip_bad: leave files that do not decode black and exclude them from the rows, instead of stopping.
        fit: how to fit images of other proportions.
    """
    how = f"{pictures.state} {mode} {size} {crop} {skip_bad}" + ("" if fit == "squash" else f" {fit}")
    key = short_hash(how, lines=names)
    memory = cache_folder() / f"pictures-{key}.json"

    def build(images: NDArray[Any]) -> None:
        bad = []
        for row, name in enumerate(progress(names, f"decoding {pictures.place.name}")):
            try:
                images[row] = decode(pictures.read(name), f"{pictures.place}/{name}", mode, size, crop, fit)
            except DistaffError as problem:
                if not skip_bad:
                    raise or_skip(problem) from problem
                bad.append(row)
        write_json(memory, bad)

    dtype = np.float32 if mode == "F" else np.uint8
    images = cached(f"pictures-{key}", (len(names), *size, CHANNELS[mode]), build, dtype)
    good = np.ones(len(names), bool)
    if skip_bad:
        bad = read_json(memory)
        if not isinstance(bad, list) or not all(type(row) is int and 0 <= row < len(names) for row in bad):
            raise DistaffError(f"the cache {memory} is damaged: remove it.")
        good[bad] = False
    return images, np.flatnonzero(good)


def or_skip(problem: DistaffError) -> DistaffError:
    """The same error, with advice on how to skip such files."""
    return DistaffError(f"{str(problem).rstrip('.')}: remove it, or leave such files out with --skip-bad.")
