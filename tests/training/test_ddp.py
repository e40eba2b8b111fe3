"""Two real processes over gloo train the model that one process trains."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from distaff.runs.load import load
from distaff.runs.log import read_log
from tests import toys
from tests.processes import ROOT, distaff


def command(images: Path, out: Path) -> list[str]:
    text = f"train factor_vae --data {images} --out {out} --steps 30 --batch-size 32 --log-every 10"
    return f"{text} --critic.hidden 32 --critic.layers 2 --learning-rate 1e-3 --accelerator cpu".split()


def test_two_processes_train_like_one(tmp_path):
    images = tmp_path / "tiny.npz"
    np.savez(images, images=toys.tiny_images().images[:].numpy())
    assert distaff(*command(images, tmp_path / "one")).end().returncode == 0
    both = [*command(images, tmp_path / "two"), "--devices", "2", "--strategy", "ddp"]
    both = [sys.executable, "-m", "distaff", *both]
    done = subprocess.run(both, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("trained: ") == 1
    one, two = (read_log(tmp_path / name / "log.jsonl") for name in ("one", "two"))
    assert [line["step"] for line in two] == [10, 20, 30]
    # The same batches and weights, other noise: each process reports its own share of the batch.
    for ours, theirs in zip(two, one, strict=True):
        assert ours["nll"] == pytest.approx(theirs["nll"], rel=0.05)
    assert one[-1]["nll"] < 0.9 * one[0]["nll"]
    x = toys.tiny_images().images[:8].numpy()
    assert load(tmp_path / "two").encode(x).means.shape == (8, 10)
