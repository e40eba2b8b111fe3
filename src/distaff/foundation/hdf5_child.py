"""The process that reads HDF5 files: a separate program, which imports nothing of distaff.

A damaged HDF5 file can make its library loop forever, use up all memory, or crash the process. Therefore a
child process reads it, with limited memory, and the parent can kill it at any time. Requests arrive on
standard input as lines of JSON; an answer is a line of JSON, followed by the number of bytes that it states.
"""

import json
import math
import sys
from pathlib import Path
from typing import Any, BinaryIO

import h5py
import numpy as np

TIGHTEST = 1100
"""Largest factor by which numbers can be compressed: deflate reaches 1,032."""
MOST_TEXTS = 10_000
"""Maximum number of texts in an array."""
DEEPEST, MOST_MEMBERS = 8, 100_000
"""Maximum nesting depth of groups that are checked, and maximum number of their members."""
BLOCK = 1 << 26
"""Number of bytes that a check reads at a time."""


def main() -> None:
    """Answer requests until there are no more; arguments: file, bytes of memory, seconds per request."""
    seconds = float(sys.argv[3])
    _limit_memory(int(sys.argv[2]))
    _limit_time(seconds)
    answers = sys.stdout.buffer
    try:
        with h5py.File(sys.argv[1], "r") as file:
            for line in sys.stdin:
                _limit_time(seconds)
                _try_to_answer(file, answers, json.loads(line))
    except OSError as problem:  # a file that cannot be opened
        _send(answers, _error(problem))


def _try_to_answer(file: h5py.File, answers: BinaryIO, request: dict[str, Any]) -> None:
    try:
        _answer(file, answers, **request)
    except Exception as problem:  # on damaged bytes, the library can raise anything
        _send(answers, _error(problem))


def _error(problem: Exception) -> dict[str, Any]:
    return {"error": str(problem).partition("\n")[0] or type(problem).__name__}


def _answer(
    file: h5py.File, answers: BinaryIO, key: str, rows: list[int] | None = None, check: bool = False
) -> None:
    """Answer with what ``key`` refers to, with some of its ``rows``, or with the number of its members."""
    array = file.get(key)
    if check:
        members = 0 if array is None else _check(array, key)
        return _send(answers, {"members": members})
    if not isinstance(array, h5py.Dataset):
        return _send(answers, {"kind": "nothing"})
    if array.external or array.is_virtual or array.shape is None:
        return _send(answers, {"kind": "elsewhere"})
    if h5py.check_string_dtype(array.dtype) is not None or array.dtype.kind == "S":
        if math.prod(array.shape) > MOST_TEXTS:
            return _send(answers, {"kind": "too large", "shape": array.shape})
        return _send(answers, {"kind": "texts", "texts": [str(text) for text in array.asstr()[()].ravel()]})
    if array.dtype.kind not in "buif":
        return _send(answers, {"kind": "elsewhere"})
    if _claims_too_much(array):
        return _send(answers, {"kind": "too large", "shape": array.shape})
    if rows is not None:
        block = np.ascontiguousarray(array[rows[0] : rows[1]] if array.shape else array[()])
        return _send(answers, {"bytes": block.nbytes}, block.data.cast("B") if block.nbytes else b"")
    offset = array.id.get_offset() if array.chunks is None and array.size else None
    facts: dict[str, Any] = {"shape": array.shape, "dtype": array.dtype.str, "offset": offset}
    return _send(answers, {"kind": "numbers", **facts})


def _check(item: Any, name: str, depth: int = 0) -> int:
    """Read and discard everything below a name, to verify that it can be read; returns the member count."""
    if depth > DEEPEST:
        raise ValueError(f"{name!r} is nested more than {DEEPEST} times")
    dict(item.attrs)
    if not isinstance(item, h5py.Dataset):
        members = 1
        for inner in item:
            if isinstance(item.get(inner, getlink=True), h5py.ExternalLink):
                raise ValueError(f"{name}/{inner} is in another file")
            members += _check(item[inner], f"{name}/{inner}", depth + 1)
            if members > MOST_MEMBERS:
                raise ValueError(f"{name!r} has over {MOST_MEMBERS:,} members")
        return members
    if item.external or item.is_virtual or item.shape is None:
        raise ValueError(f"{name!r} is not in the file itself")
    if _claims_too_much(item):
        raise ValueError(f"{name!r} claims the shape {item.shape}, more than its bytes can hold")
    if item.shape == ():
        item[()]
        return 1
    row = max(1, math.prod(item.shape[1:]) * item.dtype.itemsize)
    for start in range(0, item.shape[0], max(1, BLOCK // row)):
        item[start : start + max(1, BLOCK // row)]
    return 1


def _claims_too_much(array: h5py.Dataset) -> bool:
    """Whether an array would unpack to more than is possible for its stored bytes."""
    return bool(math.prod(array.shape) * array.dtype.itemsize > TIGHTEST * array.id.get_storage_size())


def _send(answers: BinaryIO, answer: dict[str, Any], content: memoryview | bytes = b"") -> None:
    answers.write(json.dumps(answer).encode() + b"\n")
    answers.write(content)
    answers.flush()


def _limit_memory(room: int) -> None:
    """Limit the growth of this process to ``room`` bytes, if the system supports it."""
    if sys.platform != "linux":
        return
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = pages * resource.getpagesize() + room
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard < 0 else min(limit, hard), hard))


def _limit_time(seconds: float) -> None:
    """Kill this process after this many more seconds of processor time, if the system supports it."""
    if sys.platform == "win32":
        return
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    limit = math.ceil(usage.ru_utime + usage.ru_stime + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (limit if hard < 0 else min(limit, hard), hard))


if __name__ == "__main__":
    main()
