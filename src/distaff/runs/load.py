"""A run folder, or a hub folder, back as a trained model."""

from pathlib import Path

from distaff.data.dataset import Dataset
from distaff.models.representation import Representation
from distaff.runs import checkpoints, hub
from distaff.runs.config import Data
from distaff.runs.folder import RunFolder, warn
from distaff.runs.latent_names import read_names


def load(folder: str | Path, device: str = "cpu", step: int | None = None) -> Representation:
    """The trained model in a run folder or in a ``distaff export --hub`` folder.

    Args:
        folder: where it is.
        device: where it goes.
        step: an earlier step that a run kept a snapshot of; by default the last checkpoint.
    """
    run = RunFolder(Path(folder))
    if not run.config.exists() and (run.path / hub.CONFIG).is_file():
        return hub.load_model(run.path, device)
    config = run.read()
    if step is None:
        weights, step = checkpoints.newest_weights(run.trained, warn)
    else:
        weights, step = checkpoints.snapshot_weights(run.snapshots, step)
    model = config.model.build(config.data.shape, step)
    checkpoints.load_weights(model, weights)
    return Representation(model.to(device), config.data.shape, config.data.made_of, read_names(run))


def open_data(run: RunFolder, data: Data | None = None) -> Dataset:
    """The data set that a run was trained on; what is found must be the same data."""
    return run.read().data.reopen(data)
