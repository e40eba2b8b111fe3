"""Trust: code that a folder names is imported only if the caller trusts it.

A name such as ``mine:net`` in a call or a flag comes from the caller. The same name in a run folder, a
study's folder or a hub folder may come from anybody, and importing it would run code of their choice. So code
that reads a folder looks up its names within ``words_of`` of ``binding``, and ``imported`` there, the only
place that imports by name, first calls ``refuse_unless_trusted``. A name is allowed in two cases:

- the caller said so: ``trusting("mine")``, ``distaff.load(..., trust="mine")``, ``--trust mine``;
- the caller made the folder with exactly that name on this machine: ``remember`` notes this in the user's
  state folder, never in the folder itself, so that no folder can vouch for itself.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from distaff.foundation.errors import DistaffError
from distaff.foundation.files import write_json
from distaff.foundation.places import state_folder

_trusted: ContextVar[frozenset[str]] = ContextVar("trusted", default=frozenset())


class NotTrusted(DistaffError):
    """A folder names code that the caller does not trust."""


@contextmanager
def trusting(*names: str | None) -> Iterator[None]:
    """Let folders that are read within this context name code of these modules.

    Args:
        *names: modules such as ``"mine"``, which includes ``mine.deeper``, or single functions such as
            ``"mine:net"``; one text may contain several, separated by commas.

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
        trust: modules whose code the folder may name, such as mine, separated by commas; folders that you
            made yourself on this machine are trusted anyway.
    """
    return [part.strip() for part in (trust or "").split(",") if part.strip()]


def refuse_unless_trusted(folder: Path, kind: str, name: str) -> None:
    """Raise unless the caller trusts the code of this name, or made the folder with it on this machine."""
    if _covered(name, _trusted.get()) or name in _remembered(folder):
        return
    module = name.partition(":")[0]
    raise NotTrusted(
        f"{folder} names the {kind} {name!r}, which is not part of distaff and would import {module!r}: "
        f"if you trust that code, say --trust {module}, or trust={module!r} in Python."
    )


def remember(folder: Path, names: Iterable[str]) -> None:
    """Note that this user made a folder with code of these names, if the state folder is writable."""
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
    """The names noted for a folder or its parents, such as the folder of a run's study."""
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
