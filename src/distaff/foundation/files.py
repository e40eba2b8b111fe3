"""Files that are whole or absent: atomic writes, strict JSON and YAML, and where caches and data live."""

import hashlib
import json
import math
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import platformdirs
import yaml

from distaff.foundation.errors import DistaffError


def cache_folder() -> Path:
    """Where built data live: ``$DISTAFF_CACHE``, or the user's cache folder."""
    return Path(os.environ.get("DISTAFF_CACHE") or platformdirs.user_cache_dir("distaff"))


def data_folder() -> Path:
    """Where official data files are looked for: ``$DISTAFF_DATA``, or the user's data folder."""
    return Path(os.environ.get("DISTAFF_DATA") or platformdirs.user_data_dir("distaff"))


def state_folder() -> Path:
    """Where distaff remembers what it must know of its user: ``$DISTAFF_STATE``, or her state folder."""
    return Path(os.environ.get("DISTAFF_STATE") or platformdirs.user_state_dir("distaff"))


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success sync it and rename it over ``path``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        _sync(temporary)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
        _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder beside ``path``; on success sync its files and rename it to ``path``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        yield temporary
        for file in temporary.iterdir():
            _sync(file)
        _sync(temporary)
        temporary.chmod(0o777 & ~_umask())
        if path.exists():
            shutil.rmtree(path)
        temporary.replace(path)
        _sync(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` atomically."""
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def finite(value: Any) -> Any:
    """``value`` with null for every number that is not finite, within mappings and lists too."""
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_text(value: Any, indent: int | None = None) -> str:
    """``value`` as JSON, which knows no NaN and no infinity: such numbers become null.

    Every JSON that leaves the library is written here, so that any strict reader can read it.

    >>> json_text({"kl": math.inf, "nll": [1.5, math.nan]})
    '{"kl": null, "nll": [1.5, null]}'
    """
    return json.dumps(finite(value), indent=indent, allow_nan=False)


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as indented JSON to ``path`` atomically; see ``json_text``."""
    write_text(path, json_text(value, indent=2) + "\n")


def append_json_line(path: Path, value: Any) -> None:
    """Append ``value`` to ``path`` as JSON on a line of its own; see ``json_text``."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json_text(value) + "\n")


def yaml_text(value: Any) -> str:
    """``value`` as YAML, in which settings are kept: one that is not a finite number is refused by name.

    A null would be another setting, and few readers agree on how infinity is written.
    """
    for place, number in _numbers(value):
        if not math.isfinite(number):
            raise DistaffError(f"{place} is {number}: give a finite number.")
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True)


def sha256(path: Path) -> str:
    """The file's SHA-256 in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _numbers(value: Any, place: str = "the value") -> Iterator[tuple[str, float]]:
    """Every float within mappings and lists, with the nearest name above it."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _numbers(item, str(key))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _numbers(item, place)
    elif isinstance(value, float):
        yield place, value


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
