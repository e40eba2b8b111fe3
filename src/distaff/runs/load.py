"""A run folder, or a hub folder, back as a trained model."""

from pathlib import Path

from distaff.data.dataset import Dataset
from distaff.foundation.errors import DistaffError
from distaff.models.ica import Unmixing
from distaff.models.representation import Representation
from distaff.runs import checkpoints, hub
from distaff.runs.config import Data, DataCall
from distaff.runs.folder import RunFolder, warn


def load(
    folder: str | Path, device: str = "cpu", step: int | None = None, ica: bool = False
) -> Representation:
    """The trained model in a run folder or in a ``distaff export --hub`` folder.

    Args:
        folder: where it is.
        device: where it goes.
        step: an earlier step that a run kept a snapshot of; by default the last checkpoint.
        ica: encode to, and decode from, the components that ``distaff evaluate RUN --ica`` found.
    """
    run = RunFolder(Path(folder))
    if not run.config.exists() and (run.path / hub.CONFIG).is_file():
        if ica:
            raise DistaffError(f"{run.path} is a hub folder, which holds no ICA: load the run folder itself.")
        return hub.load_model(run.path, device)
    config = run.read()
    if step is None:
        weights, step = checkpoints.newest_weights(run.checkpoints, warn)
    else:
        weights, step = checkpoints.snapshot_weights(run.snapshots, step)
    model = config.model.build(config.data.shape, step)
    checkpoints.load_weights(model, weights)
    return Representation(model.to(device), config.data.shape, _unmixing(run, step) if ica else None)


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
    """The data set that a run was trained on; what is found must be the same data."""
    return run.read().data.reopen(data)


def open_held_out(run: RunFolder) -> Dataset:
    """The combinations of factors that a run's ``hold_out`` left out of its data set."""
    data = run.read().data
    if "hold_out" not in data.options or data.spec is None:
        raise DistaffError(f"{run.path} was trained on all combinations of factors: nothing was held out.")
    return DataCall(data.spec, data.file, {**data.options, "held_out": True}).open()[0]
