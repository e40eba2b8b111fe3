"""Locations of official files on this machine, and the message if they are missing."""

from pathlib import Path

from distaff.data.about import About
from distaff.foundation.errors import DistaffError
from distaff.foundation.files import data_folder, named_path


def folder_of(name: str) -> Path:
    """The folder for the official files of the data set ``name``."""
    return data_folder() / name.replace("_", "-")


def find(name: str, about: About, given: str | Path | None, *wanted: str) -> Path:
    """The first of the ``wanted`` files that exists, in the given place or in the data set's folder.

    Args:
        name: the data set.
        about: its description.
        given: the file itself, or a folder that contains it; ``None`` for the data set's folder.
        wanted: possible names of the file, the usual one first.
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
