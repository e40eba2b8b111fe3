"""Your own images in a folder, zip or tar, decoded once into a memory-mapped cache."""

import warnings
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from distaff.data.arrays import with_factors
from distaff.data.dataset import Dataset
from distaff.data.decoding import decoded
from distaff.data.folder_scan import Colours, Scan, scan
from distaff.data.images import ByteImages, Images, Scaled, ScaledImages
from distaff.data.label_tables import label_column, rows_named
from distaff.data.pictures import CHANNELS, Fit, open_pictures
from distaff.data.ranges import extremes, find_range
from distaff.foundation.errors import DataNotice, DistaffError, foreign, said
from distaff.foundation.table_files import UNNAMED, read_csv, ways_to_name

NAMED = 3
"""Maximum number of skipped files that a message names."""
WHITE, DARK = 65535.0, 8
"""White in 16-bit images; they are dark if their brightest pixel is below this fraction (1/8) of it."""
RINGING = 0.25
"""How far beyond black and white scaling may carry the pixels at an edge, in fractions of the range."""


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
        folder: the folder, including its sub-folders; a zip or tar of images, or a single image, also works.
        labels: ``"folders"`` makes the sub-folder's name a factor; a CSV file with a header gives the
            images' names in its first column and one factor per further column.
        resize: scale every image to this many pixels per side; by default all must have the same size.
        skip_bad: leave out files that do not decode, instead of stopping at the first.
        fit: how to fit images that are not square: ``"crop"`` keeps the middle, ``"pad"`` keeps all of the
            image and adds black borders, ``"squash"`` (the default) stretches it.
        range: the values that are black and white, for 16-bit or float images: ``min-max``,
            ``percentiles:1:99``, ``signed`` (−1 to 1) or ``0:4095``.
        colours: ``"grey"``, ``"rgb"`` or ``"rgba"``, to convert all images to it.
        like: how the images of a trained model were converted, to convert these alike.
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
    texts = (str(PurePosixPath(name)) for name in names)
    # Names whose bytes are not UTF-8 are spelled out, since no table could hold them.
    files = np.array([text.encode(errors="backslashreplace").decode() for text in texts], np.str_)
    data = Dataset(stored, name=place.stem, arrangement=arrangement, row_names=files)
    if skip_bad:
        data, names = data.subset(good), [names[row] for row in good]
        _warn_of_bad(place, sorted({*pictures.names} - {*names}), len(pictures.names))
    return data if labels is None else labelled(data, labels)


def labelled(data: Dataset, labels: str | Path) -> Dataset:
    """The images of a folder with the labels that ``load`` takes."""
    names = [] if data.row_names is None else [str(name) for name in data.row_names]
    if labels == "folders":
        return with_factors(data, [[_sub_folder(name) for name in names]], ["folder"])
    return with_factors(data, *_table(Path(labels), names))


def _stored(
    images: NDArray[Any], found: Scan, text: str | None, fit: Fit | None, like: Scaled | None, name: str
) -> tuple[Images, Scaled]:
    """Decoded images as the model sees them, and how they were converted."""
    shape = (CHANNELS[found.mode], *found.size)
    if like is not None:
        told = like.told
        low, high = (like.low, like.high) if told else own_range(images, found.mode, found.short, name)
    else:
        told = text is not None
        low, high = _range(images, found, text, name)
    how = Scaled(shape, low, high, fit, found.mode, told)
    if found.mode != "F" and (low, high) == (0, 255):
        return ByteImages(images, channels_last=True), how
    return ScaledImages(images, low, high, channels_last=True), how


def own_range(images: NDArray[Any], mode: str, short: bool, name: str) -> tuple[float, float]:
    """Black and white of new images for a model whose range nobody gave, by their own kind of pixels."""
    if mode != "F":
        return 0.0, 255.0
    if short:
        return 0.0, WHITE
    low, high = extremes(images, name)
    if low < -RINGING or high > 1 + RINGING:
        raise DistaffError(
            f"images of {name} run from {low:g} to {high:g}, and the model was trained on bytes, 16 bits or "
            "values of 0–1: bring them there first."
        )
    return 0.0, 1.0


