"""Studies that score runs on other data than they were trained on."""

import numpy as np
import pytest

from distaff import DistaffError, evaluate_run, studies
from distaff.studies.results import Results
from distaff.studies.study import Study
from distaff.studies.worker_task import from_message, to_message
from tests.studies.test_engine import modified, write

pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture
def mirrored(tiny, tmp_path):
    """The squares upside down, half of them, with real numbers for a third factor."""
    with np.load(tiny) as file:
        images, corners = file["images"][::2, :, ::-1], file["factors"][::2]
    factors = np.column_stack([corners, np.linspace(0, 1, len(corners))])
    path = tmp_path / "mirrored.npz"
    np.savez(path, images=images, factors=factors, factor_names=["row", "column", "shade"])
    return path


def test_runs_are_trained_on_one_and_scored_on_the_other(tiny, mirrored, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the worker is told the absolute path of the same file
    path = write(tmp_path, tiny, ["vae"], metrics=["mig", "r2"], scored_on=mirrored.name)
    row = studies.run(path, out="out", progress=False).iloc[0]
    assert (row["state"], row["scored_on"]) == ("finished", "mirrored.npz")
    (run,) = Results.read("out").all_runs
    evaluation = evaluate_run(run.folder.path, data=mirrored, metrics="mig,r2", progress=False)
    expected = {score.name: score.value for score in evaluation.scores}
    for name in ("reconstruction_error", "mig", "r2"):
        column = "reconstruction" if name == "reconstruction_error" else name
        assert row[column] == pytest.approx(expected[name], rel=1e-6), name
    assert len(run.data) == len(run.codes) == 128
    assert len(run.whole_data) == 256
    assert not run.folder.scores.exists(), "scores on other data are not the run's own"
    assert from_message(to_message(run)).scores_file.samefile(run.scores_file)


def test_the_same_run_is_scored_on_its_own_data_beside(tiny, mirrored, tmp_path):
    path = write(tmp_path, tiny, ["vae"], metrics=["mig"], scored_on=str(mirrored))
    first = studies.run(path, out=tmp_path / "out", progress=False)
    trained = modified(Results.read(tmp_path / "out"), "checkpoint")
    path.write_text("\n".join(line for line in path.read_text().splitlines() if "scored_on" not in line))
    second = studies.run(path, out=tmp_path / "out", progress=False)
    assert modified(Results.read(tmp_path / "out"), "checkpoint") == trained
    assert "scored_on" not in second
    assert second["reconstruction"][0] != first["reconstruction"][0]


def test_claims_are_about_the_factors_that_are_scored(tiny, tmp_path):
    claim = {"says": "so", "within": {"metric": "mig.posX", "range": [0, 1]}}
    path = write(tmp_path, tiny, ["vae"], metrics=["mig"], scored_on="dsprites", claims=[claim])
    assert Study.read(path).claims[0].form.columns == ("mig.posX",)
    path.write_text(path.read_text().replace("posX", "posZ"))
    with pytest.raises(DistaffError, match=r"unknown factor 'posZ'"):
        Study.read(path)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"scored_on": "dsprites"}, r"dsprites holds observations of shape .* trained on"),
        ({"scored_on": "absent.npz"}, "absent.npz"),
        ({"scored_on": 3}, "data is a name, a path, or a mapping"),
        ({"scored_on": "dsprites", "ica": True}, "ica and scored_on exclude each other"),
    ],
)
def test_what_cannot_be_scored_is_said_before_anything_is_trained(tiny, tmp_path, options, sentence):
    path = write(tmp_path, tiny, ["vae"], metrics=["mig"], **options)
    with pytest.raises(DistaffError, match=sentence):
        studies.run(path, out=tmp_path / "out", progress=False)
    assert not list(tmp_path.glob("out/runs/*"))
