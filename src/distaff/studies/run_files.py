"""The small files in a study's run folders, of which there may be thousands; damaged ones count as empty."""

import itertools
import os
import socket
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from annotated_types import Gt
from pydantic import StrictFloat, StrictInt, StrictStr, TypeAdapter, ValidationError

from distaff.foundation.errors import DistaffError
from distaff.foundation.files import parse_yaml, read_json, read_text, regular, write_json
from distaff.metrics.score import Scores
from distaff.metrics.scores_json import Setup
from distaff.runs.folder import log_line

Phase = Literal["training", "scoring"]
TAIL = 16_384
"""Number of bytes at the end of a log that hold at least one whole line."""
STILL_ALIVE = 900.0
"""Seconds after its last write for which a worker on another machine counts as alive."""
WORK = ".work.json"


@dataclass(frozen=True)
class Work:
    """A note that a worker writes to the folder of its run."""

    phase: Phase
    process: Annotated[StrictInt, Gt(0)]
    machine: StrictStr
    since: StrictFloat

    @classmethod
    def note(cls, folder: Path, phase: Phase) -> None:
        """Write a note about this process."""
        note = cls(phase, os.getpid(), socket.gethostname(), time.time())
        write_json(folder / WORK, vars(note))

    @classmethod
    def read(cls, folder: Path) -> "Work | None":
        """The note in a folder, if there is one."""
        try:
            return _WORK.validate_python(read_json(folder / WORK))
        except (OSError, ValidationError, DistaffError):
            return None

    def is_alive(self, log: Path) -> bool:
        """Whether the worker exists: checked on this machine, assumed on others while the log grows."""
        if self.machine != socket.gethostname():
            written = max(self.since, log.stat().st_mtime if log.exists() else 0)
            return time.time() - written < STILL_ALIVE
        try:
            os.kill(self.process, 0)
        except (ProcessLookupError, OverflowError):
            return False
        except PermissionError:
            return True
        return True


_WORK = TypeAdapter(Work)


class Measurement(NamedTuple):
    """The data of one score for tables, or why a metric has none."""

    metric: str
    setup: Setup
    name: str
    value: float
    reason: str


class Measured(NamedTuple):
    """The data of a file of scores for tables, cached for each run of a large study."""

    step: int | None = None
    seconds: float = 0.0
    entries: tuple[Measurement, ...] = ()


def measured(path: Path) -> Measured:
    """The file's content for tables, cached until the file changes; empty if there is no file."""
    return _measured(path, *_stamp(path))


def scores(path: Path) -> Scores:
    """The file's whole content; the last few files are cached until they change."""
    return _scores(path, *_stamp(path))


def last_line(path: Path) -> dict[str, Any]:
    """The last whole line of a log; empty if there is none."""
    try:
        with regular(path).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
            lines = file.read(TAIL).splitlines()
    except OSError:
        return {}
    for line in reversed(lines):
        if (content := log_line(line)) is not None:
            return content
    return {}


def section(path: Path, name: str) -> dict[str, Any]:
    """One section of ``run.yaml``, without reading the others, which takes longest; empty if absent."""
    try:
        text = read_text(path)
    except (OSError, DistaffError):
        return {}
    after = f"\n{text}".partition(f"\n{name}:\n")[2]
    lines = itertools.takewhile(lambda line: line.startswith(" "), after.splitlines())
    return dict(_mapping("\n".join(lines)))


def failure(path: Path) -> str | None:
    """The error in the file of a failed try."""
    try:
        content = read_json(path)
    except FileNotFoundError:
        return None
    except DistaffError:
        content = None
    error = content.get("error") if isinstance(content, dict) else None
    return error if isinstance(error, str) else f"{path.name} is damaged"


def _stamp(path: Path) -> tuple[int, ...]:
    """A file's times, size and place on disk, which change when the file changes."""
    try:
        now = os.stat(path)
    except OSError:
        return ()
    return now.st_mtime_ns, now.st_ctime_ns, now.st_size, now.st_ino


@lru_cache(maxsize=1 << 15)
def _measured(path: Path, *stamp: int) -> Measured:
    found = _scores(path, *stamp)
    entries = (
        Measurement(e.metric, e.setup, e.content.get("name", ""), e.value, e.reason) for e in found.entries
    )
    return Measured(found.step, found.seconds, tuple(entries))


@lru_cache(maxsize=16)
def _scores(path: Path, *stamp: int) -> Scores:
    return Scores.read(path) if stamp else Scores()


@lru_cache(maxsize=64)
def _mapping(text: str) -> dict[str, Any]:
    """The mapping in a YAML text, cached because the runs of a study have most sections in common."""
    try:
        content = parse_yaml(text)
    except DistaffError:
        return {}
    return content if isinstance(content, dict) else {}
