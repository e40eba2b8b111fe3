"""Manifests: files with hashes, by which damaged files are detected.

A manifest is a JSON file with facts, the SHA-256 of each file that it covers, and a seal, the SHA-256 of the
rest of the manifest itself. There is one in every checkpoint, beside every snapshot and beside the codes;
``run.yaml``, which people read, ends with a line of the same kind. Manifests of former versions have no seal,
and their snapshots, codes and ``run.yaml`` no hash: these are not checked.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge
from pydantic import ConfigDict, StrictFloat, StrictInt, StrictStr, TypeAdapter, ValidationError
from safetensors import SafetensorError, safe_open

from distaff.foundation.files import read_json, regular, sha256, write_json, write_text

SEAL = "seal"
LINE = "# sha256 of the lines above: "


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
