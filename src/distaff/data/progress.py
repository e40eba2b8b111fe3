"""A progress bar on stderr, where that is a terminal."""

import sys
from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

from rich.console import Console
from rich.progress import track

T = TypeVar("T")


def progress(items: Iterable[T], title: str, total: int | None = None) -> Iterator[T]:
    """Pass ``items`` through, drawing a bar titled ``title``; silent when stderr is not a terminal."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    quiet = not sys.stderr.isatty()
    yield from track(items, title, total, console=Console(stderr=True), transient=True, disable=quiet)