def _range(images: NDArray[Any], found: Scan, text: str | None, name: str) -> tuple[float, float]:
    if text is not None:
        return find_range(text, images, name)
    if found.mode != "F":
        return 0.0, 255.0
    if found.short:
        _, brightest = extremes(images, name)
        if brightest < WHITE / DARK:
            text = (
                f"the brightest pixel of {name} is {brightest:g} of {WHITE:g}, so all images are dark: "
                f"--range min-max, or --range=0:{brightest:g}, makes it white."
            )
            warnings.warn(said(text), DataNotice, stacklevel=2)
        return 0.0, WHITE
    low, high = extremes(images, name)
    slack = 0.0 if found.other is None else RINGING
    if low < -slack or high > 1 + slack:
        raise DistaffError(
            f"{found.deep}, and the images run from {low:g} to {high:g}: say what is black and white, as in "
            f"--range min-max, --range percentiles or --range={low:g}:{high:g}."
        )
    return 0.0, 1.0


def _warn_of_bad(place: Path, bad: list[str], count: int) -> None:
    if bad:
        named = ", ".join(bad[:NAMED]) + (", …" if len(bad) > NAMED else "")
        warnings.warn(
            f"{len(bad):,} of {count:,} images in {place.name} left out because they do not decode: {named}.",
            DataNotice,
            stacklevel=3,
        )


def warn_of_squashing(side: int) -> None:
    """Warn that images of other proportions are distorted, before users see it in the results."""
    text = (
        f"some images are not square and are squashed to {side}×{side}: --fit crop keeps their middle, "
        "--fit pad keeps all of them, --fit squash silences this."
    )
    warnings.warn(said(text), DataNotice, stacklevel=3)


def _sub_folder(name: str) -> str:
    parent = PurePosixPath(name).parent.name
    if not parent:
        raise DistaffError(
            f"{name} is not in a sub-folder, so its label is unknown: give a CSV file of labels."
        )
    return parent


def _table(file: Path, names: list[str]) -> tuple[list[Any], list[str]]:
    """The columns of factors and their names, from a CSV whose first column has the file names."""
    with foreign(lambda why: f"{file} cannot be read as a CSV file with a heading ({why})."):
        frame = _names_first(read_csv(file), names).drop_duplicates()
    first, *titles = frame.columns
    rows = rows_named(frame[first].astype(str).tolist(), names, str(file))
    missing = [name for name, row in zip(names, rows, strict=True) if row < 0]
    if missing:
        raise DistaffError(f"{file} has no row for {missing[0]} and {len(missing) - 1} other images.")
    labels = frame.iloc[rows]
    for title in [title for title in titles if _all_different(labels[title])]:
        warnings.warn(
            f"{file}: the column {title!r} is not a factor: its texts are all different.",
            DataNotice,
            stacklevel=3,
        )
        titles.remove(title)
    if not titles:
        raise DistaffError(f"{file} has no column of labels beside the file names.")
    return [label_column(labels[title], title, str(file)) for title in titles], [str(t) for t in titles]


def _names_first(frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """The table without an index that pandas wrote before the names of images."""
    if not isinstance(frame.index, pd.RangeIndex):  # as R writes the names of rows
        return frame.reset_index()
    if len(frame.columns) < 3 or not str(frame.columns[0]).startswith(UNNAMED):
        return frame
    second = {*frame.iloc[:, 1].astype(str)}
    named = any(not second.isdisjoint(ways_to_name(name)) for name in names)
    return frame.iloc[:, 1:] if named else frame


def _all_different(column: "pd.Series[Any]") -> bool:
    """Whether a column of texts identifies its rows, as ids and dates do."""
    return not pd.api.types.is_numeric_dtype(column) and len(column) > 2 and column.is_unique
