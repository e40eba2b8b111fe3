"""Run folders made by the first edition load, resume and count in their studies."""

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import distaff
from distaff import studies

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
