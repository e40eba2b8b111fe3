"""The process in which HDF5 files are read: a program of its own, which imports nothing of distaff.

A damaged HDF5 file can send its library round in circles, take all memory, or bring the process down. So a
child does the reading, within a limit of memory, and whoever asks may end it at any time. Requests come in on
standard input, a line of JSON each; an answer is a line of JSON, and behind it as many bytes as that says.
"""

import json
import math
import sys
from pathlib import Path
from typing import Any, BinaryIO

import h5py
import numpy as np

TIGHTEST = 1100
"""Times that compressed numbers may grow when they are unpacked: deflate reaches 1,032."""
MOST_TEXTS = 10_000
"""Texts that an array may have."""


def main() -> None:
    """Answer requests until there are no more; arguments: the file, bytes to grow by, seconds for each."""
    seconds = float(sys.argv[3])
    _limit_memory(int(sys.argv[2]))
    _limit_time(seconds)
    answers = sys.stdout.buffer
    with h5py.File(sys.argv[1], "r") as file:
        for line in sys.stdin:
            request = json.loads(line)
            _limit_time(seconds)
            try:
                _answer(file, answers, **request)
            except Exception as problem:  # a library fed damaged bytes raises whatever it happens to meet
                _send(answers, {"error": str(problem).partition("\n")[0] or type(problem).__name__})


def _answer(file: h5py.File, answers: BinaryIO, key: str, rows: list[int] | None = None) -> None:
    """What stands under ``key``: what it is, without ``rows``; those rows, with them."""
    array = file.get(key)
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
    if math.prod(array.shape) * array.dtype.itemsize > TIGHTEST * array.id.get_storage_size():
        return _send(answers, {"kind": "too large", "shape": array.shape})
    if rows is not None:
        block = np.ascontiguousarray(array[rows[0] : rows[1]] if array.shape else array[()])
        return _send(answers, {"bytes": block.nbytes}, block.data.cast("B") if block.nbytes else b"")
    offset = array.id.get_offset() if array.chunks is None and array.size else None
    facts: dict[str, Any] = {"shape": array.shape, "dtype": array.dtype.str, "offset": offset}
    return _send(answers, {"kind": "numbers", **facts})


def _send(answers: BinaryIO, answer: dict[str, Any], content: memoryview | bytes = b"") -> None:
    answers.write(json.dumps(answer).encode() + b"\n")
    answers.write(content)
    answers.flush()


def _limit_memory(room: int) -> None:
    """Let this process grow by ``room`` bytes at most, where the system can."""
    if sys.platform != "linux":
        return
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = pages * resource.getpagesize() + room
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard < 0 else min(limit, hard), hard))


def _limit_time(seconds: float) -> None:
    """End this process when it has computed for so many seconds more, where the system can."""
    if sys.platform == "win32":
        return
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    limit = math.ceil(usage.ru_utime + usage.ru_stime + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (limit if hard < 0 else min(limit, hard), hard))


if __name__ == "__main__":
    main()
