"""A run that is killed, or asked to stop, and resumed ends as if nothing had happened."""

import itertools
import json
import os
import random
import signal
import time
from pathlib import Path

import numpy as np
import pytest
import yaml
from safetensors.numpy import load_file

from distaff.foundation.errors import DistaffError
from distaff.objectives.critics import CriticSettings
from distaff.runs import checkpoints
from distaff.runs.folder import RunFolder
from distaff.runs.load import load
from distaff.runs.log import read_log
from distaff.training.train import resume, train
from tests import toys
from tests.processes import Forked, distaff

STEPS = 90
TWO_LOGITS, ONE_LOGIT = (CriticSettings(hidden=8, layers=1, logits=n) for n in (2, 1))


@pytest.fixture(scope="module")
def images(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("data") / "tiny.npz"
    np.savez(path, images=toys.tiny_images().images[:].numpy())
    return path


def begun(images: Path, out: Path, steps: int = STEPS) -> Forked:
    flags = {
        "--data": images,
        "--out": out,
        "--steps": steps,
        "--batch-size": 16,
        "--log-every": 5,
        "--checkpoint-every": 4,
        "--critic.hidden": 32,
        "--critic.layers": 2,
        "--accelerator": "cpu",
    }
    return distaff("train", "factor_vae", *itertools.chain(*flags.items()))


def weights(folder: Path) -> dict[str, np.ndarray]:
    newest = max((folder / "checkpoint").glob("step-*"))
    assert json.loads((newest / "checkpoint.json").read_text())["step"] == STEPS
    return {**load_file(newest / "model.safetensors"), **load_file(newest / "training.safetensors")}


@pytest.fixture(scope="module")
def uninterrupted(images, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "whole"
    done = begun(images, out).end()
    assert done.returncode == 0, done.stderr
    return out


def assert_same_end(interrupted: Path, uninterrupted: Path) -> None:
    ours, theirs = weights(interrupted), weights(uninterrupted)
    assert ours.keys() == theirs.keys()
    for name in ours:
        assert np.array_equal(ours[name], theirs[name]), name
    logs = [
        [{k: v for k, v in line.items() if k != "seconds"} for line in read_log(folder / "log.jsonl")]
        for folder in (interrupted, uninterrupted)
    ]
    assert [line["step"] for line in logs[0]][-1] == STEPS
    assert {line["step"] for line in logs[0]} >= {line["step"] for line in logs[1] if line["step"] % 20 == 0}


def test_a_run_killed_at_random_moments_ends_with_identical_weights(images, uninterrupted, tmp_path):
    out = tmp_path / "killed"
    rng = random.Random(time.time_ns())
    for _ in range(3):
        process = begun(images, out)
        deadline = time.monotonic() + 120
        before = set((out / "checkpoint").glob("step-*"))
        while not set((out / "checkpoint").glob("step-*")) - before and process.running:
            assert time.monotonic() < deadline
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.3))
        process.send(signal.SIGKILL)
        process.end()
    done = distaff("resume", out).end()
    assert done.returncode == 0, done.stderr
    assert_same_end(out, uninterrupted)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_checkpoints_and_leaves_with_a_message(images, uninterrupted, tmp_path, number):
    out = tmp_path / "asked"
    process = begun(images, out)
    while not (out / "log.jsonl").exists() and process.running:
        time.sleep(0.002)
    process.send(number)
    done = process.end(120)
    if done.returncode == 0:
        pytest.fail("the run ended before the signal came: give it more steps")
    assert done.returncode == 128 + number
    assert f"stopped by {number.name} after step" in done.stderr
    assert f"distaff resume {out}" in done.stderr
    assert "Traceback" not in done.stderr
    assert begun(images, out).end().returncode == 0
    assert_same_end(out, uninterrupted)


@pytest.fixture
def short_run(tmp_path):
    def make(**changes):
        arguments = {"steps": 8, "batch_size": 16, "checkpoint_every": 4, "progress": False, **changes}
        return train("beta_vae", toys.tiny_images(), out=tmp_path / "run", accelerator="cpu", **arguments)

    return make


def test_a_run_is_not_resumed_to_fewer_steps_than_it_has(short_run, tmp_path):
    short_run()
    before = (tmp_path / "run" / "run.yaml").read_bytes()
    with pytest.raises(DistaffError, match=r"run has 8 steps behind it, and steps=3 would be its total"):
        resume(tmp_path / "run", toys.tiny_images(), steps=3, progress=False)
    assert (tmp_path / "run" / "run.yaml").read_bytes() == before


def test_resume_can_lengthen_a_run(short_run, tmp_path):
    short_run()
    longer = resume(tmp_path / "run", toys.tiny_images(), steps=12, progress=False)
    whole = train(
        "beta_vae",
        toys.tiny_images(),
        steps=12,
        batch_size=16,
        checkpoint_every=4,
        progress=False,
        accelerator="cpu",
    )
    for ours, theirs in zip(longer.model.parameters(), whole.model.parameters(), strict=True):
        assert ours.equal(theirs)


