"""Checkpoints: safetensors and JSON only, written atomically and checked by hash; the last two are kept.

A manifest detects damaged files. It is a JSON file with facts, the SHA-256 of each file that it covers, and a
seal, the SHA-256 of the rest of the manifest itself. There is one in every checkpoint, beside every snapshot
and beside the codes; ``run.yaml``, which people read, ends with a line of the same kind. Manifests of former
versions have no seal, and their snapshots, codes and ``run.yaml`` no hash: these are not checked.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol

import torch
from annotated_types import Ge
from pydantic import ConfigDict, StrictFloat, StrictInt, StrictStr, TypeAdapter, ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.optim import Optimizer

from distaff.foundation.errors import DistaffError
from distaff.foundation.files import atomic_folder, regular, sha256, write_json, write_text
from distaff.foundation.untrusted_files import read_json

KEPT = 2
MANIFEST = "checkpoint.json"
PLACES = "places"
"""Key of an optimiser's parameter group that holds the positions of its parameters among all parameters."""
IN_FILES = ("average", "model")
"""Modules whose weights have files of their own; the first one present is the trained model."""
SEAL = "seal"
LINE = "# sha256 of the lines above: "


@dataclass(frozen=True)
class Reached:
    """The progress of a run when a checkpoint was written.

    The seconds include the time before the run was resumed.
    """

    step: int = 0
    seconds: float = 0.0


class Trained(Protocol):
    """The content of a checkpoint: modules and their optimisers; ``"model"`` is the module users want."""

    @property
    def modules(self) -> Mapping[str, nn.Module]:
        """The modules to save, by name."""

    @property
    def optimisers(self) -> Mapping[str, Optimizer]:
        """Their optimisers, by name."""


def save(folder: Path, learner: Trained, reached: Reached, kept: int = KEPT) -> None:
    """Write weights, optimiser states and the step to ``folder/step-…``, then delete older checkpoints."""
    own = {name: learner.modules[name].state_dict() for name in IN_FILES if name in learner.modules}
    others = {name: module for name, module in learner.modules.items() if name not in own}
    training = {f"{name}/{key}": v for name, m in others.items() for key, v in m.state_dict().items()}
    for name, optimiser in learner.optimisers.items():
        training |= {f"optimiser/{name}/{key}": v for key, v in _optimiser_tensors(optimiser).items()}
    with atomic_folder(folder / f"step-{reached.step:09d}") as new:
        for name, weights in own.items():
            save_tensors(weights, new / f"{name}.safetensors")
        save_tensors(training, new / "training.safetensors")
        write_manifest(new / MANIFEST, list(new.iterdir()), **asdict(reached))
    before = [other for other in _folders(folder) if other.name != f"step-{reached.step:09d}"]
    for old in before[kept - 1 :]:
        # Rename it first: a process killed during deletion would leave half a checkpoint forever.
        shutil.rmtree(old.rename(old.with_name(f".{old.name}.old")))


def restore(folder: Path, learner: Trained, warn: Callable[[str], None]) -> Reached:
    """Load the newest undamaged checkpoint, if there is one, into the learner; returns its progress."""
    newest, reached = find(folder, warn)
    if newest is None:
        return reached
    state = newest / "training.safetensors"
    if not state.is_file():
        for name in IN_FILES:
            if name in learner.modules:
                load_weights(learner.modules[name], newest / "model.safetensors")
        warn("the checkpoint has only weights: optimisers and critics start anew")
        return reached
    with fitting(newest):
        training = load_file(state)
        for name, module in learner.modules.items():
            own = name in IN_FILES
            module.load_state_dict(
                load_file(newest / f"{name}.safetensors") if own else _below(f"{name}/", training)
            )
        for name, optimiser in learner.optimisers.items():
            _restore_optimiser(optimiser, _below(f"optimiser/{name}/", training))
    return reached


def newest_weights(folder: Path, warn: Callable[[str], None]) -> tuple[Path, int]:
    """The trained model's weights in the newest undamaged checkpoint, and its step."""
    newest, reached = find(folder, warn)
    if newest is None:
        raise DistaffError(f"{folder.parent} holds no checkpoint yet: train or resume it first.")
    files = (newest / f"{name}.safetensors" for name in IN_FILES)
    return next(file for file in files if file.exists()), reached.step


def load_weights(model: nn.Module, file: Path) -> None:
    """Load saved weights into a model."""
    with fitting(file):
        model.load_state_dict(load_file(file))


@contextmanager
def fitting(place: Path) -> Iterator[None]:
    """Report weights that are damaged or belong to another model in one sentence."""
    try:
        yield
    except SafetensorError as error:
        raise DistaffError(f"the weights {place} are damaged: {error}.") from error
    except DistaffError:
        raise
    except (RuntimeError, KeyError, IndexError, ValueError) as error:
        raise DistaffError(
            f"the weights {place} do not fit the model that run.yaml describes: restore both from one copy."
        ) from error


def remove_leftovers(folder: Path) -> None:
    """Delete half-written checkpoints of a killed process."""
    for half_written in folder.glob(".step-*"):
        shutil.rmtree(half_written)


