"""A run folder, a hub folder, or a model that came with distaff, back as a trained model."""

from pathlib import Path

from distaff.data.dataset import Dataset
from distaff.foundation.errors import DistaffError
from distaff.foundation.trust import trusting
from distaff.models.ica import Unmixing
from distaff.models.representation import Representation
from distaff.runs import checkpoints, hub
from distaff.runs.config import Data, DataCall
from distaff.runs.folder import RunFolder, warn
from distaff.runs.latent_names import read_names
from distaff.runs.trained_model import trained_model
from distaff.runs.zoo import in_zoo, zoo_folder


def load(
    folder: str | Path,
    device: str = "cpu",
    step: int | None = None,
    ica: bool = False,
    trust: str | None = None,
) -> Representation:
    """The trained model in a run folder or in a ``distaff export --hub`` folder, or one of ``distaff zoo``.

    Args:
        folder: where it is, or ``zoo:NAME``.
        device: where it goes.
        step: an earlier step that a run kept a snapshot of; by default the last checkpoint.
        ica: encode to, and decode from, the components that ``distaff evaluate RUN --ica`` found.
        trust: modules of code that the folder may name, such as ``"mine"``, separated by commas; what you
            trained yourself, here, is trusted anyway.
    """
    with trusting(trust):
        return _load(zoo_folder(folder) if in_zoo(folder) else Path(folder), device, step, ica)


def _load(folder: Path, device: str, step: int | None, ica: bool) -> Representation:
    run = RunFolder(folder)
    if not run.config.exists() and (run.path / hub.CONFIG).is_file():
        if ica:
            raise DistaffError(f"{run.path} is a hub folder, which holds no ICA: load the run folder itself.")
        return hub.load_model(run.path, device)
    config = run.read()
    if step is None:
        weights, step = checkpoints.newest_weights(run.trained, warn)
    else:
        weights, step = checkpoints.snapshot_weights(run.snapshots, step)
    found = trained_model(config, step, weights, device, read_names(run))
    return found.unmixed(_unmixing(run, step) if ica else None)


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


def open_left_out(run: RunFolder) -> Dataset:
    """The combinations of factors that a run's ``leave_out`` kept from its data set."""
    data = run.read().data
    if "leave_out" not in data.options or data.spec is None:
        raise DistaffError(f"{run.path} was trained on all combinations of factors: nothing was left out.")
    return DataCall(data.spec, data.file, {**data.options, "left_out": True}).open()[0]
