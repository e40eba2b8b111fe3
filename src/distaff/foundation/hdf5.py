"""Reading untrusted HDF5 files: in a child process, with limits on time and memory."""

import json
import math
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distaff.foundation.errors import DistaffError

SECONDS = 8.0
"""Default limit on the processor time of one request or one block of rows."""
PATIENCE = 15
"""Factor by which the wall-clock time may exceed it, if processors or disks are busy."""
MEMORY = 2 << 30
"""Default limit in bytes on the memory for reading, in addition to the result."""
CHILD = Path(__file__).with_name("hdf5_child.py")


class Hdf5File:
    """An open HDF5 file; use ``open_hdf5``."""

    def __init__(self, path: Path, child: "subprocess.Popen[bytes]", seconds: float) -> None:
        self.path, self._child, self._seconds = path, child, seconds

    def facts(self, key: str) -> dict[str, Any]:
        """What ``key`` refers to: its ``kind``, and for numbers the shape, type and position in the file."""
        return self._ask({"key": key})[0]

    def rows(self, key: str, start: int, stop: int) -> bytes:
        """The bytes of some rows of numbers."""
        return self._ask({"key": key, "rows": [start, stop]})[1]

    def check(self, key: str) -> None:
        """Raise unless everything below ``key``, if it exists, is in the file and can be read completely."""
        self._ask({"key": key, "check": True})

    def _ask(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        watch = threading.Timer(PATIENCE * self._seconds, self._child.kill)
        watch.start()
        try:
            self._child.stdin.write(json.dumps(request).encode() + b"\n")
            self._child.stdin.flush()
            answer = json.loads(self._child.stdout.readline())
            size = int(answer.get("bytes", 0))
            content = self._child.stdout.read(size) if size else b""
        except (OSError, ValueError):
            answer, content, size = {}, b"", 0
        finally:
            watch.cancel()
        if not answer or len(content) != size:
            raise self._damaged(f"its reader crashed, or was busy for over {self._seconds:g} seconds")
        if "error" in answer:
            raise self._damaged(str(answer["error"]))
        return answer, content

    def _damaged(self, why: str) -> DistaffError:
        return DistaffError(f"{self.path} is not a whole HDF5 file ({why}): fetch or save it again.")


class Member:
    """An array of numbers in an open file; rows are read on access."""

    def __init__(self, file: Hdf5File, key: str, facts: dict[str, Any]) -> None:
        self._file, self._key = file, key
        self.shape, self.dtype = tuple(facts["shape"]), np.dtype(facts["dtype"])
        self.offset: int | None = facts["offset"]
        """Its position in the file, if it is stored there in one uncompressed piece."""

    def __len__(self) -> int:
        return self.shape[0] if self.shape else 1

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        start, stop, step = rows.indices(len(self))
        content = self._file.rows(self._key, start, stop) if self.shape or start < stop else b""
        shape = (stop - start, *self.shape[1:]) if self.shape else ()
        if step != 1 or len(content) != math.prod(shape) * self.dtype.itemsize:
            raise DistaffError(f"{self._key!r} in {self._file.path} is not of the shape that it claims.")
        return np.frombuffer(content, self.dtype).reshape(shape)


@contextmanager
def open_hdf5(path: Path, seconds: float = SECONDS, memory: int = MEMORY) -> Iterator[Hdf5File]:
    """Open an HDF5 file; anything wrong with its bytes raises a one-sentence error.

    ``seconds`` limits the processor time of one request or one block of rows; ``memory``, in bytes, what is
    used for reading in addition to the result.
    """
    if not path.exists():
        raise DistaffError(f"there is no file {path}.")
    # One thread, since stacks count: the limit is on address space, which libraries reserve per thread.
    surroundings = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-P", str(CHILD), str(path), str(memory), str(seconds)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=surroundings,
    ) as child:
        try:
            yield Hdf5File(path, child, seconds)
        finally:
            child.kill()
            with suppress(OSError):
                child.communicate()


def member(file: Hdf5File, key: str) -> Member:
    """The array ``key`` of an open file, which must hold plain numbers in the file itself."""
    facts = file.facts(key)
    if facts["kind"] == "nothing":
        # The existing names are not listed: in a damaged file that list may be endless.
        raise DistaffError(
            f"{file.path} has no array {key!r}: say which to read with --data-options key=NAME."
        )
    if facts["kind"] == "too large":
        raise DistaffError(
            f"{key!r} in {file.path} claims the shape {tuple(facts['shape'])}, more than its bytes can hold."
        )
    if facts["kind"] != "numbers":
        raise DistaffError(f"{key!r} in {file.path} must hold plain numbers in the file itself.")
    return Member(file, key, facts)


def texts(file: Hdf5File, key: str) -> list[str] | None:
    """The texts at ``key``, or None if it does not exist."""
    facts = file.facts(key)
    if facts["kind"] == "nothing":
        return None
    if facts["kind"] != "texts":
        raise DistaffError(f"{key!r} in {file.path} must hold a few texts in the file itself.")
    return [str(text) for text in facts["texts"]]


def mapped(file: Hdf5File, array: Member) -> NDArray[Any] | None:
    """The array memory-mapped in place, if it is stored in one uncompressed piece."""
    if array.offset is None:
        return None
    try:
        return np.memmap(file.path, array.dtype, "r", array.offset, array.shape)
    except (OSError, ValueError) as problem:
        raise DistaffError(f"{file.path} is not a whole HDF5 file ({problem}): save it again.") from problem
