"""The named data sets: list, describe, download and verify them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal

from distaff.data.about import About, RemoteFile, folder_of
from distaff.data.downloads import download
from distaff.data.opening import names, open_dataset
from distaff.foundation.errors import DistaffError, unknown
from distaff.foundation.places import cache_folder


def about(name: str) -> About:
    """The description of the data set ``name``."""
    if name not in names():
        raise unknown("data set", name, names())
    description: About = import_module(f"distaff.data.{name}").ABOUT
    return description


def overview() -> dict[str, tuple[About, str]]:
    """Every data set with its description and location: built in, in a folder, or not available."""
    return {name: (about(name), _availability(name)) for name in names()}


def listing() -> list[str]:
    """All named data sets, and whether each is on this machine."""
    return [f"{name:16}{about.summary}  [{place}]" for name, (about, place) in overview().items()]


def info(name: str, *, file: str | Path | None = None) -> str:
    """A few lines about a data set: content, size, factors, terms, source, and location on this machine.

    Args:
        name: the data set.
        file: an official file whose content should be described too.
    """
    facts = about(name)
    factors = ", ".join(f"{factor} {size}" for factor, size in facts.factors.items())
    lines = [
        f"{name}: {facts.summary}",
        f"  observations  {facts.count:,} × {facts.shape}",
        f"  factors       {factors}",
        f"  licence       {facts.licence}",
        f"  cite          {facts.citation}",
        f"  source        {facts.source}",
        f"  on disk       {_availability(name)}",
    ]
    lines += [f"    {state.path}  ({state.state})" for state in _states(name, check=False)]
    lines += [] if file is None else [f"  {file} holds {open_dataset(name, file)}"]
    built = sorted(cache_folder().glob(f"{name}-*.npy"))
    lines += [f"    {path}  (cache, {path.stat().st_size / 1e6:,.0f} MB)" for path in built]
    return "\n".join(lines)


def fetch(name: str, files: Sequence[str] = (), mirror: str | None = None) -> list[Path]:
    """Download the official files of a data set into its folder, resuming interrupted downloads.

    Args:
        name: the data set.
        files: the files to download; by default all but the extra ones.
        mirror: a URL to use instead of the authors', ending in a slash.
    """
    facts = about(name)
    if not facts.files:
        raise DistaffError(f"{name} is generated and has no files to fetch.")
    known = {file.name: file for file in facts.files}
    for file_name in files:
        if file_name not in known:
            raise unknown(f"file of {name}", file_name, known)
    wanted = [known[item] for item in files] or [file for file in facts.files if not file.extra]
    by_hand = f"take it from {facts.source} and put it into {folder_of(name)}"
    fetched = []
    for file in wanted:
        address = mirror + file.name if mirror else file.url
        if not mirror and not file.folder:
            raise DistaffError(
                f"{file.name} of {name} must be fetched by hand because of its terms: {by_hand}."
            )
        try:
            fetched.append(download(address, folder_of(name) / file.name, file.known_hash))
        except DistaffError as problem:
            raise DistaffError(f"{str(problem).rstrip('.')}: {by_hand}.") from problem
    return fetched


State = Literal["whole", "damaged", "absent", "here", "unknown"]


@dataclass(frozen=True)
class FileState:
    """The state of one official file on this machine; ``unknown``: present, but no hash is published."""

    path: Path
    state: State

    def __str__(self) -> str:
        return f"{self.path}: {self.state}"


def verify(name: str) -> list[FileState]:
    """Check every official file of a data set that is on this machine against its published hash."""
    return _states(name, check=True)


def _states(name: str, check: bool) -> list[FileState]:
    return [
        FileState(path := folder_of(name) / file.name, _state(path, file, check))
        for file in about(name).files
    ]


def _state(path: Path, file: RemoteFile, check: bool) -> State:
    if not path.is_file():
        return "absent"
    if not check:
        return "here"
    if file.known_hash is None:
        return "unknown"
    method, _, expected = file.known_hash.partition(":")
    try:
        with path.open("rb") as content:
            digest = hashlib.file_digest(content, method).hexdigest()
    except OSError as problem:
        raise DistaffError(f"{path} cannot be read ({problem.strerror}).") from problem
    return "whole" if digest == expected else "damaged"


def _availability(name: str) -> str:
    if about(name).built_in:
        return "built in"
    folder = folder_of(name)
    here = folder.is_dir() and any(folder.iterdir())
    return f"in {folder}" if here else f"not here; looked for in {folder}"
