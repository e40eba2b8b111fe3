"""The files that a request visits: which files of the package run, and how often execution changes files.

A reader who follows a command through the code visits every file that runs. Code that runs when a module is
imported does not count, since nobody follows it. ``python -m benchmarks.files_visited`` prints the counts;
``--list`` also prints the files.
"""

import contextlib
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import distaff
from distaff import cli

PACKAGE = f"{Path(distaff.__file__).parent}{os.sep}"
LIMITS = {"distaff train, one step": 32, "distaff evaluate RUN": 28, "distaff.evaluate, MIG": 8}


@dataclass
class Journey:
    """The files that a call visits.

    Args:
        calls: number of function calls by file, relative to the package.
        changes: number of calls, or returns from calls, that lead to another file of the package.
    """

    calls: Counter[str] = field(default_factory=Counter)
    changes: int = 0
    _here: str = ""

    def look(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE) or code.co_name == "<module>":
            return
        if _is_importing(frame):
            return
        file = code.co_filename.removeprefix(PACKAGE)
        self.calls[file] += 1
        self.changes += file != self._here
        self._here = file


def _is_importing(frame: FrameType) -> bool:
    """Whether a call comes from a module's own code, such as a class body or a decorator."""
    above: FrameType | None = frame
    while above is not None:
        if above.f_code.co_name == "<module>" and above.f_globals.get("__name__", "").startswith("distaff"):
            return True
        above = above.f_back
    return False


def journey(call: Callable[[], object]) -> Journey:
    """Follow a call, including its threads."""
    found = Journey()
    threading.setprofile(found.look)
    sys.setprofile(found.look)
    try:
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
            call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


def journeys(folder: Path) -> dict[str, Journey]:
    """A one-step run, its evaluation, and a metric of codes, each followed from its first call."""
    grid = np.stack(np.meshgrid(np.arange(8), np.arange(8), indexing="ij"), -1).reshape(-1, 2)
    images = np.zeros((64, 1, 16, 16), np.float32)
    for image, (row, column) in zip(images, grid, strict=True):
        image[0, row : row + 8, column : column + 8] = 1
    np.savez(folder / "data.npz", images=images, factors=grid, factor_names=["row", "column"])
    run, data = str(folder / "run"), str(folder / "data.npz")
    flags = ["--batch-size", "16", "--accelerator", "cpu", "--no-progress"]
    train = ["train", "vae", "--data", data, "--out", run, "--steps", "1", *flags]
    means = np.random.default_rng(0).normal(size=(64, 3))
    calls = (
        lambda: cli.main(train),
        lambda: cli.main(["evaluate", run, "--no-progress"]),
        lambda: distaff.evaluate(means, grid, metrics=["mig"]),
    )
    return {name: journey(call) for name, call in zip(LIMITS, calls, strict=True)}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = journeys(Path(folder))
    print(f"{'request':26}{'files':>6}{'limit':>7}{'changes':>9}")
    for name, one in found.items():
        print(f"{name:26}{len(one.calls):6}{LIMITS[name]:7}{one.changes:9}")
        if "--list" in sys.argv:
            for file, count in sorted(one.calls.items()):
                print(f"    {count:6}  {file}")


if __name__ == "__main__":
    main()
