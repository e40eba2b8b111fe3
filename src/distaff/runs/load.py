"""Load a trained model from a run folder, a hub folder, or distaff's own models."""

from pathlib import Path

from distaff.data.dataset import Dataset
from distaff.foundation.errors import DistaffError
from distaff.foundation.trust import trusting
from distaff.models.ica import Unmixing
from distaff.models.representation import Representation
from distaff.runs import hub
from distaff.runs.calls import Data, DataCall
from distaff.runs.folder import RunFolder, TrainedRun, trained_model
from distaff.runs.sections import in_zoo
from distaff.runs.zoo import zoo_folder


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
        return trained_model(config, step, weights, device)
    except DistaffError as problem:
        raise DistaffError(
            f"{weights} does not fit the model that {hub.CONFIG} describes: {str(problem).removesuffix('.')}."
        ) from problem


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
    return DataCall(data.spec, data.file, {**data.options, "left_out": True}).open()
