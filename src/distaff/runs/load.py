"""A run folder, or a hub folder, back as a trained model."""

from pathlib import Path

from distaff.data.dataset import Dataset
from distaff.foundation.trust import trusting
from distaff.models.representation import Representation
from distaff.runs import checkpoints, hub
from distaff.runs.config import Data
from distaff.runs.folder import RunFolder, warn
from distaff.runs.trained_model import trained_model


def load(
    folder: str | Path, device: str = "cpu", step: int | None = None, trust: str | None = None
) -> Representation:
    """The trained model in a run folder or in a ``distaff export --hub`` folder.

    Args:
        folder: where it is.
        device: where it goes.
        step: an earlier step that a run kept a snapshot of; by default the last checkpoint.
        trust: modules of code that the folder may name, such as ``"mine"``, separated by commas; what you
            trained yourself, here, is trusted anyway.
    """
    with trusting(trust):
        return _load(Path(folder), device, step)


def _load(folder: Path, device: str, step: int | None) -> Representation:
    run = RunFolder(folder)
    if not run.config.exists() and (run.path / hub.CONFIG).is_file():
        return hub.load_model(run.path, device)
    config = run.read()
    if step is None:
        weights, step = checkpoints.newest_weights(run.checkpoints, warn)
    else:
        weights, step = checkpoints.snapshot_weights(run.snapshots, step)
    return trained_model(config, step, weights, device)


def open_data(run: RunFolder, data: Data | None = None) -> Dataset:
    """The data set that a run was trained on; what is found must be the same data."""
    return run.read().data.reopen(data)
