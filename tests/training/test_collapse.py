"""A run that goes bad is noticed, said once, and kept as it was, as a run folder of its own."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric

from distaff.foundation.progress import Progress
from distaff.objectives import recipes
from distaff.runs.checkpoints import Reached
from distaff.runs.folder import RunFolder
from distaff.runs.load import load
from distaff.runs.log import read_log
from distaff.runs.sections import TrainingSettings
from distaff.training.collapse import BEFORE, PATIENCE, REASON, CollapseWatch, has_collapsed
from distaff.training.learner import Learner
from distaff.training.recorder import Recorder
from distaff.training.train import resume, train
from tests import toys

QUICK = {"batch_size": 16, "log_every": 2, "checkpoint_every": 4, "progress": False, "accelerator": "cpu"}


@pytest.fixture
def folder(tmp_path) -> RunFolder:
    """A run of 8 steps, with its last two checkpoints."""
    train(
        "vae", toys.tiny_images(), steps=8, latents=2, network="tests.toys:mlp", out=tmp_path / "run", **QUICK
    )
    return RunFolder(tmp_path / "run")


def lines(*accuracies: float, every: int = 100) -> list[dict[str, float]]:
    """Log lines with these accuracies of the discriminator on generated images."""
    return [
        {"step": every * (i + 1), "accuracy_fake": fake, "accuracy_real": 1.0}
        for i, fake in enumerate(accuracies)
    ]


def caught_up(folder: RunFolder, seen: list[dict[str, float]]) -> CollapseWatch:
    watch = CollapseWatch(folder)
    watch.catch_up(seen)
    return watch


def see_all(health: CollapseWatch, seen: list[dict[str, float]]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for line in seen:
            health.see(line)
    return [str(warning.message) for warning in caught]


def test_trouble_that_lasts_is_said_once():
    said = see_all(CollapseWatch(None), lines(1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0))
    assert said == [f"since step 200, {REASON}; there is no checkpoint from before"]
    assert "infowgan_gp" in said[0]


def test_only_a_discriminator_that_takes_everything_for_real_has_collapsed():
    assert has_collapsed({"accuracy_real": 1.0, "accuracy_fake": 0.01})
    assert not has_collapsed({"accuracy_real": 0.7, "accuracy_fake": 0.01})
    assert not has_collapsed({"accuracy_real": 1.0, "accuracy_fake": 0.9})


def test_trouble_is_measured_in_steps_not_in_lines():
    assert not see_all(CollapseWatch(None), lines(1, *[0] * 29, every=10))
    assert len(see_all(CollapseWatch(None), lines(1, *[0] * 30, every=10))) == 1
    assert len(see_all(CollapseWatch(None), lines(0, every=PATIENCE))) == 1


def test_trouble_that_passes_leaves_nothing(folder):
    health = CollapseWatch(folder)
    assert not see_all(health, lines(1, 0))
    assert (folder.path / BEFORE).exists()
    assert not see_all(health, lines(1, 0, 1)[2:])
    assert not (folder.path / BEFORE).exists()


def test_the_run_as_it_was_is_a_run_folder(folder):
    (said,) = see_all(CollapseWatch(folder), lines(1, 0, 0, 0))
    assert str(folder.path / BEFORE) in said
    x = toys.tiny_images().images[:3].numpy()
    kept = load(folder.path / BEFORE)
    np.testing.assert_array_equal(kept.encode(x).means, load(folder.path).encode(x).means)
    assert [line["step"] for line in read_log(folder.path / BEFORE / "log.jsonl")] == [2, 4, 6, 8]
    resume(folder.path / BEFORE, toys.tiny_images(), steps=10, accelerator="cpu", progress=False)


def test_what_was_seen_before_is_not_said_again(folder):
    seen = lines(1, 0, 0, 0)
    assert not see_all(caught_up(folder, seen), lines(1, 0, 0, 0, 0, 0)[4:])
    assert len(see_all(caught_up(folder, seen[:3]), seen[3:])) == 1


def test_leftovers_of_a_kill_are_cleared_away(folder):
    half = folder.path / f".{BEFORE}.abc"
    half.mkdir()
    CollapseWatch(folder)
    assert not half.exists()


class Stub:
    """A learner whose one weight counts the checkpoints; its values are given by the test."""

    def __init__(self) -> None:
        self.model = torch.nn.Linear(1, 1)
        self.modules = {"model": self.model}
        self.optimisers: dict[str, torch.optim.Optimizer] = {}


def test_later_checkpoints_do_not_push_the_one_from_before_out(folder):
    folder.log.write_text("")  # that of a VAE has no discriminator
    learner: Learner = Stub()
    fabric = Fabric(accelerator="cpu", devices=1)
    silent = Progress("", 10**6, visible=False)
    training = TrainingSettings(log_every=50, checkpoint_every=100)
    recorder = Recorder(folder, fabric, training, silent, Reached(8), recipes.infogan())

    def record() -> None:
        for index in range(8, 1000):
            accuracies = {"accuracy_fake": float(index < 200), "accuracy_real": 1.0}
            recorder.add(index, {name: torch.tensor(value) for name, value in accuracies.items()})
            if recorder.checkpoint_due(index + 1):
                recorder.checkpoint(learner, index + 1)

    with pytest.warns(UserWarning, match=f"since step 200, {REASON}"):
        record()
    recorder.close()

    def steps(path: Path) -> list[str]:
        return sorted(p.name for p in (path / "checkpoint").iterdir())

    assert steps(folder.path) == ["step-000000900", "step-000001000"]
    assert steps(folder.path / BEFORE) == ["step-000000200"]
