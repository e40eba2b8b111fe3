"""Studies on a real Ray of two workers: one killed in the middle, and workers that do not see the folder."""

from collections import Counter
from pathlib import Path

import pytest

from distaff import studies
from distaff.foundation.errors import DistaffError
from distaff.studies.results import Results
from distaff.studies.study import Study
from distaff.studies.worker_task import to_message
from tests.studies.test_engine import TROUBLES, steps_taken, write

pytest.importorskip("ray", reason="needs Ray: pip install 'distaff[ray]'")


def test_a_killed_ray_worker_is_replaced_and_its_run_goes_on(tiny, tmp_path):
    log = tmp_path / "steps"
    runs = [
        {"recipe": TROUBLES + "recorded", "log": str(log), "die_at": 15, "checkpoint_every": 10},
        {"recipe": TROUBLES + "diverging"},
        {"recipe": "vae"},
    ]
    path = write(tmp_path, tiny, runs, metrics=["mig"])
    table = studies.run(path, ray="local", workers=2, out=tmp_path / "out", progress=False)
    assert list(table["state"]) == ["finished", "failed", "finished"], table["error"].tolist()
    assert "'blows_up' became non-finite" in table["error"][1]
    assert table["mig"].notna().sum() == 2
    assert steps_taken(log, 1) == Counter([*range(30), *range(10, 16)])
    assert not list((tmp_path / "out").glob(".seen-*"))


@pytest.mark.slow
def test_what_is_wrong_is_said_by_ray_too(tiny, tmp_path):
    path = write(tmp_path, tiny, [{"recipe": "vae", "batch_size": 1000}])
    with pytest.raises(DistaffError, match="lower batch_size"):
        studies.run(path, ray="local", workers=1, out=tmp_path / "out", progress=False)


def test_a_folder_that_a_worker_does_not_see_is_brought_back(tiny, tmp_path):
    from distaff.studies.cluster import unpack, work

    study = Study.read(write(tmp_path, tiny, ["vae"], metrics=["mig"]))
    (run,) = Results(study, tmp_path / "out").all_runs
    outcome = work(to_message(run), str(tmp_path / "out/.seen-by-nobody"), str(Path.cwd()))
    assert outcome.error is None
    assert run.state == "waiting", "nothing was written where it could not be seen"
    unpack(outcome.archive, run.folder.path)
    assert run.state == "finished"
    assert run.scores["mig"].value >= 0


def test_no_cluster_at_the_address(tiny, tmp_path):
    path = write(tmp_path, tiny, ["vae"])
    with pytest.raises(DistaffError, match=r"no Ray cluster answers at 127\.0\.0\.1:1"):
        studies.run(path, ray="127.0.0.1:1", out=tmp_path / "out", progress=False)
