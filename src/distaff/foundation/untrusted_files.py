"""Reading untrusted files: JSON, YAML and ``.npz``. Sizes are checked first, and nothing is unpickled."""

import math
import re
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import yaml
from numpy.typing import NDArray
from pydantic_core import from_json

from distaff.foundation.errors import DistaffError, reason, shown, whole
from distaff.foundation.files import LARGEST_TEXT, read_text

LARGEST = 16 << 30
"""Default limit on the size of an array that is read into memory as a whole, in bytes."""
ROWS = 4096
"""Number of rows that are read at a time."""
PACKED = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: 1032}
"""The allowed compression methods of archives, and the largest factor by which each can compress."""
MOST_NODES = 200_000
"""Maximum number of values in YAML, with aliases expanded."""
DEEPEST = 64
"""Maximum nesting depth of such a file."""
MANY_DIGITS = re.compile(rb"\d{309}")
"""Part of any whole number beyond the largest float."""


class Refused(Exception):
    """Valid YAML that we do not accept; the message lacks the name of the text as its subject."""


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # with libyaml if there
    """A loader that refuses duplicate keys, of which PyYAML's loader silently keeps the last."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.merged = 0
        self.checked: set[int] = set()

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Insert merged mappings (``<<``) into ``node``, whose own keys must differ."""
        if id(node) not in self.checked:  # on a repetition by alias, merged keys are already among its own
            self.checked.add(id(node))
            _check_keys(node)
        super().flatten_mapping(node)
        self.merged += len(node.value)
        if self.merged > MOST_NODES:
            raise Refused("merges mappings into too many values.")


Loader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for letter, resolvers in Loader.yaml_implicit_resolvers.items()
}


def _check_keys(node: yaml.MappingNode) -> None:
    lines: dict[tuple[str, str], int] = {}
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        name, line = (key.tag, key.value), key.start_mark.line + 1
        if name in lines:
            where = f"in line {line}" if lines[name] == line else f"in lines {lines[name]} and {line}"
            raise Refused(f"has the key {shown(key.value)} twice, {where}: keep one of them.")
        lines[name] = line


def read_json(path: Path, largest: int = LARGEST_TEXT) -> Any:
    """Read an untrusted JSON file; anything wrong with it raises a one-sentence error."""
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


def check_packing(place: Path, info: zipfile.ZipInfo) -> None:
    """Raise an error for a zip member with another compression, or an impossible unpacked size."""
    if info.compress_type not in PACKED:
        raise DistaffError(
            f"{info.filename!r} in {place} is neither stored nor deflated: pack the archive again with "
            "deflate."
        )
    if info.file_size > PACKED[info.compress_type] * info.compress_size + 1024:
        raise DistaffError(
            f"{info.filename!r} in {place} claims {info.file_size:,} bytes, more than it holds."
        )


class NpyHeader(NamedTuple):
    """The header of a ``.npy``."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]

    @classmethod
    def read(cls, file: IO[bytes]) -> "NpyHeader":
        """Read a header, and leave the file at the first number."""
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            return cls(*np.lib.format.read_array_header_1_0(file))
        return cls(*np.lib.format.read_array_header_2_0(file))

    @property
    def size(self) -> int:
        """Size of the array in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize


class Archive:
    """The arrays of an ``.npz`` by name; use ``open_npz``."""

    def __init__(self, path: Path, file: zipfile.ZipFile, largest: int) -> None:
        self.path, self.largest = path, largest
        self._file = file
        self.names = tuple(name.removesuffix(".npy") for name in file.namelist() if name.endswith(".npy"))

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def blocks(self, name: str, rows: int = ROWS) -> Iterator[NDArray[Any]]:
        """The array ``name`` in blocks of ``rows`` rows, decompressed as they are read."""
        with self._member(name) as (file, header):
            if header.fortran and len(header.shape) > 1:
                raise DistaffError(f"{name!r} in {self.path} is in Fortran order: save it in C order.")
            count, *row = header.shape
            for start in range(0, count, rows):
                block = (min(rows, count - start), *row)
                yield _read(file, block, header.dtype, f"{name!r} in {self.path}")

    def array(self, name: str) -> NDArray[Any]:
        """The whole array ``name``."""
        with self._member(name) as (file, header):
            if header.size > self.largest:
                raise DistaffError(
                    f"{name!r} in {self.path} unpacks to {header.size:,} bytes, more than is read at once"
                    f" ({self.largest:,}): save it as a .npy file, which is memory-mapped."
                )
            return whole_array(file, header, f"{name!r} in {self.path}")

    def texts(self, name: str) -> list[str]:
        """The texts in the array ``name``, in order."""
        texts = self.array(name).ravel()
        return [text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text) for text in texts]

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of the array ``name``, from its header."""
        with self._member(name) as (_, header):
            return header.shape

    def dtype(self, name: str) -> np.dtype[Any]:
        """The type of the array ``name``, from its header."""
        with self._member(name) as (_, header):
            return header.dtype

    @contextmanager
    def _member(self, name: str) -> Iterator[tuple[IO[bytes], "NpyHeader"]]:
        if name not in self.names:
            raise DistaffError(
                f"{self.path} has no array {name!r}: it holds {', '.join(self.names) or 'nothing'}."
            )
        info = self._file.getinfo(f"{name}.npy")
        check_packing(self.path, info)
        with self._file.open(info) as file:
            header = NpyHeader.read(file)
            if header.dtype.hasobject:
                raise DistaffError(f"{name!r} in {self.path} holds pickled objects, which are never loaded.")
            if file.tell() + header.size != info.file_size:
                raise DistaffError(f"{name!r} in {self.path} is not as long as its header says.")
            yield file, header


@contextmanager
def open_npz(path: Path, largest: int = LARGEST) -> Iterator[Archive]:
    """Open an ``.npz``; anything wrong with its bytes raises a one-sentence error.

    ``largest`` is the maximum size in bytes of an array that is read as a whole.
    """
    with whole(path, ".npz file"), zipfile.ZipFile(path) as file:
        yield Archive(path, file, largest)


def whole_array(file: IO[bytes], header: NpyHeader, label: str) -> NDArray[Any]:
    """The array behind a header; errors call it ``label``."""
    if header.fortran:
        return _read(file, header.shape[::-1], header.dtype, label).T
    return _read(file, header.shape, header.dtype, label)


def _read(file: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any], label: str) -> NDArray[Any]:
    size = math.prod(shape) * dtype.itemsize
    if size == 0:
        return np.empty(shape, dtype)
    data = bytearray(size)
    view = memoryview(data)
    done = 0
    while done < size:
        chunk = file.read(min(1 << 24, size - done))
        if not chunk:
            raise DistaffError(f"{label} ends early: the file is damaged, fetch it again.")
        view[done : done + len(chunk)] = chunk
        done += len(chunk)
    return np.frombuffer(data, dtype).reshape(shape)
