"""The run folder: ``run.yaml`` and the files that training and evaluation write beside it."""

import hashlib
import math
import re
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from distaff.foundation.binding import allow, words_of_file
from distaff.foundation.errors import READ_ONLY, DistaffError, unknown, warn
from distaff.foundation.files import json_text, read_text, regular, write_json, write_text
from distaff.foundation.trust import remember, trusting
from distaff.foundation.untrusted_files import parse_json, parse_yaml, read_json
from distaff.runs import checkpoints
from distaff.runs.checkpoints import is_as_written, write_sealed
from distaff.runs.config import RunConfig

TEMPORARY = re.compile(r"\.(?P<name>.+)\.[a-z0-9_]{8}")
"""Name of a file while it is being written: its final name and eight random letters."""
STALE = 600.0
"""Seconds after which a temporary file of another command counts as left behind, not as being written."""
RESTORE = "restore it or train again"
LONGEST_NAME = 60
"""Largest number of characters in a user's name for a latent."""


@dataclass(frozen=True)
class RunFolder:
    """A folder with ``run.yaml`` and the files that training and evaluation write."""

    path: Path

    @property
    def config(self) -> Path:
        """The run's ``RunConfig``."""
        return self.path / "run.yaml"

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoints."""
        return self.path / "checkpoint"

    @property
    def best(self) -> Path:
        """The folder of the checkpoint that is best on held-out data, for runs with early stopping."""
        return self.path / "best"

    @property
    def trained(self) -> Path:
        """The folder of the trained model: ``best`` if there is one, else ``checkpoints``."""
        return self.best if any(self.best.glob("step-*")) else self.checkpoints

    @property
    def snapshots(self) -> Path:
        """The folder of snapshots of the model's weights, if there are any."""
        return self.path / "snapshots"

    @property
    def log(self) -> Path:
        """The log of training: one JSON object per line, with means of all terms since the previous line.

        A value that is logged but excluded from the loss may be infinite or undefined: it is null in the
        file, and ``read_log`` reads it as NaN.
        """
        return self.path / "log.jsonl"

    @property
    def codes(self) -> Path:
        """The encoded data set."""
        return self.path / "codes.safetensors"

    @property
    def codes_manifest(self) -> Path:
        """The hash of the encoded data set."""
        return self.path / "codes.json"

    @property
    def scores(self) -> Path:
        """The scores of evaluation."""
        return self.path / "scores.json"

    @property
    def ica(self) -> Path:
        """The ICA of the run's codes, if there is one."""
        return self.path / "ica.safetensors"

    @property
    def held_out_scores(self) -> Path:
        """The scores of evaluation on held-out data."""
        return self.path / "scores-held-out.json"

    @property
    def ica_scores(self) -> Path:
        """The scores of evaluation of the ICA's components."""
        return self.path / "scores-ica.json"

    def scores_on(self, data: str) -> Path:
        """The scores of a study on other data than the run was trained on, described by one line of text."""
        return self.path / f"scores-on-{hashlib.sha256(data.encode()).hexdigest()[:10]}.json"

    @property
    def names(self) -> Path:
        """Users' names for the latents."""
        return self.path / "names.json"

    @property
    def trackers(self) -> Path:
        """Identifiers of the run in experiment trackers, used to continue it."""
        return self.path / "trackers.json"

    @property
    def diverged(self) -> Path:
        """A record of what became non-finite, if training stopped because of it."""
        return self.path / "diverged.json"

    @property
    def preview(self) -> Path:
        """A page of first images, written while the run trains."""
        return self.path / "preview.html"

    @property
    def figures(self) -> Path:
        """The folder of figures."""
        return self.path / "figures"

    def read(self) -> RunConfig:
        """Read ``run.yaml``; code that it names must be trusted, see ``trusting``."""
        if not self.config.is_file():
            raise DistaffError(f"{self.path} is not a run folder: it has no run.yaml.")
        try:
            text = read_text(self.config)
            content = parse_yaml(text, str(self.config))
        except DistaffError as problem:
            raise DistaffError(f"{str(problem).removesuffix('.')}: {RESTORE}.") from problem
        with words_of_file(self.config, RESTORE):
            config = RunConfig.from_plain(content)
            allow(config.code)
        if not is_as_written(text):
            raise DistaffError(
                f"{self.config} is not as it was written: restore it, or remove its last line, which holds "
                "its hash, if you changed it on purpose."
            )
        return config

    def write(self, config: RunConfig) -> None:
        """Write ``run.yaml``."""
        write_sealed(self.config, config.to_yaml())

    def check(self, config: RunConfig) -> None:
        """Raise an error if the folder holds another run, or files that are not a run; write nothing."""
        if self.config.exists():
            with trusting(*config.code):
                differing = self.read().differences(config)
            if differing:
                raise DistaffError(
                    f"{self.path} holds another run ({'; '.join(differing)}): choose another folder, "
                    "or use `distaff resume` to resume that one."
                )
            return
        self.refuse_file()
        if self.path.exists() and not all(file.name.startswith(".") for file in self.path.iterdir()):
            raise DistaffError(f"{self.path} holds files that are not a run: choose another folder.")

    def refuse_file(self) -> None:
        """Raise an error if there is a file in the place of the folder or of one above it."""
        for place in (self.path, *self.path.parents):
            if place.is_file():
                raise DistaffError(f"{place} is a file, and a run is a folder: choose another name.")

    def claim(self, config: RunConfig, held: RunConfig | None = None) -> None:
        """Make the folder this run's own; keep it if it holds the same run, raise an error for another run.

        Code that ``config`` names was given by the caller, and is trusted from now on.

        Args:
            config: the run.
            held: run that the folder may hold instead, such as the same run with fewer steps.
        """
        self.check(config if held is None else held)
        if held is not None or not self.config.exists():
            self.write(config)
        if code := config.code:
            remember(self.path, code)

    def remove_leftovers(self) -> None:
        """Delete files that a killed process left half-written; call it with the folder locked.

        Under the lock, no other process writes files that only training writes. Scores, codes and names are
        written by commands that need no lock: their temporary files are deleted once they are old.
        """
        for place in (self.checkpoints, self.best):
            checkpoints.remove_leftovers(place)
        own = {self.config.name, self.log.name, self.diverged.name}
        for place, all_ours in ((self.path, False), (self.snapshots, True)):
            for file in place.glob(".*"):
                found = TEMPORARY.fullmatch(file.name)
                ours = found and (all_ours or found["name"] in own)
                if found and file.is_file() and (ours or time.time() - file.stat().st_mtime > STALE):
                    file.unlink(missing_ok=True)

    @property
    def being_trained(self) -> bool:
        """Whether another process is training in the folder."""
        if not (self.path / ".lock").exists():
            return False
        try:
            with self.lock():
                return False
        except DistaffError:
            return True
        except OSError as problem:
            if problem.errno not in READ_ONLY:
                raise
            return False  # a folder that may only be read does not say

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes from training in the folder; the lock ends with the process."""
        self.path.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(self.path / ".lock", timeout=0):
                yield
        except Timeout:
            raise DistaffError(
                f"another process is training in {self.path}: wait for it or stop it."
            ) from None


def read_log(path: Path) -> list[dict[str, Any]]:
    """The lines of a log; null is read as NaN.

    Damaged lines, such as one that a killed process cut short, are left out with a warning.
    """
    try:
        texts = regular(path).read_bytes().splitlines()
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise DistaffError(f"{path} cannot be read ({problem.strerror or problem}).") from problem
    lines = [line for text in texts if (line := log_line(text)) is not None]
    if len(lines) < len(texts):
        warn(f"{path}: {len(texts) - len(lines)} of {len(texts)} lines are damaged and left out")
    return lines


def log_line(text: bytes) -> dict[str, Any] | None:
    """The numbers of a line by name, including its step; None if the line is damaged."""
    try:
        line = parse_json(text)
    except DistaffError:
        return None
    if not isinstance(line, dict) or type(line.get("step")) is not int:
        return None
    numbers = {name: math.nan if value is None else value for name, value in line.items()}
    return numbers if all(type(value) in (int, float) for value in numbers.values()) else None


def truncate_log(path: Path, start: int) -> None:
    """Delete lines after step ``start``: those steps will be repeated."""
    if path.exists():
        kept = [line for line in read_log(path) if line["step"] <= start]
        write_text(path, "".join(json_text(line) + "\n" for line in kept))


def read_names(folder: RunFolder) -> dict[str, str]:
    """Latent → a user's name for it, such as "x position"; latents without one are absent."""
    try:
        content = read_json(folder.names)
    except FileNotFoundError:
        return {}
    except DistaffError as error:
        raise DistaffError(f"{folder.names} is not readable JSON: correct it or remove it.") from error
    if not isinstance(content, dict) or not all(isinstance(title, str) for title in content.values()):
        raise DistaffError(f"{folder.names} should map latents to texts: correct it or remove it.")
    return content


def save_name(folder: RunFolder, latents: Collection[str], latent: str, title: str) -> dict[str, str]:
    """Name one of the run's ``latents``, or remove its name with an empty text; returns all names."""
    if latent not in latents:
        raise unknown("latent", latent, latents)
    title = " ".join("".join(c if c.isprintable() else " " for c in title).split())
    if len(title) > LONGEST_NAME:
        raise DistaffError(f"a latent's name may have {LONGEST_NAME} characters, not {len(title)}.")
    names = {**read_names(folder), latent: title}
    write_json(folder.names, {name: names[name] for name in sorted(names) if names[name]})
    return read_names(folder)
