"""Snapshots: the model's weights at steps along a run, kept for good."""

from pathlib import Path

from distaff.foundation.errors import DistaffError
from distaff.foundation.files import atomic_file
from distaff.runs.checkpoints import IN_FILES, Damaged, Trained, check_manifest, save_tensors, write_manifest


def keep(folder: Path, learner: Trained, step: int) -> None:
    """Write a permanent snapshot of the model's weights at a step, and its manifest, to ``folder``."""
    file = folder / f"step-{step:09d}.safetensors"
    with atomic_file(file) as temporary:
        name = next(name for name in IN_FILES if name in learner.modules)
        save_tensors(learner.modules[name].state_dict(), temporary)
    write_manifest(file.with_suffix(".json"), [file], step=step)


def kept(folder: Path) -> dict[int, Path]:
    """The snapshots in a folder, by step."""
    files = sorted(folder.glob("step-*.safetensors"))
    steps = (file.stem.removeprefix("step-") for file in files)
    return {int(step): file for step, file in zip(steps, files, strict=True) if step.isdecimal()}


def snapshot_weights(folder: Path, step: int) -> tuple[Path, int]:
    """The model's weights in the snapshot of a step, checked for damage, and that step."""
    files = kept(folder)
    if step not in files:
        there = ", ".join(map(str, files)) or "none"
        raise DistaffError(f"{folder.parent} has no snapshot of step {step}; it has {there}.")
    manifest = files[step].with_suffix(".json")
    try:
        if manifest.exists() and check_manifest(manifest, [files[step]]).step != step:
            raise Damaged(manifest.name)
    except Damaged as damaged:
        raise DistaffError(
            f"the snapshot of step {step} in {folder.parent} is damaged ({damaged}): load another step."
        ) from None
    return files[step], step
