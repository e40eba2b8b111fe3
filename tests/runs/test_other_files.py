"""Files that a run reads beside its data: it does not go on with others in their place."""

from pathlib import Path

import numpy as np
import pytest
import yaml

import distaff
from distaff.foundation.errors import DistaffError
from tests import toys

SETTINGS = {
    "steps": 4,
    "batch_size": 16,
    "network": "tests.toys:mlp",
    "progress": False,
    "accelerator": "cpu",
}
IMAGES = toys.tiny_images(64).images[:].numpy()


def write_pairs(file: Path, seed: int) -> None:
    np.save(file, np.random.default_rng(seed).integers(0, 64, (20, 2)))


def write_images(file: Path, seed: int) -> None:
    np.savez(file, images=toys.tiny_images(32, seed=seed).images[:].numpy())


@pytest.mark.parametrize(
    ("recipe", "setting", "name", "write"),
    [("ada_gvae", "pairs", "mine.npy", write_pairs), ("vae", "hold_out", "other.npz", write_images)],
)
def test_a_run_does_not_go_on_with_other_content_of_a_file(tmp_path, recipe, setting, name, write):
    np.savez(tmp_path / "data.npz", images=IMAGES)
    file, out = tmp_path / name, tmp_path / "run"
    settings = {**SETTINGS, setting: str(file), "out": out}
    write(file, 0)
    distaff.train(recipe, tmp_path / "data.npz", **settings)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    write(file, 1)
    with pytest.raises(DistaffError, match=rf"{name} is not what the run was begun with: its content has"):
        distaff.resume(out, steps=8, progress=False)
    with pytest.raises(DistaffError, match=f"holds another run .*{setting} is .* there, not"):
        distaff.train(recipe, tmp_path / "data.npz", **settings)
    if setting == "hold_out":
        with pytest.raises(DistaffError, match="its content has changed"):
            distaff.evaluate_run(out, held_out=True, metrics="wsepin", progress=False)
    file.unlink()
    with pytest.raises(DistaffError, match=name):
        distaff.resume(out, steps=8, progress=False)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    write(file, 0)
    distaff.resume(out, steps=8, progress=False)
    content = yaml.safe_load((out / "run.yaml").read_text())
    assert content["data"].pop("others").keys() == {setting}
    (out / "run.yaml").write_text(yaml.safe_dump(content))
    write(file, 1)
    distaff.train(recipe, tmp_path / "data.npz", **{**settings, "steps": 8})
    distaff.resume(out, steps=10, progress=False)  # as a former version wrote it: nothing to compare with
