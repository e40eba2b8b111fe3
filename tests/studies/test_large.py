"""Studies of many seeds: what is read and compared grows with the number of runs, and stays what it was."""

import pandas as pd
import pytest

from benchmarks.studies import make
from distaff import studies
from distaff.metrics import udr
from distaff.studies import run_files
from distaff.studies.results import Results
from distaff.studies.selection import COMPARED, udr_scores
from distaff.studies.study import Study

RUNS = 24


@pytest.fixture(scope="module")
def many(tmp_path_factory) -> Results:
    folder = tmp_path_factory.mktemp("many")
    make(folder, RUNS)
    return Results.read(folder / "out")


def test_the_folder_that_the_benchmark_makes_is_a_finished_study(many):
    assert list(studies.status(many.folder)["state"]) == ["finished"] * RUNS
    assert (studies.table(many.folder)["n"] == RUNS).all()
    status = studies.status(many.folder)
    pd.testing.assert_frame_equal(status, many.table[list(status.columns)])
    assert many.table["version.torch"].notna().all()
    assert list(many.table["seed"]) == list(range(RUNS))


def test_seeds_are_compared_in_groups_of_ten_at_most(many):
    found = udr_scores(many).set_index("run")["udr"]
    assert len(found) == RUNS
    keys = [run.key for run in many.all_runs]
    codes = {run.key: run.codes for run in many.all_runs}
    for group in (keys[:8], keys[8:16], keys[16:]):
        assert len(group) <= COMPARED
        expected = udr({key: codes[key] for key in group})
        assert {key: found[key] for key in group} == pytest.approx({k: s.value for k, s in expected.items()})


def test_scores_are_read_once_and_read_again_when_they_change(many, monkeypatch):
    reads = []
    real = run_files.Scores.read
    monkeypatch.setattr(run_files.Scores, "read", lambda path: reads.append(path) or real(path))
    run_files._measured.cache_clear()
    run_files._scores.cache_clear()
    first, *_ = many.all_runs
    assert first.state == "finished"
    assert first.scores
    assert first.scoring_seconds is not None
    assert len(reads) == 1
    text = first.folder.scores.read_text()
    first.folder.scores.write_text("{}")
    assert first.state != "finished"
    first.folder.scores.write_text(text)
    assert first.state == "finished"


def test_runs_that_differ_by_their_seed_are_each_what_they_are_alone():
    entry = "{{recipe: beta_vae, beta: [1, 8], seed: {seeds}}}"
    head = "{data: pinwheel, steps: 20, preset: quick, runs: ["
    together = Study.parse(f"{head}{entry.format(seeds='[3, 0, 7]')}]}}").runs
    alone = [Study.parse(f"{head}{entry.format(seeds=seed)}]}}").runs for seed in (3, 0, 7)]
    assert [run.training.seed for run in together] == [3, 0, 7, 3, 0, 7]
    assert sorted(run.key for run in together) == sorted(run.key for runs in alone for run in runs)
    by_key = {run.key: run for runs in alone for run in runs}
    assert all(run == by_key[run.key] and run.settings == by_key[run.key].settings for run in together)