def find(folder: Path, warn: Callable[[str], None]) -> tuple[Path | None, Reached]:
    """The newest checkpoint whose files match their hashes, and its progress; warn about damaged ones."""
    if os.path.lexists(folder) and not folder.is_dir():
        raise DistaffError(f"{folder} is not a folder, as checkpoints need it: restore it, or remove it.")
    candidates = _folders(folder)
    for candidate in candidates:
        try:
            manifest = check_manifest(candidate / MANIFEST, candidate.glob("*.safetensors"))
            if candidate.name != f"step-{manifest.step:09d}":
                raise Damaged(MANIFEST)
        except Damaged as damaged:
            warn(f"the checkpoint {candidate} is damaged ({damaged}): falling back to the one before it")
        else:
            return candidate, Reached(manifest.step, manifest.seconds)
    if candidates:
        raise DistaffError(f"every checkpoint in {folder} is damaged: train again into another folder.")
    return None, Reached()


def _folders(folder: Path) -> list[Path]:
    return sorted(folder.glob("step-*"), reverse=True)


def save_tensors(tensors: Mapping[str, Tensor], path: Path) -> None:
    """Write tensors to a safetensors file."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    try:
        save_file(plain, path)
    except SafetensorError as error:
        raise DistaffError(
            f"a checkpoint could not be written, the earlier ones are kept: {error}."
        ) from error


def _below(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {key.removeprefix(prefix): v for key, v in tensors.items() if key.startswith(prefix)}


def _optimiser_tensors(optimiser: Optimizer) -> dict[str, Tensor]:
    return {
        f"{place}/{key}": value
        for place, parameter in enumerate(_as_given(optimiser))
        for key, value in optimiser.state.get(parameter, {}).items()
        if isinstance(value, Tensor)
    }


def _as_given(optimiser: Optimizer) -> list[Tensor]:
    """An optimiser's parameters, in an order that does not depend on how they are grouped."""
    moved = [p for group in optimiser.param_groups for p in group["params"]]
    places = [place for group in optimiser.param_groups for place in group.get(PLACES, ())]
    return [moved[place] for place in sorted(range(len(places)), key=places.__getitem__)] if places else moved


def _restore_optimiser(optimiser: Optimizer, tensors: Mapping[str, Tensor]) -> None:
    parameters = _as_given(optimiser)
    for key, value in tensors.items():
        place, name = key.split("/")
        parameter = parameters[int(place)]
        if value.shape == parameter.shape and value.ndim:
            # The fused kernel reads weights and moments together: they must have the same memory layout.
            value = torch.empty_like(parameter).copy_(value)
        optimiser.state[parameter][name] = value.to(parameter.device)


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The content of a manifest.

    Args:
        step: step of the weights in the files, or with which they were made.
        sha256: hash of each file, by its name.
        seconds: seconds of training so far.
        seal: hash of the other fields; None in manifests of former versions.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    step: Annotated[StrictInt, Ge(0)]
    sha256: dict[StrictStr, StrictStr]
    seconds: Annotated[StrictFloat, Ge(0)] = 0.0
    seal: StrictStr | None = None


_MANIFEST = TypeAdapter(Manifest)


class Damaged(Exception):
    """Files have changed since they were written; the message names them."""


def write_manifest(path: Path, files: Iterable[Path], **facts: Any) -> None:
    """Write a manifest that covers files beside it."""
    content = {**facts, "sha256": {file.name: sha256(file) for file in files}}
    write_json(path, {**content, SEAL: _seal(content)})


def check_manifest(path: Path, files: Iterable[Path]) -> Manifest:
    """Read a manifest; raise ``Damaged`` if it or a file that it should cover has changed."""
    try:
        content = read_json(path)
        manifest = _MANIFEST.validate_python(content)
    except (OSError, ValueError, ValidationError):
        raise Damaged(path.name) from None
    if manifest.seal is not None and manifest.seal != _seal(content):
        raise Damaged(path.name)
    asked = {file.name: file for file in files}
    others = {name: path.parent / name for name in manifest.sha256 if name not in asked}
    damaged = [name for name, file in {**asked, **others}.items() if _differs(manifest, name, file)]
    if damaged:
        raise Damaged(", ".join(damaged))
    return manifest


def write_sealed(path: Path, text: str) -> None:
    """Write lines of text and, as the last one, their hash in a comment."""
    write_text(path, f"{text}{LINE}{_digest(text)}\n")


def is_as_written(text: str) -> bool:
    """Whether a text written by ``write_sealed`` is unchanged; a text without a hash counts as unchanged."""
    lines, mark, digest = text.rpartition(LINE)
    return not mark or digest.strip() == _digest(lines)


def _differs(manifest: Manifest, name: str, file: Path) -> bool:
    if "/" in name or "\\" in name:
        return True
    try:
        return not is_whole(file, manifest.sha256.get(name))
    except (OSError, ValueError):
        return True


def is_whole(file: Path, digest: str | None) -> bool:
    """Whether a file has this hash; weights that are longer than their header says are not read for it."""
    if file.suffix == ".safetensors":
        try:
            with safe_open(regular(file), "numpy"):
                pass
        except SafetensorError:
            return False
    return sha256(file) == digest


def _seal(content: dict[str, Any]) -> str:
    rest = {name: value for name, value in content.items() if name != SEAL}
    return _digest(json.dumps(rest, sort_keys=True, separators=(",", ":")))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
