"""Files that are complete or absent: atomic writes, strict JSON and YAML, and the locations of caches."""

import errno
import hashlib
import json
import math
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import platformdirs
import yaml
from pydantic_core import from_json

from distaff.foundation.errors import DistaffError, check_text, reason, shown, system_errors
from distaff.foundation.yaml_loader import MOST_NODES, Loader, Refused

LARGEST_TEXT = 64 << 20
"""Maximum size in bytes of a file of settings or results."""
DEEPEST = 64
"""Maximum nesting depth of such a file."""
MANY_DIGITS = re.compile(rb"\d{309}")
"""Part of any whole number beyond the largest float."""


def cache_folder() -> Path:
    """The folder for generated data: ``$DISTAFF_CACHE``, or the user's cache folder."""
    return Path(os.environ.get("DISTAFF_CACHE") or platformdirs.user_cache_dir("distaff"))


def data_folder() -> Path:
    """The folder for official data files: ``$DISTAFF_DATA``, or the user's data folder."""
    return Path(os.environ.get("DISTAFF_DATA") or platformdirs.user_data_dir("distaff"))


def state_folder() -> Path:
    """The folder for what distaff must remember about its user: ``$DISTAFF_STATE``, or the state folder."""
    return Path(os.environ.get("DISTAFF_STATE") or platformdirs.user_state_dir("distaff"))


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


def append_json_line(path: Path, value: Any) -> None:
    """Append ``value`` to ``path`` as one line of JSON; see ``json_text``."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json_text(value) + "\n")


def regular(path: Path) -> Path:
    """The path of a file that can be read to its end, which pipes and devices may not have."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return path


def read_text(path: Path, largest: int = LARGEST_TEXT) -> str:
    """Read a file of settings or results, which is never large; the caller handles missing files.

    Args:
        path: the file.
        largest: its maximum size in bytes.
    """
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


def read_json(path: Path, largest: int = LARGEST_TEXT) -> Any:
    """Read an untrusted JSON file; anything wrong with it raises a one-sentence error.

    Args:
        path: the file.
        largest: its maximum size in bytes.
    """
    return parse_json(read_text(path, largest), str(path))


def parse_json(text: str | bytes, name: str = "it") -> Any:
    """Parse a JSON text, which may be nested up to ``DEEPEST`` times; errors call it ``name``."""
    try:
        value = from_json(text)  # three times as fast as json.loads, and it limits the nesting depth itself
    except ValueError as problem:
        why = "it is nested too deeply" if "recursion limit" in str(problem) else str(problem)
        raise DistaffError(f"{name} is not readable JSON ({why}).") from problem
    _check_depth(value, name)  # no more to check: keys are texts, and without aliases nothing can grow
    if MANY_DIGITS.search(text if isinstance(text, bytes) else text.encode()):
        check_extent(value, name)
    return value


def parse_yaml(text: str, name: str = "it") -> Any:
    r"""Parse a YAML text: mappings with text keys, lists, texts, numbers, true, false and null.

    Dates are read as texts, and the keys of a mapping must be unique. With aliases expanded, there may be up
    to ``MOST_NODES`` values, nested at most ``DEEPEST`` times.

    Args:
        text: the YAML.
        name: its name in errors.

    >>> parse_yaml("seeds: [0, 1]\nday: 2020-13-45")
    {'seeds': [0, 1], 'day': '2020-13-45'}
    """
    try:
        depth = 0
        for event in yaml.parse(text, Loader=Loader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                raise DistaffError(f"{name} is nested more than {DEEPEST} times.")
        value = yaml.load(text, Loader=Loader)
    except Refused as problem:
        raise DistaffError(f"{name} {problem}") from None
    except DistaffError:
        raise
    except Exception as problem:  # values that do not fit their tags can raise anything
        raise DistaffError(f"{name} is not readable YAML ({reason(problem)}).") from problem
    check_extent(value, name)
    return value


def _check_depth(value: Any, name: str) -> None:
    level = [value]
    for _ in range(DEEPEST + 1):
        nested = [item for item in level if type(item) is dict or type(item) is list]
        level = [part for item in nested for part in (item.values() if type(item) is dict else item)]
        if not level:
            return
    raise DistaffError(f"{name} is too large: nested more than {DEEPEST} times.")


def check_extent(value: Any, name: str) -> None:
    """Raise unless ``value`` is plain, with text keys, and neither too large nor too deeply nested."""
    waiting, seen = [(value, 0)], 0
    while waiting:
        item, depth = waiting.pop()
        seen += 1
        if seen > MOST_NODES or depth > DEEPEST:
            limit = f"nested more than {DEEPEST} times" if depth > DEEPEST else f"over {MOST_NODES:,} values"
            raise DistaffError(f"{name} is too large: {limit}.")
        if isinstance(item, dict):
            for key in item:
                if not isinstance(key, str):
                    raise DistaffError(f"{name} has the key {str(key)[:40]!r}: keys must be texts.")
            waiting += [(part, depth + 1) for part in item.values()]
        elif isinstance(item, list):
            waiting += [(part, depth + 1) for part in item]
        elif isinstance(item, int) and abs(item) > sys.float_info.max:
            raise DistaffError(f"{name} holds a whole number of over 300 digits.")
        elif not isinstance(item, str | int | float | None):
            raise DistaffError(f"{name} holds a {type(item).__name__}, which is not a plain value.")


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
