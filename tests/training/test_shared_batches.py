"""Two real processes over gloo take the step that one takes on the same batch: every recipe, every weight."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from lightning_fabric import Fabric
from torch import Tensor

from tests.processes import ROOT
from tests.training.shared_batches import CAPACITY, CASES, NORMED, SIZE, Halves, learner, pulls

ONE = Fabric(accelerator="cpu", devices=1)


@pytest.fixture(scope="module")
def steps(tmp_path_factory) -> tuple[dict[str, dict[str, Tensor]], dict[str, dict[str, Tensor]]]:
    """What one process does, and what two do."""
    out: Path = tmp_path_factory.mktemp("two") / "pulls.pt"
    command = [sys.executable, "-m", "tests.training.shared_batches", str(out)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return pulls(ONE), torch.load(out)


@pytest.mark.parametrize("name", CASES)
def test_two_processes_pull_at_every_weight_as_one_does(steps, name):
    one, two = (found[name] for found in steps)
    assert one.keys() == two.keys()
    largest = max(float(pull.abs().max()) for pull in one.values())
    assert largest > 1e-3
    for place, expected in one.items():
        torch.testing.assert_close(
            two[place], expected, rtol=1e-6, atol=1e-9 * largest, msg=lambda m, place=place: f"{place}: {m}"
        )


@torch.no_grad()
def test_the_halves_are_on_both_sides_of_the_capacity():
    """Else |KL − C| would be linear in the batch, and its gradient in two processes right by chance."""
    torch.manual_seed(0)
    model = learner("annealed_vae", ONE).model
    output = model(Halves(ONE)(0))
    first, second = output.prior.kl(output.posterior, output.u).split(SIZE // 2)
    assert float(first.mean()) < CAPACITY - 0.2
    assert float(second.mean()) > CAPACITY + 0.2


def test_what_batch_norms_remember_is_compared_too(steps):
    for name in ("infogan", "infowgan_gp", NORMED):
        assert any(place.endswith("running_var") for place in steps[0][name])
