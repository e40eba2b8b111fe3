"""Starting weights: a run may begin with those of a trained model instead of random ones."""

from dataclasses import replace
from pathlib import Path

from safetensors.torch import load_file
from torch import nn

from distaff.foundation.binding import to_plain
from distaff.foundation.errors import DistaffError, warn
from distaff.models.by_name import apart_from_data
from distaff.runs import checkpoints, hub
from distaff.runs.checkpoints import IN_FILES, Trained
from distaff.runs.folder import RunFolder
from distaff.runs.sections import GANConfig, in_zoo
from distaff.runs.settings import ModelSettings
from distaff.runs.zoo import zoo_folder


def starting_weights(place: str) -> Path:
    """The file of a trained model's weights, in a run folder, a hub folder or ``zoo:NAME``."""
    folder = _folder(place)
    if RunFolder(folder).config.is_file():
        return checkpoints.newest_weights(RunFolder(folder).trained, warn)[0]
    return hub.whole_weights(folder, hub.read_config(folder / hub.CONFIG)[2])


def model_like(asked: ModelSettings, place: str, gan: bool) -> ModelSettings:
    """The requested model; settings that are at their defaults are those of the model to start from."""
    folder = _folder(place)
    of_run = RunFolder(folder).config.is_file()
    config = RunFolder(folder).read() if of_run else hub.read_config(folder / hub.CONFIG)[0]
    kinds = ("a VAE", "a GAN")
    is_gan = isinstance(config.model, GANConfig)
    if is_gan != gan:
        raise DistaffError(f"--start {place} is {kinds[is_gan]}, and this recipe trains {kinds[gan]}.")
    # The command line gives every setting, and numbers of latents as text.
    still_open = {
        name for name, value in vars(ModelSettings()).items() if str(getattr(asked, name)) == str(value)
    }
    taken = {name: value for name, value in to_plain(config.model).items() if name in still_open}
    if "network" in taken and not is_gan:
        taken["network"] = apart_from_data(taken["network"])
    return replace(asked, **taken)


def _folder(place: str) -> Path:
    folder = zoo_folder(place) if in_zoo(place) else Path(place)
    if RunFolder(folder).config.is_file() or (folder / hub.CONFIG).is_file():
        return folder
    raise DistaffError(f"--start {place} is no trained model: give a run folder, a hub folder or zoo:NAME.")


def start_from(learner: Trained, place: str) -> None:
    """Load a trained model's weights into a learner; its optimisers and critics begin anew."""
    weights = starting_weights(place)
    for module in (learner.modules[name] for name in IN_FILES if name in learner.modules):
        with checkpoints.fitting(weights):
            _refuse_others(module, weights, place)
        checkpoints.load_weights(module, weights)


def _refuse_others(module: nn.Module, weights: Path, place: str) -> None:
    """Raise an error that names the first tensor of another shape."""
    there = {name: tuple(tensor.shape) for name, tensor in load_file(weights).items()}
    here = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    for name in [*here, *there]:
        if there.get(name) != here.get(name):
            raise DistaffError(
                f"--start {place} is another model: {name} is {there.get(name, 'absent')} there and "
                f"{here.get(name, 'absent')} here; give the latents, the network and the size of images "
                "that it was trained with."
            )
