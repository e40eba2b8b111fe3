"""What commands make of a run that trains on meanwhile: all of it is of one checkpoint."""

import numpy as np
import pytest
from safetensors import safe_open

import distaff
from distaff.analysis.evaluate import evaluate_run
from distaff.analysis.report import report_run
from distaff.export import export_run
from distaff.metrics.score import Scores
from distaff.runs import RunFolder, hub
from distaff.runs.data_config import DataConfig
from distaff.runs.load import TrainedRun
from distaff.training.train import resume, train
from tests import toys

STEPS, MORE = 10, 17


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run that takes more steps as soon as a command has opened its data."""
    np.savez(tmp_path / "tiny.npz", images=toys.tiny_images(64).images[:].numpy(), factors=np.arange(64) % 4)
    settings = {"batch_size": 16, "latents": 3, "progress": False, "accelerator": "cpu"}
    train("vae", str(tmp_path / "tiny.npz"), out=tmp_path / "run", steps=STEPS, **settings)
    reopen, begun = DataConfig.reopen, []

    def while_it_trains(config, *data):
        if not begun:
            begun.append(True)
            resume(tmp_path / "run", steps=MORE, progress=False, accelerator="cpu")
        return reopen(config, *data)

    monkeypatch.setattr(DataConfig, "reopen", while_it_trains)
    yield TrainedRun.open(RunFolder(tmp_path / "run"))
    assert TrainedRun.open(RunFolder(tmp_path / "run")).step == MORE


def test_an_export_says_the_step_of_the_weights_that_it_holds(run, tmp_path):
    export_run(run.folder.path, hub=tmp_path / "hub", progress=False)
    assert hub.read_config(tmp_path / "hub" / hub.CONFIG)[1] == STEPS
    weights = distaff.load(tmp_path / "hub").model.state_dict()
    assert all(weights[name].equal(tensor) for name, tensor in run.model.model.state_dict().items())


def test_scores_and_codes_say_the_step_that_they_are_of(run):
    expected = run.model.encode(toys.tiny_images(64).images).means
    evaluate_run(run.folder.path, progress=False)
    assert Scores.read(run.folder.scores).step == STEPS
    with safe_open(run.folder.codes, "numpy") as file:
        assert file.metadata()["step"] == str(STEPS)
        np.testing.assert_allclose(file.get_tensor("means"), expected, atol=1e-6)


def test_a_report_says_the_step_of_its_pictures(run):
    assert f"{STEPS} of {STEPS}" in report_run(run.folder.path, progress=False).read_text()
