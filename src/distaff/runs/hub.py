"""A trained model as a folder to share, as on the Hugging Face hub: config.json and model.safetensors."""

import json
import re
import sys
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

from distaff._version import __version__
from distaff.foundation.errors import DistaffError
from distaff.foundation.files import atomic_file, sha256, write_json
from distaff.models.representation import Representation
from distaff.runs.config import RunConfig

CONFIG, WEIGHTS = "config.json", "model.safetensors"
LIBRARY = "distaff"
PLACES: dict[str, Any] = {"spec": None, "file": None, "options": {}}
"""What of ``run.yaml`` speaks of the machine it was made on, and is not shared."""
NAMES_CODE = re.compile(r"(?:^|[=,])\s*([A-Za-z_][\w.]*):[A-Za-z_]\w*\b(?!=)")
"""``module:name``, but not ``kind:10`` nor ``mlp:hidden=512``; the group is the module."""


def write_model(folder: Path, trained: Representation, config: RunConfig, step: int) -> None:
    """Write the weights, then the config with their hash: only the two together can be loaded."""
    tensors = {name: t.detach().cpu().contiguous() for name, t in trained.model.state_dict().items()}
    with atomic_file(folder / WEIGHTS) as temporary:
        save_file(tensors, temporary, {"format": "pt"})
    sections = config.to_plain()
    del sections["made_with"]
    sections["data"] = {key: value for key, value in sections["data"].items() if key not in PLACES}
    facts = {"library_name": LIBRARY, "library_version": __version__, "step": step}
    write_json(folder / CONFIG, {**facts, **sections, "sha256": {WEIGHTS: sha256(folder / WEIGHTS)}})


def load_model(folder: Path, device: str = "cpu") -> Representation:
    """The model of a folder that ``write_model`` wrote, wherever it came from."""
    config, step, digest = _read(folder / CONFIG)
    weights = folder / WEIGHTS
    if not weights.is_file() or sha256(weights) != digest:
        raise DistaffError(f"{weights} is missing or damaged: export or download it again.")
    model = config.model.build(config.data.shape, step)
    try:
        model.load_state_dict(load_file(weights))
    except RuntimeError as error:
        raise DistaffError(f"{weights} does not fit the model that {CONFIG} describes.") from error
    return Representation(model.to(device), config.data.shape, config.data.made_of)


def _read(file: Path) -> tuple[RunConfig, int, str]:
    """The run that a config describes, its step, and the hash of its weights."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DistaffError(f"{file} is not readable JSON: export or download it again.") from error
    if not isinstance(content, dict) or content.get("library_name") != LIBRARY:
        raise DistaffError(f"{file} is not of a distaff model: `distaff export RUN --hub DIR` writes them.")
    _refuse_unknown_code(content.get("model"))
    hashes = content.get("sha256")
    data = {**PLACES, **content["data"]} if isinstance(content.get("data"), dict) else {}
    made_with = {"distaff": content.get("library_version", __version__)}
    sections = {**content, "data": data, "made_with": made_with}
    try:
        config = RunConfig.from_plain(sections)
        if not isinstance(hashes, dict) or WEIGHTS not in hashes or type(content.get("step")) is not int:
            raise DistaffError(f"it lacks step or sha256.{WEIGHTS}")
    except DistaffError as problem:
        words = str(problem).removesuffix(".")
        raise DistaffError(f"{file}: {words}: export or download it again.") from problem
    return config, content["step"], str(hashes[WEIGHTS])


def _refuse_unknown_code(model: object) -> None:
    """A folder from elsewhere may name code, but not have it imported: that is the user's to do."""
    for name, text in model.items() if isinstance(model, dict) else ():
        for module in NAMES_CODE.findall(str(text)):
            if module not in sys.modules:
                raise DistaffError(f"the model's {name} is {text}: import {module} first, if you trust it.")
