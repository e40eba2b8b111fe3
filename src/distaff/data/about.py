"""What is known of a data set before it is opened: its ``ABOUT``, and where its official files are."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from distaff.foundation.errors import DistaffError
from distaff.foundation.files import named_path
from distaff.foundation.places import data_folder


@dataclass(frozen=True)
class RemoteFile:
    """A file as published by its authors.

    Args:
        name: the file's name.
        folder: the URL of its folder, ending in a slash; empty if it must be downloaded by hand.
        known_hash: ``md5:…`` or ``sha256:…`` of the whole file, if known.
        extra: whether it is another format or variant, which is downloaded only if requested by name.
    """

    name: str
    folder: str = ""
    known_hash: str | None = None
    extra: bool = False

    @property
    def url(self) -> str:
        """The URL of the file."""
        return self.folder + self.name


@dataclass(frozen=True)
class About:
    """A short description of a data set.

    Args:
        summary: one sentence.
        source: the page to get it from.
        licence: the terms it is published under.
        citation: the paper to cite.
        count: number of observations.
        shape: shape of one observation.
        factors: number of classes of each factor, by name.
        built_in: whether ``load()`` works without a file.
        files: the files that the authors published.
    """

    summary: str
    source: str
    licence: str
    citation: str
    count: int
    shape: tuple[int, ...]
    factors: Mapping[str, int]
    built_in: bool = False
    files: tuple[RemoteFile, ...] = ()


def folder_of(name: str) -> Path:
    """The folder for the official files of the data set ``name``."""
    return data_folder() / name.replace("_", "-")


def find(name: str, about: About, given: str | Path | None, *wanted: str) -> Path:
    """The first of the ``wanted`` files that exists, in the given place or in the data set's folder.

    ``given`` is the file itself or a folder that contains it, None the data set's folder.
    """
    place = folder_of(name) if given is None else named_path(given)
    if place.is_file():
        return place
    for candidate in wanted:
        if (place / candidate).exists():
            return place / candidate
    if given is not None and not place.exists():
        raise DistaffError(f"there is no file or folder {place}.")
    automatic = any(file.folder for file in about.files)
    fetch = f"`distaff data fetch {name}` tries to get it; by hand: " if automatic else ""
    raise DistaffError(
        f"{wanted[0]} is not in {place}: {fetch}take it from {about.source} and put it there,"
        " or say where it is with --file."
    )
