"""Every byte that training reads back is covered by a hash: a change is noticed, or changes nothing."""

import contextlib
import os
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import distaff
from distaff.analysis.encoding import already_encoded
from distaff.export import export_run
from distaff.foundation.errors import DistaffError
from distaff.runs import RunFolder, checkpoints
from distaff.runs.checkpoints import Damaged, check_manifest, write_manifest
from distaff.runs.folder import TrainedRun
from distaff.runs.log import read_log
from distaff.runs.snapshots import kept, snapshot_weights
from tests import toys

SETTINGS = {"steps": 4, "checkpoint_every": 2, "snapshots": 2, "batch_size": 8, "latents": 2}


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("manifests")
    np.savez(folder / "data.npz", images=toys.ring(40).images[:].numpy())
    settings = {**SETTINGS, "network": "mlp:hidden=4", "progress": False}
    distaff.train("vae", folder / "data.npz", out=folder / "run", **settings)
    distaff.evaluate_run(folder / "run", metrics="total_correlation", progress=False)
    return folder / "run"


@pytest.fixture
def run(trained, tmp_path) -> RunFolder:
    return RunFolder(Path(shutil.copytree(trained, tmp_path / "run")))


def flips(content: bytes, count: int, seed: int = 0) -> Iterator[bytes]:
    """One bit changed, in every byte or in ``count`` of them."""
    rng = np.random.default_rng(seed)
    places = range(len(content)) if count >= len(content) else rng.integers(0, len(content), count)
    for place in places:
        changed = bytearray(content)
        changed[place] ^= 1 << int(rng.integers(8))
        yield bytes(changed)


def test_every_byte_of_a_checkpoint_counts(run):
    newest, reached = checkpoints.find(run.checkpoints, pytest.fail)
    assert reached.step == 4
    for name, count in (
        ("checkpoint.json", 10_000),
        ("model.safetensors", 100),
        ("training.safetensors", 100),
    ):
        file = newest / name
        content = file.read_bytes()
        noticed = 0
        for changed in flips(content, count):
            file.write_bytes(changed)
            said: list[str] = []
            found, now = checkpoints.find(run.checkpoints, said.append)
            assert (found == newest and now == reached) or (
                now.step == 2 and f"is damaged ({name})" in said[0]
            )
            noticed += bool(said)
        assert noticed > 0.9 * min(count, len(content))
        file.write_bytes(content)


def test_weights_with_an_endless_tail_are_not_read_to_their_end(run, tmp_path, monkeypatch):
    """Files with holes take no space on a disk, and hours to be hashed."""
    export_run(run.path, hub=tmp_path / "hub", progress=False)
    hashed = checkpoints.sha256
    weights = (run.checkpoints / "step-000000004/training.safetensors", tmp_path / "hub/model.safetensors")
    for file in weights:
        os.truncate(file, 1 << 40)

    def read(file: Path) -> str:
        assert file not in weights
        return hashed(file)

    monkeypatch.setattr(checkpoints, "sha256", read)
    said: list[str] = []
    assert checkpoints.find(run.checkpoints, said.append)[1].step == 2
    assert "is damaged (training.safetensors)" in said[0]
    with pytest.raises(DistaffError, match=r"model\.safetensors is missing or damaged"):
        distaff.load(tmp_path / "hub")


def test_a_step_that_was_edited_is_noticed_without_a_seal_too(run):
    """As in run folders of former versions."""
    newest, _ = checkpoints.find(run.checkpoints, pytest.fail)
    file = newest / "checkpoint.json"
    hashes = check_manifest(file, []).sha256
    for step, good in ((4, True), (3, False)):
        text = f'{{"step": {step}, "seconds": 0.5, "sha256": {hashes}}}'.replace("'", '"')
        file.write_text(text)
        said: list[str] = []
        assert (checkpoints.find(run.checkpoints, said.append)[0] == newest) is good
        assert bool(said) is not good
    file.write_text('{"step": 4, "seconds": 0.5, "sha256": {}}')
    assert checkpoints.find(run.checkpoints, said.append)[1].step == 2, "the files must be spoken for"


def test_every_byte_of_run_yaml_counts(run):
    expected = run.read()
    content = run.config.read_bytes()
    for changed in flips(content, 700):
        run.config.write_bytes(changed)
        with contextlib.suppress(DistaffError):
            assert run.read() == expected
    text = content.decode()
    run.config.write_text(text.replace("steps: 4", "steps: 8"))
    with pytest.raises(DistaffError, match="not as it was written: restore it, or remove its last line"):
        run.read()
    lines = text.replace("steps: 4", "steps: 8").splitlines()[:-1]
    run.config.write_text("\n".join(lines))
    assert run.read().training.steps == 8
    run.config.write_text("\n".join([*lines, "data: 1"]))
    with pytest.raises(DistaffError, match=r"run.yaml has the key 'data' twice, in lines \d+ and \d+: keep"):
        run.read()


def is_noticed(run: RunFolder) -> bool:
    try:
        snapshot_weights(run.snapshots, 2)
    except DistaffError as error:
        return "snapshot of step 2" in str(error)
    return False


def test_every_byte_of_a_snapshot_counts(run):
    file = kept(run.snapshots)[2]
    for part in (file, file.with_suffix(".json")):
        content, noticed = part.read_bytes(), 0
        for changed in flips(content, 200):
            part.write_bytes(changed)
            noticed += is_noticed(run)
        assert noticed == 200 or (part.suffix == ".json" and noticed > 150), "white space may change"
        part.write_bytes(content)
    expected = distaff.load(run.path, step=2)
    file.with_suffix(".json").unlink()
    again = distaff.load(run.path, step=2)
    assert all(a.equal(b) for a, b in zip(again.model.parameters(), expected.model.parameters(), strict=True))


def test_damaged_codes_are_made_again(run):
    fingerprint, trained = run.read().data.fingerprint, TrainedRun.open(run)
    expected = already_encoded(trained, fingerprint)
    content = run.codes.read_bytes()
    said = 0
    for changed in flips(content, 100):
        run.codes.write_bytes(changed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert already_encoded(trained, fingerprint) is None
        said += any("codes in" in str(warning.message) for warning in caught)
    assert said > 50
    run.codes.write_bytes(content)
    run.codes_manifest.unlink()
    kept = already_encoded(trained, fingerprint)
    assert kept is not None
    np.testing.assert_array_equal(kept.codes.means, expected.codes.means)


def test_a_manifest_speaks_for_files_beside_it_alone(tmp_path):
    (tmp_path / "a").write_text("a")
    write_manifest(tmp_path / "m.json", [tmp_path / "a"], step=1)
    assert check_manifest(tmp_path / "m.json", [tmp_path / "a"]).step == 1
    with pytest.raises(Damaged, match="b"):
        check_manifest(tmp_path / "m.json", [tmp_path / "b"])
    (tmp_path / "m.json").write_text('{"step": 1, "sha256": {"../a": "0"}}')
    with pytest.raises(Damaged):
        check_manifest(tmp_path / "m.json", [])


@pytest.mark.parametrize(
    "name", ["checkpoint/{}/checkpoint.json", "checkpoint/{}/model.safetensors", "log.jsonl"]
)
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(trained, tmp_path, name):
    run = Path(shutil.copytree(trained, tmp_path / "run"))
    file = run / name.format("step-000000004")
    file.unlink()
    os.mkfifo(file)
    if file.name == "log.jsonl":
        with pytest.raises(DistaffError, match="it is not a regular file"):
            read_log(file)
    else:
        with pytest.warns(UserWarning, match="step-000000004 is damaged"):
            assert TrainedRun.open(RunFolder(run)).step == 2
