"""Files that are complete or absent: paths, atomic writes, and JSON and YAML as text."""

import errno
import hashlib
import json
import math
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from distaff.foundation.errors import DistaffError, check_text, shown, system_errors

COMPRESSED = (".gz", ".bz2", ".xz")
"""How names of compressed texts end, after the ending of the text itself."""

LARGEST_TEXT = 64 << 20
"""Maximum size in bytes of a file of settings or results."""


def ending(path: Path) -> str:
    """The ending of a file's name, without that of compression if a text is compressed.

    >>> ending(Path("codes.CSV")), ending(Path("codes.csv.gz")), ending(Path("codes.npz.gz"))
    ('.csv', '.csv', '.gz')
    """
    last, inner = path.suffix.lower(), Path(path.stem).suffix.lower()
    return inner if last in COMPRESSED and inner in (".csv", ".tsv") else last


def named_path(name: str | Path) -> Path:
    """The path for an untrusted name; a name that is not even a valid path raises a one-sentence error."""
    path = Path(name)
    try:
        if not str(name):
            raise ValueError("it is empty")
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as problem:
        why = getattr(problem, "strerror", None) or problem
        raise DistaffError(f"{shown(str(name))} cannot be the name of a file ({why}).") from problem
    return path


def refuse_to_replace(path: Path) -> None:
    """Raise if there is something at ``path`` that a file must not take the place of."""
    if path.exists() and not path.is_file():
        what = "a folder" if path.is_dir() else "a device or a pipe"
        raise DistaffError(f"{path} is {what}, in whose place no file can be written: name a file.")


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to ``path``; on success, sync it and rename it to ``path``."""
    refuse_to_replace(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as problem:  # about a name that nobody gave
        raise OSError(problem.errno, problem.strerror, str(path)) from problem
    os.close(handle)
    temporary = Path(name)
    try:
        with system_errors(path):
            yield temporary
        _sync(temporary)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
        _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder next to ``path``; on success, sync its files and rename it to ``path``."""
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
    """``value`` with null for every number that is not finite, also within mappings and lists."""
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_text(value: Any, indent: int | None = None) -> str:
    """``value`` as JSON, which has no NaN or infinity: such numbers become null.

    All JSON that the library writes goes through this function, so that any strict parser can read it.

    >>> json_text({"kl": math.inf, "nll": [1.5, math.nan]})
    '{"kl": null, "nll": [1.5, null]}'
    """
    return json.dumps(finite(value), indent=indent, allow_nan=False)


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as indented JSON to ``path`` atomically; see ``json_text``."""
    write_text(path, json_text(value, indent=2) + "\n")


def regular(path: Path) -> Path:
    """The path of a file that can be read to its end, which pipes and devices may not have."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return path


def read_text(path: Path, largest: int = LARGEST_TEXT) -> str:
    """Read a file of settings or results, which is never large; the caller handles missing files."""
    try:
        size = regular(path).stat().st_size
        if size > largest:
            raise DistaffError(f"{path} has {size:,} bytes, more than the {largest:,} allowed.")
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise
    except UnicodeDecodeError as problem:
        raise DistaffError(f"{path} is not text in UTF-8 ({problem.reason}).") from problem
    except OSError as problem:
        raise DistaffError(f"{path} cannot be read ({problem.strerror or problem}).") from problem


def yaml_text(value: Any) -> str:
    """``value`` as YAML, for settings; numbers that are not finite and names that are no text are errors.

    Null would be a different setting, and parsers disagree on how infinity is written.
    """
    for place, item in _leaves(value):
        if isinstance(item, str):
            check_text(item)
        elif isinstance(item, float) and not math.isfinite(item):
            raise DistaffError(f"{place} is {item}: give a finite number.")
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True)


def sha256(path: Path) -> str:
    """The file's SHA-256 in hexadecimal."""
    with regular(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _leaves(value: Any, place: str = "the value") -> Iterator[tuple[str, Any]]:
    """All values within mappings and lists, each with the nearest key above it."""
    if isinstance(value, Mapping | list | tuple):
        items = value.items() if isinstance(value, Mapping) else ((place, item) for item in value)
        for key, item in items:
            yield from _leaves(item, str(key))
    else:
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
