"""The description of a data set that is available before it is opened: the ``ABOUT`` of its file."""

from collections.abc import Mapping
from dataclasses import dataclass


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
