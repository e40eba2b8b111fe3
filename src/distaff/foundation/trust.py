"""Whose words are followed: code that a folder names is imported only where the caller trusts it.

A name such as ``mine:net`` in a call or a flag is the caller's own word. The same name in a run folder, a
study's folder or a hub folder may be anybody's, and importing it would run their choice of code. So whoever
reads a folder looks its names up within ``words_of``, and ``find_function``, the one place that imports by
name, asks ``allow`` first. Two things make a name allowed there:

- the caller said so: ``trusting("mine")``, ``distaff.load(..., trust="mine")``, ``--trust mine``;
- the caller made the folder with that very name, here: ``remember`` notes that in the user's state folder,
  never in the folder itself, so that no folder can vouch for itself.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from distaff.foundation.errors import DistaffError
from distaff.foundation.files import state_folder, write_json

_trusted: ContextVar[frozenset[str]] = ContextVar("trusted", default=frozenset())
_folder: ContextVar[Path | None] = ContextVar("folder", default=None)


class NotTrusted(DistaffError):
    """A folder names code that its caller does not trust."""


@contextmanager
def trusting(*names: str | None) -> Iterator[None]:
    """Let folders that are read within name code of these modules.

    Args:
        *names: modules such as ``"mine"``, which stands for ``mine.deeper`` too, or single functions such as
            ``"mine:net"``; several in one text are separated by commas.

    >>> with trusting("mine"):
    ...     pass  # distaff.load("runs/from-a-friend") may now import mine
    """
    modules = {module for text in names for module in trusted_modules(text)}
    token = _trusted.set(_trusted.get() | modules)
    try:
        yield
    finally:
        _trusted.reset(token)


def trusted_modules(trust: str | None = None) -> list[str]:
    """The modules that a text names; its argument is a flag of every command that reads a folder.

    Args:
        trust: modules of code that the folder may name, such as mine, separated by commas; what you made
            yourself, here, is trusted anyway.
    """
    return [part.strip() for part in (trust or "").split(",") if part.strip()]


@contextmanager
def words_of(folder: Path) -> Iterator[None]:
    """Take names that are looked up within for the words of a folder, not of the caller."""
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


def allow(kind: str, name: str) -> None:
    """Raise unless ``module:name`` is the caller's own word, or she trusts it.

    Args:
        kind: what it is the name of, such as ``"network"``.
        name: what would be imported.
    """
    folder = _folder.get()
    module = name.partition(":")[0]
    if folder is None or _covered(name, _trusted.get()) or name in _remembered(folder):
        return
    raise NotTrusted(
        f"{folder} names the {kind} {name!r}, which is no part of distaff and would import {module!r}: "
        f"if you trust that code, say --trust {module}, or trust={module!r} in Python."
    )


def allow_all(code: Mapping[str, str]) -> None:
    """The same for several names, each with its kind."""
    for name, kind in code.items():
        allow(kind, name)


def remember(folder: Path, names: Iterable[str]) -> None:
    """Note that this user made a folder with code of these names; where nothing can be noted, nothing is."""
    new = set(names)
    if not new:
        return
    try:
        known = set(_noted_for(folder.resolve()))
        if not new <= known:
            content = {"folder": str(folder.resolve()), "names": sorted(known | new)}
            write_json(_note(folder.resolve()), content)
    except OSError:
        return


def _covered(name: str, trusted: frozenset[str]) -> bool:
    module = name.partition(":")[0]
    parts = module.split(".")
    packages = (".".join(parts[: end + 1]) for end in range(len(parts)))
    return name in trusted or any(package in trusted for package in packages)


def _remembered(folder: Path) -> set[str]:
    """The names noted for a folder, or for one that it lies in, such as the study's of a run."""
    place = folder.resolve()
    return {name for above in (place, *place.parents) for name in _noted_for(above)}


def _noted_for(place: Path) -> list[str]:
    try:
        content = json.loads(_note(place).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    if not isinstance(content, dict) or content.get("folder") != str(place):
        return []
    names = content.get("names")
    return [str(name) for name in names] if isinstance(names, list) else []


def _note(place: Path) -> Path:
    digest = hashlib.sha256(str(place).encode(errors="surrogateescape")).hexdigest()
    return state_folder() / "trusted" / f"{digest[:32]}.json"
