"""Detect the lasting collapse of a GAN, warn about it once, and keep the run as it was before."""

import shutil
from collections.abc import Iterable, Mapping
from typing import Any

from distaff.foundation.errors import warn
from distaff.foundation.files import atomic_folder
from distaff.runs import checkpoints
from distaff.runs.folder import RunFolder
from distaff.runs.log import truncate_log

PATIENCE = 300
"""Number of steps that a collapse must last before a warning."""

FOOLED = 0.05
"""A collapsed discriminator recognises at most this fraction of generated images, and at least 1 minus this
fraction of real ones."""
REASON = "the discriminator takes every image for real, generated ones too: try infowgan_gp"

BEFORE = "before-collapse"
"""Name of a run folder, inside the run's own, that keeps the run as it was before the collapse."""

Line = Mapping[str, Any]


def has_collapsed(line: Line) -> bool:
    """Whether the discriminator takes every image for real, as in every plain run of FactorVAE's Fig. 24."""
    return bool(line["accuracy_fake"] <= FOOLED and line["accuracy_real"] >= 1 - FOOLED)


class CollapseWatch:
    """Watches the log lines of a GAN for a lasting collapse.

    When a collapse begins, the newest checkpoint, which is from before, is copied; if the collapse soon
    passes, the copy is deleted. Without a folder, nothing is written.
    """

    def __init__(self, folder: RunFolder | None) -> None:
        self.folder = folder
        self.sound, self.said = 0, False
        self._since: int | None = None
        if folder is not None:
            for half_written in folder.path.glob(f".{BEFORE}.*"):
                shutil.rmtree(half_written)

    def catch_up(self, lines: Iterable[Line]) -> None:
        """Process the lines that were written before a run was resumed."""
        for line in lines:
            self.see(line, anew=False)

    def see(self, line: Line, anew: bool = True) -> None:
        """Process a line; ``anew`` if it was not seen before."""
        if self.said:
            return
        before = self._since
        self._since = None if not has_collapsed(line) else self.sound if before is None else before
        if self._since is None:
            self.sound = int(line["step"])
        else:
            self.said = line["step"] - self._since >= PATIENCE
        if anew and self.folder is not None and (self._since is None) != (before is None):
            self._keep(self.folder) if before is None else self._drop(self.folder)
        if anew and self.said:
            warn(f"since step {self._since}, {REASON}; {self._kept()}")

    def _keep(self, folder: RunFolder) -> None:
        newest, reached = checkpoints.find(folder.checkpoints, warn)
        if newest is None:
            return
        with atomic_folder(folder.path / BEFORE) as new:
            copy = RunFolder(new)
            shutil.copy(folder.config, new)
            shutil.copy(folder.log, copy.log)
            truncate_log(copy.log, reached.step)
            shutil.copytree(newest, copy.checkpoints / newest.name)

    def _drop(self, folder: RunFolder) -> None:
        shutil.rmtree(folder.path / BEFORE, ignore_errors=True)

    def _kept(self) -> str:
        if self.folder is None or not (self.folder.path / BEFORE).exists():
            return "there is no checkpoint from before"
        return f"the run as it was before is kept in {self.folder.path / BEFORE}"
