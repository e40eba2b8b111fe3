"""Load a trained model from a run folder, a hub folder, or distaff's own models."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import torch

from distaff.data.dataset import Dataset
from distaff.foundation.errors import DistaffError, reason, warn
from distaff.foundation.trust import trusting
from distaff.models.ica import Unmixing
from distaff.models.representation import Representation
from distaff.runs import checkpoints, hub
from distaff.runs.config import RunConfig
from distaff.runs.data_config import Data, DataCall
from distaff.runs.folder import RunFolder, read_names
from distaff.runs.snapshots import snapshot_weights
from distaff.runs.zoo import PREFIX, cached_folder, zoo_folder

LARGER = 2
"""Largest ratio of a model's size to that of its weights file, which holds all of it."""
SMALL = 1 << 24
"""Size in bytes up to which a model is built without this check."""


@dataclass(frozen=True, eq=False)
class TrainedRun:
    """A run at one of its checkpoints, read at once: a run that is being trained soon has another.

    Args:
        folder: the run's folder.
        config: the run's ``RunConfig``.
        step: number of steps of training.
        model: the model at that step.
    """

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
        return cls(folder, config, step, _trained_model(config, step, weights, device, read_names(folder)))


def in_zoo(place: str | Path) -> bool:
    """Whether a place names a model that comes with distaff."""
    return str(place).startswith(PREFIX)


def run_folder(place: str | Path) -> RunFolder:
    """The folder of a run by its path; for ``zoo:NAME``, a run folder in the cache, made on first use."""
    return cached_folder(place) if in_zoo(place) else RunFolder(Path(place))


def load(
    folder: str | Path,
    device: str = "cpu",
    step: int | None = None,
    ica: bool = False,
    trust: str | None = None,
) -> Representation:
    """Load a trained model from a run folder, a ``distaff export --hub`` folder, or ``distaff zoo``.

    Args:
        folder: path of the folder, or ``zoo:NAME``.
        device: device of the model.
        step: earlier step with a snapshot; by default the last checkpoint is loaded.
        ica: whether to encode to, and decode from, the components found by ``distaff evaluate RUN --ica``.
        trust: modules of your own that the folder may name, such as ``"mine"``, separated by commas; runs
            that you trained yourself on this machine are always trusted.
    """
    with trusting(trust):
        return _load(zoo_folder(folder) if in_zoo(folder) else Path(folder), device, step, ica)


def _load(folder: Path, device: str, step: int | None, ica: bool) -> Representation:
    run = RunFolder(folder)
    if not run.config.exists() and (run.path / hub.CONFIG).is_file():
        if ica:
            raise DistaffError(f"{run.path} is a hub folder, which holds no ICA: load the run folder itself.")
        return _load_shared(run.path, device)
    found = TrainedRun.open(run, device, step)
    return found.model.unmixed(_unmixing(run, found.step)) if ica else found.model


def _load_shared(folder: Path, device: str) -> Representation:
    """The model in a folder written by ``hub.write_model``."""
    config, step, digest = hub.read_config(folder / hub.CONFIG)
    weights = hub.whole_weights(folder, digest)
    try:
        return _trained_model(config, step, weights, device)
    except DistaffError as problem:
        raise DistaffError(
            f"{weights} does not fit the model that {hub.CONFIG} describes: {str(problem).removesuffix('.')}."
        ) from problem


def _trained_model(
    config: RunConfig, step: int, weights: Path, device: str = "cpu", titles: Mapping[str, str] | None = None
) -> Representation:
    """Build the model of a config and load its weights.

    Args:
        config: the run's ``RunConfig``.
        step: number of steps of training.
        weights: file of the weights.
        device: device of the model.
        titles: users' names for latents.
    """
    _refuse_larger(config, weights)
    try:
        model = config.model.build(config.data.shape, step, download=False)
    except DistaffError:
        raise
    except Exception as problem:  # networks of impossible sizes raise errors of many kinds
        raise _cannot_be(config, weights, reason(problem)) from problem
    checkpoints.load_weights(model, weights)
    return Representation(model.to(device), config.data.shape, config.data.made_of, titles)


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


def _unmixing(run: RunFolder, step: int) -> Unmixing:
    if not run.ica.is_file():
        raise DistaffError(f"{run.path} has no ICA yet: make one with distaff evaluate {run.path} --ica.")
    found, about = Unmixing.read(run.ica)
    if about.get("step") != str(step):
        raise DistaffError(
            f"the ICA in {run.path} is of step {about.get('step')}, not of {step}: "
            f"make it again with distaff evaluate {run.path} --ica."
        )
    return found


def open_data(run: RunFolder, data: Data | None = None) -> Dataset:
    """The data set that a run was trained on; an error if its content has changed."""
    return run.read().data.reopen(data)


def open_left_out(run: RunFolder) -> Dataset:
    """The combinations of factors that a run's ``leave_out`` removed from its data set."""
    data = run.read().data
    if "leave_out" not in data.options or data.spec is None:
        raise DistaffError(f"{run.path} was trained on all combinations of factors: nothing was left out.")
    return DataCall(data.spec, data.file, {**data.options, "left_out": True}).open()[0]
