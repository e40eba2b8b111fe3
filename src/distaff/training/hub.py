"""A trained model as a folder to share, as on the Hugging Face hub: config.json and model.safetensors."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

from distaff._version import __version__
from distaff.calls import split_call
from distaff.errors import DistaffError
from distaff.files import atomic_file, sha256, write_json
from distaff.models.representation import Representation
from distaff.training.former import in_todays_words
from distaff.training.kinds import kind_of

CONFIG, WEIGHTS = "config.json", "model.safetensors"
LIBRARY = "distaff"
SECTIONS = {
    "recipe": ("name", "arguments"),
    "data": ("name", "size", "shape", "fingerprint"),
    "model": ("latents", "network"),
    "training": ("steps", "batch_size", "seed", "learning_rate"),
}
"""What of ``run.yaml`` is shared: nothing that speaks of places on the machine it was made on."""


def holds_model(folder: Path) -> bool:
    """Whether a folder is such a one, and not a run folder."""
    return (folder / CONFIG).is_file() and not (folder / "run.yaml").exists()


def write_model(folder: Path, trained: Representation, calls: Mapping[str, Any], step: int) -> None:
    """Write the weights, then the config with their hash: only the two together can be loaded."""
    tensors = {name: t.detach().cpu().contiguous() for name, t in trained.model.state_dict().items()}
    with atomic_file(folder / WEIGHTS) as temporary:
        save_file(tensors, temporary, {"format": "pt"})
    sections = {
        name: {key: value for key, value in calls[name].items() if name != "data" or key in keys}
        for name, keys in SECTIONS.items()
    }
    facts = {"library_name": LIBRARY, "library_version": __version__, "step": step}
    write_json(folder / CONFIG, {**facts, **sections, "sha256": {WEIGHTS: sha256(folder / WEIGHTS)}})


def load_model(folder: Path, device: str = "cpu") -> Representation:
    """The model of a folder that ``write_model`` wrote, wherever it came from."""
    config = _read(folder / CONFIG)
    _refuse_unknown_code(config["model"]["network"])
    weights = folder / WEIGHTS
    if not weights.is_file() or sha256(weights) != config["sha256"][WEIGHTS]:
        raise DistaffError(f"{weights} is missing or damaged: export or download it again.")
    kind = kind_of(config)
    model = kind.build(config)
    try:
        model.load_state_dict(load_file(weights))
    except RuntimeError as error:
        raise DistaffError(f"{weights} does not fit the model that {CONFIG} describes.") from error
    kind.set_to(model, config, config["step"])
    return Representation(model.to(device), tuple(config["data"]["shape"]))


def _read(file: Path) -> dict[str, Any]:
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DistaffError(f"{file} is not readable JSON: export or download it again.") from error
    if not isinstance(config, dict) or config.get("library_name") != LIBRARY:
        raise DistaffError(f"{file} is not of a distaff model: `distaff export RUN --hub DIR` writes them.")
    wanted = {**SECTIONS, "sha256": (WEIGHTS,)}
    absent = [
        f"{section}.{key}"
        for section, keys in wanted.items()
        for key in keys
        if key not in config.get(section, {})
    ]
    if absent or not isinstance(config.get("step"), int):
        raise DistaffError(f"{file} lacks {', '.join(absent) or 'step'}: export or download it again.")
    return in_todays_words(config, config.get("library_version"))


def _refuse_unknown_code(network: str) -> None:
    """A folder from elsewhere may name code, but not have it imported: that is the user's to do."""
    module, colon, _ = split_call(network)[0].partition(":")
    if colon and module not in sys.modules:
        raise DistaffError(f"the model's network is {network}: import {module} first, if you trust it.")
