"""The run folder: ``run.yaml``, what training and evaluation write beside it, and the trained model."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import torch
from filelock import FileLock, Timeout

from distaff.foundation.binding import allow, words_of_file
from distaff.foundation.errors import READ_ONLY, DistaffError, reason, warn
from distaff.foundation.files import read_text
from distaff.foundation.trust import remember, trusting
from distaff.foundation.untrusted_files import parse_yaml
from distaff.models.representation import Representation
from distaff.runs import checkpoints
from distaff.runs.checkpoints import is_as_written, write_sealed
from distaff.runs.config import RunConfig
from distaff.runs.differences import differences
from distaff.runs.latent_names import read_names
from distaff.runs.sections import in_zoo
from distaff.runs.snapshots import snapshot_weights

RESTORE = "restore it or train again"
LARGER = 2
"""Largest ratio of a model's size to that of its weights file, which holds all of it."""
SMALL = 1 << 24
"""Size in bytes up to which a model is built without this check."""


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
                differing = differences(self.read(), config)
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


@dataclass(frozen=True, eq=False)
class TrainedRun:
    """A run at one of its checkpoints, read at once: a run that is being trained soon has another."""

    folder: RunFolder
    config: RunConfig
    step: int
    model: Representation

    @classmethod
    def open(cls, folder: RunFolder, device: str = "cpu", step: int | None = None) -> "TrainedRun":
        """Open a run at its last checkpoint (the best one, if kept), or at the snapshot of a given step."""
        config = folder.read()
        if step is None:
            if config.training.patience is not None and folder.trained != folder.best:
                warn(f"{folder.path} has no best checkpoint: its last one is used")
            weights, step = checkpoints.newest_weights(folder.trained, warn)
        else:
            weights, step = snapshot_weights(folder.snapshots, step)
        names = read_names(folder) if folder.names.exists() else {}
        return cls(folder, config, step, trained_model(config, step, weights, device, names))


def trained_model(
    config: RunConfig, step: int, weights: Path, device: str = "cpu", titles: Mapping[str, str] | None = None
) -> Representation:
    """Build the model of a config and load its weights."""
    _refuse_larger(config, weights)
    try:
        model = config.model.build(config.data.shape, step, download=False)
    except DistaffError:
        raise
    except Exception as problem:  # networks of impossible sizes raise errors of many kinds
        raise _cannot_be(config, weights, reason(problem)) from problem
    checkpoints.load_weights(model, weights)
    return Representation(model.to(device), config.data.shape, config.data.made_of, titles)


def run_folder(place: str | Path) -> RunFolder:
    """The folder of a run by its path; for ``zoo:NAME``, a run folder in the cache, made on first use."""
    if not in_zoo(place):
        return RunFolder(Path(place))
    from distaff.runs.zoo import cached_folder  # which needs RunFolder

    return cached_folder(place)


def _refuse_larger(config: RunConfig, weights: Path) -> None:
    """Raise an error, before allocating memory, if the config's model is far larger than its weights."""
    size = 0
    # A user's own network may not support the meta device.
    with suppress(Exception), torch.device("meta"):
        tensors = config.model.build(config.data.shape, download=False).state_dict().values()
        size = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    try:
        held = weights.stat().st_size
    except OSError as problem:
        raise DistaffError(f"{weights} cannot be read ({problem.strerror or problem}).") from problem
    if size > max(SMALL, LARGER * held):
        raise _cannot_be(config, weights, f"it would take {size:,} bytes, its weights have {held:,}")


def _cannot_be(config: RunConfig, weights: Path, why: str) -> DistaffError:
    network = f"{config.model.network} with the latents {config.model.latents}"
    return DistaffError(
        f"the model beside {weights} cannot be built ({network} for observations {config.data.shape}): {why}."
    )
