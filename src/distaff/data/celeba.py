"""CelebA: 202,599 faces with 40 attributes, cut to the face and scaled to 64×64."""

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from distaff.data.about import About, RemoteFile, find
from distaff.data.dataset import Dataset
from distaff.data.decoding import decoded
from distaff.data.images import ByteImages, IntArray
from distaff.data.pictures import Pictures, open_pictures
from distaff.foundation.errors import DistaffError, unknown

ABOUT = About(
    summary="Faces of celebrities in colour, aligned, with 40 yes-or-no attributes and a partition.",
    source="https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html",
    licence="non-commercial research only; see the source",
    citation="Liu, Luo, Wang & Tang (2015), Deep learning face attributes in the wild",
    count=202_599,
    shape=(3, 64, 64),
    factors={"each of 40 attributes": 2},
    files=(
        RemoteFile("img_align_celeba.zip"),
        RemoteFile(
            "list_attr_celeba.txt",
            known_hash="sha256:f0e5da289d5ccf75ffe8811132694922b60f2af59256ed362afa03fefba324d0",
        ),
        RemoteFile("list_eval_partition.txt"),
    ),
)
PARTS = {"train": (0,), "valid": (1,), "test": (2,), "all": (0, 1, 2)}


def load(
    file: str | Path | None = None,
    part: Literal["train", "valid", "test", "all"] = "all",
    identity: bool = False,
    crop: int = 148,
    skip_bad: bool = False,
) -> Dataset:
    """CelebA from its official files, decoded once into the cache (2.5 GB for all).

    Args:
        file: the folder with ``img_align_celeba/`` or ``img_align_celeba.zip``,
            ``list_attr_celeba.txt`` and ``list_eval_partition.txt``.
        part: the part of the official partition.
        identity: add the person as a factor, from ``identity_CelebA.txt``.
        crop: side of the square that is cut from the middle of each 178×218 image before scaling; 148 is
            usual.
        skip_bad: leave out images that do not decode, instead of stopping at the first.
    """
    if part not in PARTS:
        raise unknown("part of celeba", part, PARTS)
    names, attributes, columns = _attributes(find("celeba", ABOUT, file, "list_attr_celeba.txt"))
    partition = _numbers(find("celeba", ABOUT, file, "list_eval_partition.txt"), names)
    if identity:
        people = _numbers(find("celeba", ABOUT, file, "identity_CelebA.txt"), names)
        columns = np.column_stack([columns, np.unique(people, return_inverse=True)[1]])
        attributes = [*attributes, "identity"]
    with open_pictures(find("celeba", ABOUT, file, "img_align_celeba", "img_align_celeba.zip")) as pictures:
        files = _located(pictures, names)
        images, good = decoded(pictures, files, "RGB", (64, 64), crop, skip_bad)
    rows = good[np.isin(partition[good], PARTS[part])]
    sizes = (*(2,) * 40, *(int(column.max()) + 1 for column in columns.T[40:]))
    whole = Dataset(ByteImages(images, channels_last=True), columns, tuple(attributes), sizes, name="celeba")
    return whole.subset(rows)


def _attributes(path: Path) -> tuple[list[str], list[str], IntArray]:
    """The file names, the names of the 40 attributes and their values (N, 40), 1 for yes and 0 for no."""
    lines = _lines(path)
    attributes = lines[1].split() if len(lines) > 1 else []
    if len(attributes) != 40 or len(set(attributes)) != 40:
        raise DistaffError(
            f"{path} names {len(attributes)} attributes in its second line, not 40: fetch it again."
        )
    if lines[0].strip() != str(len(lines) - 2):
        raise DistaffError(f"{path} announces {lines[0].strip()[:20]!r} images but lists {len(lines) - 2}.")
    rows = [line.split() for line in lines[2:]]
    for row in rows:
        if len(row) != 41 or not set(row[1:]) <= {"1", "-1"}:
            raise DistaffError(
                f"{path} has {len(row) - 1} values for {row[0]}; each image must have 40 values of 1 or -1."
            )
    values = np.array([[cell == "1" for cell in row[1:]] for row in rows], np.int64)
    return [row[0] for row in rows], attributes, values


def _numbers(path: Path, names: list[str]) -> NDArray[np.int64]:
    """One integer per image, from lines with a name and a number."""
    rows = dict(pair for line in _lines(path) if len(pair := line.split()) == 2)
    missing = next((name for name in names if not rows.get(name, "").isdecimal()), None)
    if missing is not None:
        raise DistaffError(f"{path} has no number for {missing}: fetch it again.")
    return np.array([int(rows[name]) for name in names])


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError) as problem:
        raise DistaffError(f"{path} cannot be read as text ({problem}).") from problem


def _located(pictures: Pictures, names: list[str]) -> list[str]:
    """The path of each image in the folder or archive, which may have one folder around all of them."""
    places = {name.rpartition("/")[2]: name for name in pictures.names}
    missing = [name for name in names if name not in places]
    if missing:
        raise DistaffError(
            f"{pictures.place} lacks {missing[0]} and {len(missing) - 1} other images of the list."
        )
    return [places[name] for name in names]
