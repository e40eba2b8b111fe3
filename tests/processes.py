"""Processes of their own that need not import torch first: forked from one that did, and nothing else."""

import contextlib
import os
import runpy
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from distaff import cli

ROOT = Path(__file__).parents[1]
FORKSERVER = get_context("forkserver")
FORKSERVER.set_forkserver_preload(
    ["distaff.studies.worker", "distaff.analysis.report", "torch.utils.tensorboard"]
)


@dataclass(frozen=True)
class Done:
    """How a process ended, with subprocess's names."""

    returncode: int
    stdout: str
    stderr: str


class Forked:
    """A function under way in a process that can be signalled and killed as any other.

    Args:
        function: of a module, as it is found there by its name.
        arguments: of the function.
        before: what to do first, such as setting limits.
    """

    def __init__(
        self, function: Callable[..., Any], *arguments: object, before: Callable[[], Any] | None = None
    ) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._printed = Path(self._folder.name)
        self.process = FORKSERVER.Process(target=_work, args=(function, arguments, self._printed, before))
        self.process.start()

    @property
    def running(self) -> bool:
        return self.process.exitcode is None

    def send(self, number: signal.Signals) -> None:
        """Send a signal; nothing happens if the process has ended meanwhile, as with ``subprocess``."""
        assert self.process.pid is not None
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid, number)

    def end(self, timeout: float = 300) -> Done:
        """How it ended, once it has."""
        self.process.join(timeout)
        assert self.process.exitcode is not None, f"still running after {timeout} s"
        return Done(self.process.exitcode, *((self._printed / name).read_text() for name in ("out", "err")))


def distaff(*arguments: object, before: Callable[[], Any] | None = None) -> Forked:
    """``distaff …``, begun."""
    return Forked(cli.main, list(map(str, arguments)), before=before)


def script(path: Path, folder: Path, **environment: str) -> Forked:
    """``python path``, begun in a folder."""
    return Forked(_script, path, folder, environment)


def _script(path: Path, folder: Path, environment: dict[str, str]) -> None:
    os.environ |= environment
    os.chdir(folder)
    tempfile.tempdir = None
    sys.path.insert(0, str(path.parent))
    sys.argv = [str(path)]
    runpy.run_path(str(path), run_name="__main__")


def _work(
    function: Callable[..., Any],
    arguments: tuple[object, ...],
    printed: Path,
    before: Callable[[], Any] | None,
) -> None:
    for number, name in ((1, "out"), (2, "err")):
        file = os.open(printed / name, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        os.dup2(file, number)
    os.chdir(ROOT)
    if before is not None:
        before()
    function(*arguments)
