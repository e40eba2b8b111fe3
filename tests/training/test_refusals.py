"""Refused calls change nothing; what a killed run left is cleared away; resuming loses nothing."""

import hashlib
import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from distaff.foundation.errors import DistaffError
from distaff.runs.folder import RunFolder
from distaff.training.job import STALE, Interrupted
from distaff.training.recorder import StopSignal
from distaff.training.train import resume, train
from tests import toys

SMALL = {"batch_size": 16, "network": "mlp", "latents": 2, "progress": False, "accelerator": "cpu"}


def begin(out: Path, **changes):
    return train("beta_vae", toys.tiny_images(), out=out, **{**SMALL, "steps": 8, "log_every": 2, **changes})


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are texts there")
@pytest.mark.parametrize("which", ["data", "out"])
def test_names_that_no_file_of_settings_can_hold_are_refused_before_training(tmp_path, which):
    """Such a run was trained, and could never be opened again."""
    names = {"data": "data.npz", "out": "run"} | {which: os.fsdecode(b"caf\xe9.npz")}
    data, out = (tmp_path / names[name] for name in ("data", "out"))
    np.savez(data, images=toys.tiny_images().images[:].numpy())
    with pytest.raises(DistaffError, match=r"caf\\udce9\.npz' is not text in UTF-8: rename that file or"):
        train("beta_vae", data, out=out, steps=2, **SMALL)
    assert not out.exists()


@pytest.mark.parametrize("setting", ["data", "hold_out", "start"])
def test_an_empty_name_is_not_the_folder_where_one_is(tmp_path, monkeypatch, setting):
    monkeypatch.chdir(tmp_path)
    Image.new("L", (16, 16)).save("a.png")
    given = {"data": toys.tiny_images(), setting: ""}
    with pytest.raises(DistaffError, match=r"'' cannot be the name of a file \(it is empty\)"):
        train("beta_vae", steps=2, **SMALL, **given)


def content(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize(
    "wrong",
    [
        {"batch_size": 100_000},
        {"optimizer": "adma"},
        {"optimizer": "sgd", "amsgrad": True},
        {"network": "os:getcwd"},
        {"network": "mlp:nonsense=1"},
        {"prior": "nonsense"},
        {"latents": "z=uniform:2"},
        {"devices": 0},
        {"beta": float("nan")},
        {"accelerator": "cuda"},
    ],
    ids=str,
)
def test_a_run_that_cannot_be_made_leaves_no_folder(tmp_path, wrong):
    if wrong.get("accelerator") == "cuda" and torch.cuda.is_available():
        pytest.skip("this machine can")
    with pytest.raises(DistaffError):
        begin(tmp_path / "run", **wrong)
    assert not (tmp_path / "run").exists()


def test_the_exact_density_of_a_large_data_set_is_refused_before_a_folder_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr("distaff.training.batches.LARGEST_WHOLE", 10)
    with pytest.raises(DistaffError, match="more than 10"):
        train("beta_tcvae", toys.tiny_images(), out=tmp_path / "run", density="exact", steps=2, **SMALL)
    assert not (tmp_path / "run").exists()


def test_refused_calls_on_a_run_change_no_byte_of_it(tmp_path):
    begin(tmp_path / "run", steps=4)
    before = content(tmp_path)
    with RunFolder(tmp_path / "run").lock():
        for steps in (None, 12):
            with pytest.raises(DistaffError, match="another process"):
                resume(tmp_path / "run", toys.tiny_images(), steps=steps, progress=False)
    for wrong in ({"batch_size": 32}, {"batch_size": 100_000}, {"steps": 12}):
        with pytest.raises(DistaffError):
            begin(tmp_path / "run", **{"steps": 4, **wrong})
    assert content(tmp_path) == before


def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path):
    out = tmp_path / "run"
    begin(out, steps=4, snapshots=1)
    left = [
        out / ".log.jsonl.ab_cd123",
        out / ".run.yaml.abcdefgh",
        out / "snapshots/.step-2.safetensors.01234567",
    ]
    others = [out / ".scores.json.abcdefgh", out / ".codes.safetensors.abcdefgh"]
    for file in [*left, *others]:
        file.write_text("half")
    os.utime(others[1], (time.time() - 2 * STALE,) * 2)
    begin(out, steps=4, snapshots=1)
    assert not [file for file in [*left, others[1]] if file.exists()]
    assert others[0].exists()  # another command may be writing it
    assert (out / ".lock").exists()


def test_tensorboard_keeps_the_point_at_which_a_run_resumed(tmp_path):
    begin(tmp_path / "run")
    resume(tmp_path / "run", toys.tiny_images(), steps=16, progress=False)
    resume(tmp_path / "run", toys.tiny_images(), steps=20, progress=False)
    events = EventAccumulator(str(tmp_path / "run/tensorboard")).Reload()
    assert [event.step for event in events.Scalars("loss")] == list(range(2, 21, 2))


def test_resuming_with_other_threads_is_said(tmp_path):
    begin(tmp_path / "run")
    file = tmp_path / "run/run.yaml"
    now = torch.get_num_threads()
    assert f"threads: {now}" in file.read_text()
    torch.set_num_threads(now + 1)
    try:
        with pytest.warns(UserWarning, match=f"begun with {now} threads and resumes with {now + 1}"):
            resume(tmp_path / "run", toys.tiny_images(), steps=10, progress=False)
    finally:
        torch.set_num_threads(now)


def test_a_hangup_checkpoints_as_other_signals_do(tmp_path):
    former = signal.signal(signal.SIGHUP, lambda *_: None)  # should the run have ended before
    try:
        _hang_up_after_the_first_log(tmp_path / "run")
        with pytest.raises(Interrupted, match="stopped by SIGHUP after step") as stopped:
            begin(tmp_path / "run", steps=100_000, checkpoint_every=100_000)
    finally:
        signal.signal(signal.SIGHUP, former)
    assert stopped.value.signal_number == signal.SIGHUP
    assert list((tmp_path / "run/checkpoint").glob("step-*"))


def _hang_up_after_the_first_log(run: Path) -> None:
    def watch() -> None:
        while not (run / "log.jsonl").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGHUP)

    threading.Thread(target=watch, daemon=True).start()


def test_a_hangup_that_nohup_ignores_is_ignored():
    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        stop = StopSignal()
        with stop.listening():
            os.kill(os.getpid(), signal.SIGHUP)
            assert stop.heard is None
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, former)


def test_a_gan_has_nothing_to_look_at_in_held_out_data(tmp_path):
    small = {**SMALL, "network": "infogan_mlp", "latents": "style=uniform:2,noise:4"}
    with pytest.raises(DistaffError, match="a GAN has no ELBO"):
        train("infogan", toys.tiny_images(), steps=600, hold_out=0.2, out=tmp_path / "run", **small)
    assert not (tmp_path / "run").exists()  # before a step is taken, not at the first look
