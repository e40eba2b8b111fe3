"""What is known of a data set before it is opened; each data-set file holds one as ``ABOUT``."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class RemoteFile:
    """A file as its authors published it.

    Args:
        name: the file's name.
        folder: the address it lies under, ending in a slash; empty where it must be fetched by hand.
        known_hash: ``md5:…`` or ``sha256:…`` of the whole file, where one is known.
        extra: another form or variant, fetched only when it is asked for by its name.
    """

    name: str
    folder: str = ""
    known_hash: str | None = None
    extra: bool = False

    @property
    def url(self) -> str:
        """The file's address."""
        return self.folder + self.name


@dataclass(frozen=True)
class About:
    """A data set in a few lines.

    Args:
        summary: one sentence.
        source: the page to get it from.
        licence: the terms it is published under.
        citation: the paper to cite.
        count: how many observations there are.
        shape: the shape of one.
        factors: the number of classes of each factor, by name.
        built_in: whether ``load()`` needs no file.
        files: what the authors published.
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
