"""The run folder: ``run.yaml`` holds the calls that made a run, so that it can be made again."""

import platform
import subprocess
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
import yaml
from filelock import FileLock, Timeout

from distaff._version import __version__
from distaff.calls import bind, public_functions, to_plain
from distaff.errors import DistaffError, unknown
from distaff.files import write_text, yaml_text
from distaff.objectives import recipes
from distaff.training.former import in_todays_words

LIBRARIES = ("torch", "numpy", "lightning-fabric", "safetensors")
CALLS = {
    "recipe": ("name", "arguments"),
    "data": ("spec", "file", "options", "name", "size", "shape", "fingerprint"),
    "model": ("latents", "network"),
    "training": ("steps", "batch_size", "seed", "learning_rate", "betas", "amsgrad", "precision"),
}
"""The sections of ``run.yaml`` and what none of them can do without."""
MODELS = {"vae": ("prior", "temperature", "likelihood"), "infogan": ("norm",)}
"""What the section of a model of each kind cannot do without beside; one that names no kind is a VAE."""


@dataclass(frozen=True)
class RunFolder:
    """A folder with ``run.yaml`` and what training and evaluation leave there."""

    path: Path

    @property
    def checkpoints(self) -> Path:
        """Where checkpoints are."""
        return self.path / "checkpoint"

    @property
    def snapshots(self) -> Path:
        """Where the model's weights at some steps are kept, if that was asked for."""
        return self.path / "snapshots"

    @property
    def log(self) -> Path:
        """The values of the terms through training."""
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

    def read(self) -> dict[str, Any]:
        """The content of ``run.yaml``."""
        file = self.path / "run.yaml"
        if not file.is_file():
            raise DistaffError(f"{self.path} is not a run folder: it has no run.yaml.")
        try:
            content = yaml.safe_load(file.read_text(encoding="utf-8"))
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise DistaffError(f"{file} is not readable YAML: restore it or train again.") from error
        missing = _missing(content)
        if missing:
            raise DistaffError(f"{file} lacks {', '.join(missing)}: restore it or train again.")
        made_with = content.get("made_with")
        version = made_with.get("distaff") if isinstance(made_with, dict) else None
        return in_todays_words(content, version)

    def claim(self, calls: Mapping[str, Any]) -> None:
        """Make the folder this run's own; one of the same run is kept, one of another run is refused."""
        if (self.path / "run.yaml").exists():
            held = self.read()
            held["recipe"] = _with_defaults(held["recipe"])
            differing = [
                difference for key in CALLS for difference in _differences(key, held[key], calls[key])
            ]
            if differing:
                raise DistaffError(
                    f"{self.path} holds another run ({'; '.join(differing)}): choose another folder, "
                    "or use `distaff resume` to go on with that one."
                )
            return
        if self.path.exists() and not all(file.name.startswith(".") for file in self.path.iterdir()):
            raise DistaffError(f"{self.path} holds files that are not a run: choose another folder.")
        self.write(calls)

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

    def write(self, calls: Mapping[str, Any]) -> None:
        """Write ``run.yaml``, with what it was made with."""
        content = {**{key: calls[key] for key in CALLS}, "made_with": _surroundings()}
        write_text(self.path / "run.yaml", yaml_text(content))


def warn(message: str) -> None:
    """Tell the user something that does not stop the work."""
    warnings.warn(message, stacklevel=3)


def _missing(content: Any) -> list[str]:
    given = content if isinstance(content, dict) else {}
    sections = {name: s if isinstance(s := given.get(name), dict) else {} for name in CALLS}
    kind = sections["model"].get("kind", "vae")
    if kind not in MODELS:
        raise unknown("kind of model in run.yaml", str(kind), MODELS)
    needed = {**CALLS, "model": CALLS["model"] + MODELS[kind]}
    return [f"{name}.{key}" for name, keys in needed.items() for key in keys if key not in sections[name]]


def _with_defaults(recipe: Mapping[str, Any]) -> Mapping[str, Any]:
    """A recipe's call with the arguments that it has come to take since, at their defaults."""
    function = public_functions(recipes).get(recipe["name"])
    if function is None:
        return recipe
    return {"name": recipe["name"], "arguments": to_plain(bind(function, recipe["arguments"]))}


def _differences(prefix: str, held: Any, asked: Any) -> list[str]:
    if isinstance(held, dict) and isinstance(asked, dict):
        keys = [*held, *(key for key in asked if key not in held)]
        return [d for key in keys for d in _differences(str(key), held.get(key), asked.get(key))]
    return [] if held == asked else [f"{prefix} is {held} there, not {asked}"]


def _surroundings() -> dict[str, Any]:
    libraries = {library: version(library) for library in LIBRARIES}
    return {
        "distaff": __version__,
        "python": platform.python_version(),
        **libraries,
        "threads": torch.get_num_threads(),
        "git": _commit(),
    }


def _commit() -> str | None:
    command = ["git", "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except OSError:
        return None
    return done.stdout.strip() or None
