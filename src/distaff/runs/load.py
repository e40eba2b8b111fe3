"""A run folder, a hub folder, or a model that came with distaff, back as a trained model."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import torch

from distaff.data.dataset import Dataset
from distaff.foundation.errors import DistaffError
from distaff.foundation.files import sha256
from distaff.foundation.trust import trusting
from distaff.models.encoders import weights_follow
from distaff.models.ica import Unmixing
from distaff.models.representation import Representation
from distaff.runs import checkpoints, hub
from distaff.runs.config import RunConfig
from distaff.runs.data_config import Data, DataCall
from distaff.runs.folder import RunFolder, read_names, warn
from distaff.runs.zoo import in_zoo, zoo_folder

LARGER = 2
"""Times that a model may be larger than the file of its weights, which hold all of it."""
SMALL = 1 << 24
"""Bytes up to which a model is built without asking."""


@dataclass(frozen=True, eq=False)
class TrainedRun:
    """A run as one of its checkpoints has it, read in one go: a run in training soon has another.

    Args:
        folder: where it is.
        config: what makes it.
        step: how many steps the model was trained for.
        model: as it was then.
    """

    folder: RunFolder
    config: RunConfig
    step: int
    model: Representation

    @classmethod
    def open(cls, folder: RunFolder, device: str = "cpu", step: int | None = None) -> "TrainedRun":
        """The run's last checkpoint, or the best if those are kept; or the snapshot of an earlier step."""
        config = folder.read()
        if step is None:
            weights, step = checkpoints.newest_weights(folder.trained, warn)
        else:
            weights, step = checkpoints.snapshot_weights(folder.snapshots, step)
        return cls(folder, config, step, _trained_model(config, step, weights, device, read_names(folder)))


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
        return _load_shared(run.path, device)
    found = TrainedRun.open(run, device, step)
    return found.model.unmixed(_unmixing(run, found.step)) if ica else found.model


def _load_shared(folder: Path, device: str) -> Representation:
    """The model of a folder that ``hub.write_model`` wrote, wherever it came from."""
    config, step, digest = hub.read_config(folder / hub.CONFIG)
    weights = folder / hub.WEIGHTS
    if not weights.is_file() or sha256(weights) != digest:
        raise DistaffError(f"{weights} is missing or damaged: export or download it again.")
    try:
        return _trained_model(config, step, weights, device)
    except DistaffError as problem:
        raise DistaffError(
            f"{weights} does not fit the model that {hub.CONFIG} describes: {str(problem).removesuffix('.')}."
        ) from problem


def _trained_model(
    config: RunConfig, step: int, weights: Path, device: str = "cpu", titles: Mapping[str, str] | None = None
) -> Representation:
    """The model that a config describes, with its weights.

    Args:
        config: what describes it.
        step: how many steps it was trained for.
        weights: the file that holds them.
        device: where it goes.
        titles: names that people gave to latents.
    """
    _refuse_larger(config, weights)
    try:
        with weights_follow():
            model = config.model.build(config.data.shape, step)
    except DistaffError:
        raise
    except Exception as problem:  # networks of sizes that cannot be raise whatever they happen to meet
        raise _cannot_be(config, weights, " ".join(str(problem).split())) from problem
    checkpoints.load_weights(model, weights)
    return Representation(model.to(device), config.data.shape, config.data.made_of, titles)


def _refuse_larger(config: RunConfig, weights: Path) -> None:
    """Say before memory is taken that a config asks for more than its weights can be."""
    size = 0
    # A network of a user's own may not build without memory.
    with suppress(Exception), torch.device("meta"), weights_follow():
        tensors = config.model.build(config.data.shape).state_dict().values()
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
    """The data set that a run was trained on; what is found must be the same data."""
    return run.read().data.reopen(data)


def open_left_out(run: RunFolder) -> Dataset:
    """The combinations of factors that a run's ``leave_out`` kept from its data set."""
    data = run.read().data
    if "leave_out" not in data.options or data.spec is None:
        raise DistaffError(f"{run.path} was trained on all combinations of factors: nothing was left out.")
    return DataCall(data.spec, data.file, {**data.options, "left_out": True}).open()[0]
