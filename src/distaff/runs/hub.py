"""Hub folders: trained models to share, as on the Hugging Face hub, as config.json and model.safetensors."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge
from safetensors.torch import save_file

from distaff._version import __version__
from distaff.foundation.binding import allow, bind, words_of_file
from distaff.foundation.errors import DistaffError
from distaff.foundation.files import atomic_file, json_text, sha256
from distaff.foundation.untrusted_files import read_json
from distaff.models.representation import Representation
from distaff.runs.checkpoints import is_whole
from distaff.runs.config import RunConfig

CONFIG, WEIGHTS = "config.json", "model.safetensors"
LIBRARY = "distaff"
PLACES: dict[str, Any] = {"spec": None, "file": None, "options": {}}
"""Values that replace the parts of ``run.yaml`` that concern one machine and are not shared."""
FILES = ("hold_out", "pairs")
"""Training settings that may be a path; a shared config has only the name of such a file or folder."""


@dataclass(frozen=True)
class Facts:
    """The contents of ``config.json`` beside the sections of the run."""

    library_version: str
    step: Annotated[int, Ge(0)]
    sha256: dict[str, str]


def write_model(
    folder: Path, trained: Representation, config: RunConfig, step: int, half: bool = False
) -> None:
    """Write the weights, and the config with their hash; they can only be loaded together.

    Both are written before either takes the place of a former one.
    With ``half`` the weights are rounded to half precision; they are read back as single precision.
    """
    tensors = {name: t.detach().cpu().contiguous() for name, t in trained.model.state_dict().items()}
    if half:
        tensors = {name: t.half() if t.is_floating_point() else t for name, t in tensors.items()}
    sections = shared_sections(config)
    facts = {"library_name": LIBRARY, "library_version": __version__, "step": step}
    with atomic_file(folder / CONFIG) as described, atomic_file(folder / WEIGHTS) as weights:
        save_file(tensors, weights, {"format": "pt"})
        content = {**facts, **sections, "sha256": {WEIGHTS: sha256(weights)}}
        described.write_text(json_text(content, indent=2) + "\n", encoding="utf-8")


def shared_sections(config: RunConfig) -> dict[str, Any]:
    """The sections of ``run.yaml`` that are shared, without the places of one machine."""
    sections = config.to_plain()
    del sections["made_with"]
    sections["data"] = {key: value for key, value in sections["data"].items() if key not in PLACES}
    training = sections["training"]
    if Path(training.get("start") or "").is_absolute():
        del training["start"]
    named = {key: Path(training[key]).name for key in FILES if Path(str(training.get(key))).is_absolute()}
    return {**sections, "training": {**training, **named}}


def from_shared(sections: Mapping[str, Any], version: str) -> RunConfig:
    """The run that shared sections describe, which a version of distaff wrote."""
    data = {**PLACES, **sections["data"]} if isinstance(sections.get("data"), dict) else {}
    return RunConfig.from_plain({**sections, "data": data, "made_with": {"distaff": version}})


def read_config(file: Path) -> tuple[RunConfig, int, str]:
    """The run that a config describes, its step, and the hash of its weights."""
    try:
        content = read_json(file)
    except DistaffError as error:
        raise DistaffError(f"{file} is not readable JSON: export or download it again.") from error
    if not isinstance(content, dict) or content.get("library_name") != LIBRARY:
        raise DistaffError(f"{file} is not of a distaff model: `distaff export RUN --hub DIR` writes them.")
    given = {name: content[name] for name in ("library_version", "step", "sha256") if name in content}
    with words_of_file(file, "export or download it again"):
        facts = Facts(**bind(Facts, {"library_version": __version__, **given}))
        if WEIGHTS not in facts.sha256:
            raise DistaffError(f"it lacks step or sha256.{WEIGHTS}")
        config = from_shared(content, facts.library_version)
        allow(config.code)
    return config, facts.step, facts.sha256[WEIGHTS]


def whole_weights(folder: Path, digest: str) -> Path:
    """The weights of a hub folder; an error if they are not those that its config describes."""
    weights = folder / WEIGHTS
    if not weights.is_file() or not is_whole(weights, digest):
        raise DistaffError(f"{weights} is missing or damaged: export or download it again.")
    return weights
