"""Two real processes over gloo have the gradients of one, for every term that looks at the whole batch."""

import os
import subprocess
import sys
from pathlib import Path

import torch
from lightning_fabric import Fabric

from tests.objectives.gathered import CASES, gradients

ROOT = Path(__file__).parents[2]


def of_two_processes(out: Path) -> list[torch.Tensor]:
    command = [sys.executable, "-m", "tests.objectives.gathered", str(out)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return torch.load(out)


def test_the_gradients_of_two_processes_are_those_of_one_on_the_same_batch(tmp_path):
    one = gradients(Fabric(accelerator="cpu", devices=1))
    two = of_two_processes(tmp_path / "gradients.pt")
    assert len(one) == len(CASES)
    for (density, term), expected, found in zip(CASES, one, two, strict=True):
        assert expected.abs().max() > 1e-6, (density, term.name)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6, msg=f"{density} {term.name}")
