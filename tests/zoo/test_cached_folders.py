"""The cached run folder of a model mends itself and keeps what commands wrote."""

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

import distaff
from distaff.runs import RunFolder, zoo
from distaff.runs.folder import TrainedRun

MODEL = "zoo:factor_vae-squares"
SETTINGS, WEIGHTS, MANIFEST = (
    "run.yaml",
    "checkpoint/step-000000012/model.safetensors",
    "checkpoint/step-000000012/checkpoint.json",
)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def empty(file: Path) -> None:
    file.write_bytes(b"")


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def contents(folder: RunFolder) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.path.rglob("*") if file.is_file()}


@pytest.fixture
def scored(own_zoo) -> RunFolder:
    """The cached folder of the model, with a score and a name that a user has added."""
    distaff.evaluate_run(MODEL, metrics="sap", progress=False)
    folder = zoo.cached_folder(MODEL)
    folder.names.write_text('{"z0": "row"}')
    return folder


@pytest.mark.parametrize("damage", [cut, empty, flip, Path.unlink])
@pytest.mark.parametrize("name", [SETTINGS, WEIGHTS, MANIFEST, "examples.npz", "log.jsonl"])
def test_a_damaged_file_is_written_anew_and_all_others_stay(
    scored, name: str, damage: Callable[[Path], object]
):
    before = contents(scored)
    damage(scored.path / name)
    with pytest.warns(UserWarning, match=rf"was damaged \({Path(name).name}\): these files are written anew"):
        mended = zoo.cached_folder(MODEL)
    assert mended == scored
    assert contents(scored) == before
    assert TrainedRun.open(scored).step == 12


def test_a_command_works_on_a_damaged_folder_and_keeps_its_scores(scored):
    for name in (SETTINGS, WEIGHTS, MANIFEST):
        empty(scored.path / name)
    with pytest.warns(UserWarning, match="was damaged"):
        distaff.evaluate_run(MODEL, metrics="mig", progress=False)
    kept = distaff.evaluate_run(MODEL, metrics="mig,sap", progress=False)
    assert {score.metric for score in kept.scores} >= {"mig", "sap"}
    assert '"sap"' in scored.scores.read_text()
    assert scored.names.read_text() == '{"z0": "row"}'


def test_a_folder_of_which_only_the_scores_are_left_is_filled_again(scored):
    before = contents(scored)
    for file in before:
        if file.name not in ("scores.json", "names.json", "codes.safetensors", "codes.json"):
            file.unlink()
    with pytest.warns(UserWarning, match="was damaged"):
        zoo.cached_folder(MODEL)
    assert contents(scored) == before


def test_a_folder_whose_files_were_all_deleted_has_the_scores_of_the_model(own_zoo, scored):
    for file in contents(scored):
        file.unlink()
    with pytest.warns(UserWarning, match="was damaged"):
        zoo.cached_folder(MODEL)
    assert scored.scores.read_bytes() == (own_zoo / "factor_vae-squares" / "scores.json").read_bytes()


def test_settings_that_are_valid_but_of_another_run_are_replaced(scored):
    config = scored.config.read_bytes()
    lines = config.decode().splitlines()[:-1]
    scored.config.write_text("\n".join(lines).replace("steps: 12", "steps: 13"))
    with pytest.warns(UserWarning, match=r"was damaged \(run.yaml\)"):
        zoo.cached_folder(MODEL)
    assert scored.config.read_bytes() == config


def test_a_whole_folder_is_only_read(scored, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("nothing is to be written")

    before = {file: file.stat().st_mtime_ns for file in contents(scored)}
    for name in ("copy_model", "_mend", "FileLock"):
        monkeypatch.setattr(zoo, name, refuse)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zoo.cached_folder(MODEL)
    assert {file: file.stat().st_mtime_ns for file in contents(scored)} == before


@pytest.mark.parametrize("first_use", [True, False])
def test_of_many_at_once_one_writes_and_all_read_a_whole_folder(own_zoo, monkeypatch, first_use):
    if not first_use:
        cut(zoo.cached_folder(MODEL).path / WEIGHTS)
    count = 6
    together, written = Barrier(count), []
    for name in ("copy_model", "_mend"):
        own = getattr(zoo, name)
        monkeypatch.setattr(
            zoo, name, lambda *given, own=own, **more: (written.append(1), own(*given, **more))
        )

    def use(_: int) -> int:
        together.wait()
        return TrainedRun.open(zoo.cached_folder(MODEL)).step

    with warnings.catch_warnings(), ThreadPoolExecutor(count) as threads:
        warnings.simplefilter("ignore")
        assert list(threads.map(use, range(count))) == [12] * count
    assert written == [1]
