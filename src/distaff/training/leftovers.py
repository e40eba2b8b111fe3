"""What a killed process leaves in a run folder, and its removal by the next one that trains there."""

import re
import time
from pathlib import Path

from distaff.runs import checkpoints
from distaff.runs.folder import RunFolder

TEMPORARY = re.compile(r"\.(?P<name>.+)\.[a-z0-9_]{8}")
"""The name of a file while it is written: that which it gets once it is whole, and eight random letters."""
STALE = 600.0
"""Seconds after which a temporary file of another command, which may be under way, is one left behind."""


def remove_leftovers(folder: RunFolder) -> None:
    """Drop half-written files; call it with the folder locked.

    What training alone writes nobody else is writing now. Scores, codes and names are written by commands
    that need no lock: theirs are dropped once they are old.
    """
    checkpoints.remove_leftovers(folder.checkpoints)
    own = {folder.config.name, folder.log.name, folder.diverged.name}
    for place, all_ours in ((folder.path, False), (folder.snapshots, True)):
        for file in place.glob(".*"):
            found = TEMPORARY.fullmatch(file.name)
            if found and file.is_file() and (all_ours or found["name"] in own or _is_stale(file)):
                file.unlink(missing_ok=True)


def _is_stale(file: Path) -> bool:
    return time.time() - file.stat().st_mtime > STALE
