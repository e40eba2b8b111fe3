"""What a person is told while a run is recorded."""

import pytest
import torch
from lightning_fabric import Fabric

from distaff.foundation.progress import Progress
from distaff.runs.sections import TrainingSettings
from distaff.training import recorder as module
from distaff.training.recorder import Recorder


@pytest.mark.parametrize(("steps", "told"), [(7_200, 0), (7_202, 1), (360_000, 1)])
def test_hours_that_lie_ahead_are_said_once(steps, told, monkeypatch, capsys):
    """At half a second per step, an hour is 7,200 steps."""
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    training = TrainingSettings(steps=steps, log_every=1)
    made = Recorder(None, Fabric(accelerator="cpu", devices=1), training, Progress("", steps))
    for index in range(12):
        now[0] += 0.5
        made.add(index, {"loss": torch.zeros(())})
    said = capsys.readouterr().err
    assert said.count("hours at this rate") == told
    assert ("preset='quick' takes less, and so do fewer steps." in said) == bool(told)
