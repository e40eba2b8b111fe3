"""Run folders made by the first edition load, resume and count in their studies."""

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import distaff
from distaff import studies
from distaff.runs.folder import RunFolder
from distaff.runs.load import open_data as load_data
from distaff.runs.request import RunRequest, folder_name

FIRST = Path(__file__).parent.parent / "fixtures" / "first_edition"


@pytest.fixture
def first(tmp_path):
    """The folders, where they may be written to."""
    return Path(shutil.copytree(FIRST, tmp_path / "first"))


def test_a_run_resumes_on_the_path_it_was_on(first):
    trained = distaff.resume(first / "run", progress=False)
    finished = load_file(first / "run-finished.safetensors")
    for name, weight in trained.model.state_dict().items():
        # Bit for bit on the machine it was made on; elsewhere kernels may round otherwise.
        torch.testing.assert_close(weight, finished[name], rtol=1e-4, atol=1e-6)


def test_a_run_loads_at_its_checkpoint(first):
    trained = distaff.load(first / "run")
    saved = load_file(first / "run" / "checkpoint" / "step-000000040" / "model.safetensors")
    assert all(torch.equal(weight, saved[name]) for name, weight in trained.model.state_dict().items())


def test_a_study_counts_its_runs_as_finished(first):
    before = {path: path.stat().st_mtime_ns for path in (first / "study" / "runs").rglob("*.safetensors")}
    table = studies.run(first / "study", progress=False)
    assert list(table["state"]) == ["finished"] * 5
    assert table["mig"].notna().all()
    after = {path: path.stat().st_mtime_ns for path in (first / "study" / "runs").rglob("*.safetensors")}
    assert after == before


def test_a_run_on_the_former_line_is_found_under_its_name_of_today(tmp_path):
    """The data set ``toy_line`` was called ``line``."""
    out = tmp_path / "run"
    asked = {"recipe": "vae", "latents": 1, "batch_size": 8, "accelerator": "cpu", "progress": False}
    distaff.train(data="toy_line", out=out, steps=4, **asked)
    file = out / "run.yaml"
    lines = file.read_text().splitlines()[:-1]  # the last holds a hash, which that version did not know
    file.write_text("\n".join(lines).replace("toy_line", "line"))
    assert "name: line" in file.read_text()
    assert RunFolder(out).read().data.spec == "toy_line"
    distaff.train(data="toy_line", out=out, steps=4, **asked)  # the same run, so nothing is refused
    distaff.resume(out, steps=6, progress=False)
    assert load_data(RunFolder(out)).column("point").tolist() == list(range(8))


def test_a_study_that_says_line_has_the_runs_it_had():
    today, former = (
        RunRequest.of({"recipe": "beta_vae", "data": {"spec": name, "count": 6}, "beta": 2.0, "seed": 1})
        for name in ("toy_line", "line")
    )
    assert today.data.spec == former.data.spec == "toy_line"
    calls = {
        "recipe": "beta_vae",
        "arguments": {"beta": 2.0},
        "data": {"spec": "line", "file": None, "options": {"count": 6}},
        "training": {"seed": 1},
    }
    assert today.key == former.key == folder_name({"": "beta_vae", "beta": 2, "seed": 1}, calls)
