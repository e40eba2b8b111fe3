"""The run folder: ``run.yaml`` and what training and evaluation leave beside it."""

import json
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from filelock import FileLock, Timeout

from distaff.foundation.errors import DistaffError
from distaff.foundation.files import json_text, write_text
from distaff.runs.config import RunConfig


@dataclass(frozen=True)
class RunFolder:
    """A folder with ``run.yaml`` and what training and evaluation leave there."""

    path: Path

    @property
    def config(self) -> Path:
        """What makes the run."""
        return self.path / "run.yaml"

    @property
    def checkpoints(self) -> Path:
        """Where checkpoints are."""
        return self.path / "checkpoint"

    @property
    def best(self) -> Path:
        """Where the checkpoint that did best on held-out data is, for runs that stop early."""
        return self.path / "best"

    @property
    def trained(self) -> Path:
        """Where the trained model is: among the best, if those are kept, or else the last."""
        return self.best if any(self.best.glob("step-*")) else self.checkpoints

    @property
    def snapshots(self) -> Path:
        """Where the model's weights at some steps are kept, if that was asked for."""
        return self.path / "snapshots"

    @property
    def log(self) -> Path:
        """The values of the terms through training: a JSON object per line, the mean since the line before.

        A value that is logged but excluded from the loss may be infinite or undefined: it is null in the
        file, and NaN to those who read it with ``read_log``.
        """
        return self.path / "log.jsonl"

    @property
    def codes(self) -> Path:
        """The encoded data set."""
        return self.path / "codes.safetensors"

    @property
    def scores(self) -> Path:
        """What evaluation found."""
        return self.path / "scores.json"

    @property
    def names(self) -> Path:
        """What people have called the latents."""
        return self.path / "names.json"

    @property
    def diverged(self) -> Path:
        """What became non-finite, if training stopped for that."""
        return self.path / "diverged.json"

    @property
    def figures(self) -> Path:
        """Pictures."""
        return self.path / "figures"

    def read(self) -> RunConfig:
        """The content of ``run.yaml``."""
        if not self.config.is_file():
            raise DistaffError(f"{self.path} is not a run folder: it has no run.yaml.")
        try:
            content = yaml.safe_load(self.config.read_text(encoding="utf-8"))
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise DistaffError(f"{self.config} is not readable YAML: restore it or train again.") from error
        try:
            return RunConfig.from_plain(content)
        except DistaffError as problem:
            words = str(problem).removesuffix(".")
            raise DistaffError(f"{self.config}: {words}: restore it or train again.") from problem

    def write(self, config: RunConfig) -> None:
        """Write ``run.yaml``."""
        write_text(self.config, config.to_yaml())

    def claim(self, config: RunConfig) -> None:
        """Make the folder this run's own; one of the same run is kept, one of another run is refused."""
        if self.config.exists():
            differing = self.read().differences(config)
            if differing:
                raise DistaffError(
                    f"{self.path} holds another run ({'; '.join(differing)}): choose another folder, "
                    "or use `distaff resume` to resume that one."
                )
            return
        if self.path.exists() and not all(file.name.startswith(".") for file in self.path.iterdir()):
            raise DistaffError(f"{self.path} holds files that are not a run: choose another folder.")
        self.write(config)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes from training in the folder; a process that dies lets go of it."""
        try:
            with FileLock(self.path / ".lock", timeout=0):
                yield
        except Timeout:
            raise DistaffError(
                f"another process is training in {self.path}: wait for it or stop it."
            ) from None


def read_log(path: Path) -> list[dict[str, Any]]:
    """The lines of a log; null is read as NaN, and a last line cut short by a kill is left out."""
    lines: list[dict[str, Any]] = []
    if path.exists():
        for text in path.read_text(encoding="utf-8").splitlines():
            try:
                line = json.loads(text)
            except json.JSONDecodeError:
                break
            lines.append({name: math.nan if value is None else value for name, value in line.items()})
    return lines


def truncate_log(path: Path, start: int) -> None:
    """Drop lines past step ``start``: those steps will be taken again."""
    if path.exists():
        kept = [line for line in read_log(path) if line["step"] <= start]
        write_text(path, "".join(json_text(line) + "\n" for line in kept))


def warn(message: str) -> None:
    """Tell the user something that does not stop the work."""
    warnings.warn(message, stacklevel=3)
