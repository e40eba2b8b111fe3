"""Studies mend what was damaged; what they say, what the table holds and the exit code agree."""

import numpy as np
import pytest
from safetensors.numpy import load_file

from distaff import studies
from distaff.foundation.errors import DistaffError
from distaff.studies.results import Results
from tests.processes import distaff
from tests.studies.conftest import without_workers

STUDY = """
name: healing
data: {data}
steps: 30
common: {{batch_size: 16, network: mlp, latents: 3, accelerator: cpu, checkpoint_every: 10}}
runs: [vae]
metrics: [mig]
"""


@pytest.fixture
def finished(tiny, tmp_path, monkeypatch) -> Results:
    without_workers(monkeypatch)
    file = tmp_path / "s.yaml"
    file.write_text(STUDY.format(data=tiny))
    studies.run(file, out=tmp_path / "out", progress=False)
    return Results.read(tmp_path / "out")


def damage(results: Results, which: str) -> None:
    (run,) = results.all_runs
    for folder in run.folder.checkpoints.glob(which):
        file = folder / "model.safetensors"
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        file.write_bytes(content)


@pytest.mark.filterwarnings("ignore:the checkpoint", "ignore:no checkpoint")
@pytest.mark.parametrize("which", ["step-000000030", "step-*"])
def test_a_damaged_checkpoint_is_trained_again_before_it_is_scored(finished, which):
    (run,) = finished.all_runs
    weights = load_file(run.folder.checkpoints / "step-000000030/model.safetensors")
    before = run.scores
    damage(finished, which)
    run.folder.scores.unlink()
    run.folder.codes.unlink()
    assert run.state != "finished"
    table = studies.run(finished.folder, progress=False)
    assert list(table["state"]) == list(studies.status(finished.folder)["state"]) == ["finished"]
    assert list(table["step"]) == [30]
    aside = [folder.name for folder in (run.folder.path / "damaged").glob("step-*")]
    assert ("step-000000030" in aside) == (which == "step-*"), "what cannot be read is kept, if it is all"
    again = load_file(run.folder.checkpoints / "step-000000030/model.safetensors")
    assert all(np.array_equal(again[name], weights[name]) for name in weights)
    assert {name: score.value for name, score in run.scores.items()} == pytest.approx(
        {name: score.value for name, score in before.items()}
    )


@pytest.mark.filterwarnings("ignore:the checkpoint")
def test_the_weights_of_an_earlier_step_are_not_taken_for_those_of_the_last(finished):
    (run,) = finished.all_runs
    damage(finished, "step-000000030")
    with pytest.raises(DistaffError, match=r"is of step 20, not 30: remove .*scores.json and run the study"):
        _ = run.model


def test_a_study_that_is_not_finished_says_so_by_its_exit_code(finished):
    """A folder that cannot be written to keeps its run from being finished, whatever the reason."""
    (run,) = finished.all_runs
    run.folder.scores.unlink()
    run.folder.scores.mkdir()  # which no file can replace
    done = distaff("study", "run", finished.folder).end()
    assert done.returncode == 1, done.stderr
    assert "0 of 1 runs finished" in done.stderr
    assert list(studies.status(finished.folder)["state"]) == ["failed"]