def test_the_last_two_checkpoints_are_kept(short_run, tmp_path):
    short_run(steps=12)
    assert sorted(p.name for p in (tmp_path / "run/checkpoint").iterdir()) == [
        "step-000000008",
        "step-000000012",
    ]


def test_a_damaged_checkpoint_falls_back_to_the_one_before(short_run, tmp_path):
    whole = short_run(steps=12)
    file = tmp_path / "run/checkpoint/step-000000012/model.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.warns(UserWarning, match="step-000000012 is damaged"):
        again = resume(tmp_path / "run", toys.tiny_images(), progress=False)
    for ours, theirs in zip(again.model.parameters(), whole.model.parameters(), strict=True):
        assert ours.equal(theirs)


def test_when_every_checkpoint_is_damaged_it_says_so(short_run, tmp_path):
    short_run()
    for file in (tmp_path / "run/checkpoint").glob("*/checkpoint.json"):
        file.write_text("{")
    with pytest.warns(UserWarning, match="damaged"), pytest.raises(DistaffError, match="every checkpoint"):
        load(tmp_path / "run")


@pytest.mark.parametrize("place", ["checkpoint", "best"])
def test_a_half_written_checkpoint_is_not_seen_and_cleared_away(short_run, tmp_path, place):
    settings = {"hold_out": 0.2, "patience": 3, "validate_every": 4} if place == "best" else {}
    short_run(**settings)
    half_written = tmp_path / f"run/{place}/.step-000000099.abc"
    half_written.mkdir()
    assert load(tmp_path / "run").shape == (1, 16, 16)
    short_run(**settings)
    assert not half_written.exists()


def test_two_processes_do_not_train_in_one_folder(short_run, tmp_path):
    short_run(steps=4)
    with RunFolder(tmp_path / "run").lock(), pytest.raises(DistaffError, match="another process is training"):
        short_run(steps=4)
    short_run(steps=4)


@pytest.mark.parametrize(
    ("recipe", "forget", "other"),
    [
        ("wae", lambda arguments: arguments.pop("density"), {"density": "weighted"}),
        ("factor_vae", lambda arguments: arguments["critic"].pop("logits", None), {"critic": ONE_LOGIT}),
    ],
)
def test_arguments_that_came_later_leave_earlier_runs_the_same(tmp_path, recipe, forget, other):
    settings = {"steps": 2, "batch_size": 16, "network": "tests.toys:mlp", "progress": False}
    settings |= {"out": tmp_path / "run", "accelerator": "cpu"}
    own = {"critic": TWO_LOGITS} if "critic" in other else {}
    train(recipe, toys.tiny_images(), **own, **settings)
    file = tmp_path / "run/run.yaml"
    content = yaml.safe_load(file.read_text())
    forget(content["recipe"]["arguments"])
    file.write_text(yaml.safe_dump(content))
    train(recipe, toys.tiny_images(), **own, **settings)
    with pytest.raises(DistaffError, match="holds another run"):
        train(recipe, toys.tiny_images(), **{**own, **other}, **settings)


def test_another_run_in_the_folder_is_refused_and_left_alone(short_run, tmp_path):
    short_run()
    before = (tmp_path / "run/run.yaml").read_text()
    with pytest.raises(DistaffError, match=r"holds another run .*beta is 4.0 there, not 8.0"):
        short_run(beta=8)
    assert (tmp_path / "run/run.yaml").read_text() == before


def test_a_folder_of_other_files_is_refused(short_run, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/thesis.tex").write_text("mine")
    with pytest.raises(DistaffError, match="not a run"):
        short_run()
    assert os.listdir(tmp_path / "run") == ["thesis.tex"]


def test_a_run_on_data_given_in_python_asks_for_it_again(short_run, tmp_path):
    short_run()
    with pytest.raises(DistaffError, match="pass the same data"):
        resume(tmp_path / "run")
    with pytest.raises(DistaffError, match="content has changed"):
        resume(tmp_path / "run", toys.tiny_images(seed=1))


def test_what_is_left_of_a_checkpoint_that_was_being_removed_goes(short_run, tmp_path, monkeypatch):
    """A process killed while it removes an old checkpoint leaves a part of it, which the next one removes."""
    removed = []
    monkeypatch.setattr(checkpoints.shutil, "rmtree", lambda path, **_: removed.append(Path(path)))
    short_run(steps=12)
    monkeypatch.undo()
    assert removed
    assert all(path.name.startswith(".step-") for path in removed if path.exists())
    short_run(steps=12)
    assert not list((tmp_path / "run/checkpoint").glob(".*"))
