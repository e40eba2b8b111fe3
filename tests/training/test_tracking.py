"""Trackers get the run's own log, go on with a run that is resumed, and never stop one."""

import importlib.util
import os
from collections.abc import Mapping

import pytest

import distaff
from distaff.foundation.errors import DistaffError
from distaff.runs.folder import RunFolder
from distaff.runs.log import read_log
from distaff.training.job import Interrupted
from tests import toys

TINY = {
    "network": "mlp",
    "latents": 2,
    "batch_size": 8,
    "log_every": 2,
    "checkpoint_every": 2,
    "progress": False,
    "accelerator": "cpu",
}


class Notebook:
    """A tracker that keeps what it is told."""

    runs: Mapping[str, "Notebook"] = {}

    def __init__(self, key: str) -> None:
        self.key, self.lines, self.ended = key, {}, []

    def log(self, step, values):
        self.lines.setdefault(step, dict(values))

    def close(self, finished):
        self.ended.append(finished)


def notebook(run):
    """The function that --track names."""
    if run.key is None:
        Notebook.runs = {**Notebook.runs, run.name: Notebook(run.name)}
    found = Notebook.runs[run.key or run.name]
    found.settings = run.settings
    return found


class Broken(Notebook):
    def log(self, step, values):
        raise OSError("the server is gone")


def broken(run):
    return Broken("broken")


def refusing(run):
    raise RuntimeError("no\naccount.")


@pytest.fixture
def squares(tmp_path):
    import numpy as np

    path = tmp_path / "squares.npy"
    np.save(path, toys.tiny_images(64).images[:].numpy())
    return path


def test_a_tracker_of_ones_own_has_the_log_and_the_settings(squares, tmp_path):
    own = "tests.training.test_tracking:notebook"
    distaff.train("beta_vae", squares, beta=3, steps=6, out=tmp_path / "own", track=own, **TINY)
    from tests.training.test_tracking import Notebook  # as --track imports it

    found = Notebook.runs["own"]
    log = {line["step"]: line for line in read_log(RunFolder(tmp_path / "own").log)}
    assert {step: {**values, "step": step} for step, values in found.lines.items()} == {
        step: {name: value for name, value in line.items() if name != "seconds"} for step, line in log.items()
    }
    assert found.settings["recipe.arguments.beta"] == 3
    assert found.settings["training.batch_size"] == 8
    assert found.ended == [True]
    assert "\n  track:" not in (tmp_path / "own" / "run.yaml").read_text()


def test_a_tracker_that_fails_does_not_stop_the_run(squares, tmp_path):
    with pytest.warns(UserWarning, match="broken no longer tracks the run: the server is gone"):
        distaff.train("vae", squares, steps=4, track="tests.training.test_tracking:broken", **TINY)
    with pytest.raises(DistaffError, match="cannot track the run: no account"):
        distaff.train("vae", squares, steps=4, track="tests.training.test_tracking:refusing", **TINY)


def test_what_is_not_installed_or_not_known_is_said_before_training(squares, tmp_path, monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        "distaff.training.tracking.find_spec", lambda name: None if name == "wandb" else real(name)
    )
    with pytest.raises(DistaffError, match=r"pip install 'distaff\[wandb\]'"):
        distaff.train("vae", squares, steps=4, out=tmp_path / "run", track="wandb", **TINY)
    assert not (tmp_path / "run").exists()
    with pytest.raises(DistaffError, match="unknown tracker 'wanddb': did you mean 'wandb'"):
        distaff.train("vae", squares, steps=4, track="wanddb", **TINY)


def stopped(folder, squares, **settings):
    """Train until step 4 of 8, as if a signal had come."""
    import signal

    from distaff.training.recorder import Recorder

    with pytest.MonkeyPatch.context() as patch:

        def at_four(self, steps):
            self.stop.heard = signal.SIGTERM if steps == 4 else None
            return steps == 4

        patch.setattr(Recorder, "asked_to_stop", at_four)
        with pytest.raises(Interrupted):
            distaff.train("vae", squares, steps=8, out=folder, **settings, **TINY)


def test_mlflow_goes_on_with_a_run_that_is_resumed(squares, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    uri = (tmp_path / "mlruns").as_uri()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    stopped(tmp_path / "run", squares, track="mlflow")
    client = mlflow.MlflowClient(uri)
    (experiment,) = [e for e in client.search_experiments() if e.name == "distaff"]
    (before,) = client.search_runs([experiment.experiment_id])
    assert before.info.status == "KILLED"
    assert before.data.params["recipe.name"] == "vae"
    distaff.resume(tmp_path / "run", progress=False, accelerator="cpu")
    (after,) = client.search_runs([experiment.experiment_id])
    assert after.info.run_id == before.info.run_id
    assert after.info.status == "FINISHED"
    history = [(m.step, m.value) for m in client.get_metric_history(after.info.run_id, "nll")]
    log = [(line["step"], line["nll"]) for line in read_log(RunFolder(tmp_path / "run").log)]
    assert history == log
    distaff.resume(tmp_path / "run", steps=10, track="none", progress=False, accelerator="cpu")
    assert client.get_metric_history(after.info.run_id, "nll")[-1].step == 8


def records(content: bytes) -> list[bytes]:
    """The records of a .wandb file: LevelDB's log format, whose first block begins with seven other bytes."""
    place, found, parts = 7, [], b""
    while place + 7 <= len(content):
        left = 32768 - place % 32768
        if left < 7:  # no room for a header: the rest of a block is filled up
            place += left
            continue
        length, kind = int.from_bytes(content[place + 4 : place + 6], "little"), content[place + 6]
        parts += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # whole, or the last part
            found.append(parts)
            parts = b""
    return found


def test_wandb_offline_goes_on_with_a_run_that_is_resumed(squares, tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    from wandb.proto import wandb_internal_pb2

    monkeypatch.setenv("WANDB_MODE", "offline")
    stopped(tmp_path / "run", squares, track="wandb")
    distaff.resume(tmp_path / "run", progress=False, accelerator="cpu")
    files = sorted((tmp_path / "run").glob("wandb/offline-run-*/run-*.wandb"), key=os.path.getmtime)
    seen, ids = {}, set()
    for content in (content for file in files for content in records(file.read_bytes())):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(content)
        if record.HasField("run"):
            ids.add(record.run.run_id)
        if record.HasField("history"):
            items = {(i.key or ".".join(i.nested_key)): i.value_json for i in record.history.item}
            seen[int(items["_step"])] = float(items["nll"])
    assert len(files) == 2
    assert len(ids) == 1
    log = {line["step"]: line["nll"] for line in read_log(RunFolder(tmp_path / "run").log)}
    assert seen == log


def test_comet_offline_has_a_run(squares, tmp_path, monkeypatch):
    pytest.importorskip("comet_ml")
    monkeypatch.setenv("COMET_START_ONLINE", "0")
    monkeypatch.setenv("COMET_OFFLINE_DIRECTORY", str(tmp_path / "comet"))
    distaff.train("vae", squares, steps=4, out=tmp_path / "run", track="comet", **TINY)
    assert list((tmp_path / "comet").glob("*.zip"))
