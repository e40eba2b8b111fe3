"""Studies run for real by worker processes: killed, restarted, with failures among good runs."""

import os
import signal
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from distaff import studies
from distaff.analysis.evaluate import evaluate_run
from distaff.foundation.errors import DistaffError
from distaff.studies import local
from distaff.studies.local import LocalWorkers
from distaff.studies.results import Results
from distaff.studies.study import Study
from distaff.studies.study_run import StudyRun
from distaff.studies.tables import score_columns
from distaff.studies.worker_task import DISK_IS_FULL, from_message, to_message
from tests.processes import distaff

COMMON = {"batch_size": 16, "network": "mlp", "latents": 3, "accelerator": "cpu"}
TROUBLES = "tests.studies.troubles:"


def write(folder: Path, data: Path, runs: list, **changes) -> Path:
    content = {"name": "s", "data": str(data), "steps": 30, "common": COMMON, "runs": runs, **changes}
    path = folder / "s.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def steps_taken(log: Path, beta: float) -> Counter[int]:
    return Counter(int(line) for line in Path(f"{log}-{beta:g}").read_text().split())


def modified(results: Results, below: str = "") -> dict[Path, int]:
    folders = [run.folder.path / below for run in results.all_runs]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return {path: path.stat().st_mtime_ns for path in files}


def test_nothing_is_done_twice(done):
    before = modified(done)
    table = studies.run(done.folder, progress=False)
    assert modified(done) == before
    assert list(table["state"]) == ["finished"] * 6


@pytest.mark.usefixtures("here")
def test_a_new_metric_is_measured_without_training_or_measuring_the_others_again(tiny, tmp_path):
    path = write(tmp_path, tiny, ["vae"], metrics=["mig"])
    first = studies.run(path, out=tmp_path / "out", progress=False)
    trained = modified(Results.read(tmp_path / "out"), "checkpoint")
    assert trained
    path.write_text(path.read_text().replace("- mig", "- mig\n- sap"))
    second = studies.run(path, out=tmp_path / "out", progress=False)
    assert list(second["state"]) == ["finished"]
    assert "sap" not in first
    assert second["sap"].notna().all()
    assert second["mig"].equals(first["mig"])
    assert modified(Results.read(tmp_path / "out"), "checkpoint") == trained


@pytest.mark.usefixtures("here")
def test_a_study_is_done_seed_by_seed(tiny, tmp_path):
    path = write(tmp_path, tiny, [{"recipe": "beta_vae", "beta": [1, 2]}], seeds=2, steps=2)
    studies.run(path, out=tmp_path / "out", progress=False)
    runs = Results.read(tmp_path / "out").runs()
    begun = sorted(runs, key=lambda run: run.folder.config.stat().st_mtime_ns)
    assert [run.settings["seed"] for run in begun] == [0, 0, 1, 1]


@pytest.mark.usefixtures("here")
def test_some_observations_stand_for_all_once_trained(tiny, tmp_path):
    """Asked for all of them later, the run is scored anew but not trained again."""
    path = write(tmp_path, tiny, ["vae"], metrics=["mig"], observations=100)
    assert list(studies.run(path, out=tmp_path / "out", progress=False)["state"]) == ["finished"]
    results = Results.read(tmp_path / "out")
    (run,) = results.all_runs
    assert len(run.data) == len(run.codes) == 100
    np.testing.assert_allclose(run.codes.means, run.model.encode(run.data.images).means, atol=1e-5)
    trained = modified(results, "checkpoint")
    path.write_text(path.read_text().replace("observations: 100\n", ""))
    assert list(studies.run(path, out=tmp_path / "out", progress=False)["state"]) == ["finished"]
    (run,) = Results.read(tmp_path / "out").all_runs
    assert len(run.data) == len(run.codes) == 256
    assert modified(results, "checkpoint") == trained


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("observations", [None, 100])
def test_evaluating_a_finished_run_by_itself_leaves_the_study_as_it_is(tiny, tmp_path, observations):
    path = write(tmp_path, tiny, ["vae"], metrics=["mig", "dci"], observations=observations)
    before = studies.run(path, out=tmp_path / "out", progress=False)
    (run,) = Results.read(tmp_path / "out").all_runs
    for arguments in ({}, {"metrics": "mig,sap", "seed": 3}, {"metrics": "mig", "factor_bins": 2}):
        evaluate_run(run.folder.path, progress=False, **arguments)
    assert list(studies.status(tmp_path / "out")["state"]) == ["finished"]
    after = Results.read(tmp_path / "out").table
    pd.testing.assert_frame_equal(
        after.drop(columns="scoring_seconds"), before.drop(columns="scoring_seconds")
    )
    assert studies.table(tmp_path / "out", metric="mig")["mean"].tolist() == before["mig"].tolist()


@pytest.mark.usefixtures("here")
def test_what_evaluate_measured_the_study_does_not_measure_again(tiny, tmp_path, monkeypatch):
    path = write(tmp_path, tiny, ["vae"], metrics=["mig"])
    studies.run(path, out=tmp_path / "out", progress=False)
    (run,) = Results.read(tmp_path / "out").all_runs
    own = evaluate_run(run.folder.path, metrics="sap", progress=False)
    path.write_text(path.read_text().replace("- mig", "- mig\n- sap"))
    monkeypatch.setattr("distaff.studies.worker_task.evaluate_scores", None)
    table = studies.run(path, out=tmp_path / "out", progress=False)
    assert list(table["state"]) == ["finished"]
    assert table["sap"].tolist() == [own.scores[-1].value]


def wait_for(what, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


def is_working(run: StudyRun) -> bool:
    return run.state in ("training", "scoring")


def test_a_study_killed_in_the_middle_goes_on_where_it_was(tiny, tmp_path):
    """Workers notice that their study is gone, write a checkpoint and leave: no step is taken twice."""
    log = tmp_path / "steps"
    recipe = {"recipe": TROUBLES + "recorded", "log": str(log), "beta": [1, 2, 3], "seconds": 0.05}
    path = write(tmp_path, tiny, [recipe], steps=60)
    command = ["study", "run", path, "--workers", 2, "--out", tmp_path / "out"]
    process = distaff(*command)
    logs = [Path(f"{log}-1"), Path(f"{log}-2")]
    wait_for(lambda: all(one.exists() and len(one.read_text().split()) > 10 for one in logs))
    runs = Results.read(tmp_path / "out").all_runs
    assert [run.state for run in runs] == ["training", "training", "waiting"]
    with pytest.raises(DistaffError, match="another process works on the study"):
        studies.run(path, out=tmp_path / "out", progress=False)
    process.send(signal.SIGKILL)
    process.end()
    wait_for(lambda: not any(map(is_working, runs)))
    assert [run.state for run in runs] == ["interrupted", "interrupted", "waiting"]
    assert all(10 < run.saved_step < 60 for run in runs[:2])
    done = distaff(*command).end()
    assert done.returncode == 0, done.stderr
    assert "resumes at step" in done.stderr
    assert "3 of 3 runs finished" in done.stderr
    for beta in (1, 2, 3):
        assert steps_taken(log, beta) == Counter(range(60))


@pytest.mark.slow
def test_ctrl_c_stops_after_a_checkpoint_and_says_how_to_go_on(tiny, tmp_path):
    log = tmp_path / "steps"
    recipe = {"recipe": TROUBLES + "recorded", "log": str(log), "seconds": 0.05}
    path = write(tmp_path, tiny, [recipe], steps=400)
    process = distaff("study", "run", path, "--out", tmp_path / "out")
    wait_for(lambda: Path(f"{log}-1").exists() and len(Path(f"{log}-1").read_text().split()) > 5)
    process.send(signal.SIGINT)
    stopped = process.end(60)
    assert stopped.returncode == 130
    assert "the same command resumes it" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    (run,) = Results.read(tmp_path / "out").all_runs
    assert run.state == "interrupted"
    assert run.saved_step == len(steps_taken(log, 1))


def test_failures_are_tried_once_more_and_reported_while_others_go_on(tiny, tmp_path, capfd):
    log = tmp_path / "steps"
    runs = [
        {"recipe": TROUBLES + "needs", "wanted": str(tmp_path / "wanted")},
        {"recipe": TROUBLES + "full_disk", "beta": [1, 2]},
        {"recipe": TROUBLES + "recorded", "log": str(log), "die_at": 15, "checkpoint_every": 10},
        {"recipe": "vae"},
    ]
    path = write(tmp_path, tiny, runs)
    table = studies.run(path, workers=2, out=tmp_path / "out")
    assert list(table["state"]) == ["failed", "failed", "failed", "finished", "finished"]
    share = min(max(1, len(os.sched_getaffinity(0)) // 2), int(os.environ["OMP_NUM_THREADS"]))
    assert set(table["version.threads"][3:]) == {share}, "of the cores, for each of two workers"
    assert table["error"][0] == f"{tmp_path / 'wanted'} is missing."
    assert table["error"][1] == table["error"][2] == DISK_IS_FULL
    printed = capfd.readouterr().err
    assert printed.count(DISK_IS_FULL) == 1, "one disk, one sentence"
    assert printed.count("will be tried once more") == 4, "the killed worker's run too"
    assert "was killed by signal 9" in printed
    # Killed after step 15 with a checkpoint at 10: those in between are all that was lost.
    assert steps_taken(log, 1) == Counter([*range(30), *range(10, 16)])
    assert studies.status(tmp_path / "out")["error"].notna().sum() == 3
    assert Results.read(tmp_path / "out").all_runs[0].failure_file.exists()
    (tmp_path / "wanted").touch()
    again = studies.run(path, workers=1, out=tmp_path / "out", progress=False)
    assert list(again["state"]) == ["finished", "failed", "failed", "finished", "finished"]


def test_what_can_be_known_is_said_before_training(tiny, tmp_path):
    bare = tmp_path / "bare.npz"
    with np.load(tiny) as arrays:
        np.savez(bare, images=arrays["images"])
    cases = [
        (bare, ["vae"], {"metrics": ["wsepin", "mig", "dci"]}, "has no labels, which mig, dci need"),
        (bare, [{"recipe": "vae", "batch_size": 1000}], {}, "lower batch_size"),
        (bare, [{"recipe": "vae", "network": "mpl"}], {}, "did you mean 'mlp'"),
        (bare, [{"recipe": "vae", "prior": "norml"}], {}, "did you mean 'normal'"),
        (bare, [{"recipe": "wae", "divergence": "mmdd"}], {}, "mmd"),
        (bare, [{"recipe": "vae", "data": {"spec": str(bare), "part": "x"}}], {}, "part"),
        (tmp_path / "none.npz", ["vae"], {}, "none.npz"),
        ("dsprits", ["vae"], {}, "did you mean 'dsprites'"),
    ]
    for data, runs, changes, message in cases:
        path = write(tmp_path, data, runs, **changes)
        with pytest.raises(DistaffError, match=message):
            studies.run(path, out=tmp_path / "out", progress=False)
        assert not (tmp_path / "out" / "runs").exists()


def test_the_table_is_rebuilt_from_the_folders(done):
    kept = pd.read_parquet(done.folder / "study.parquet")
    (done.folder / "study.parquet").unlink()
    again = Results.read(done.folder).write()
    pd.testing.assert_frame_equal(pd.read_parquet(done.folder / "study.parquet"), kept)
    pd.testing.assert_frame_equal(again, kept, check_dtype=False)
    assert {"recipe", "beta", "seed", "mig", "mig:chen18", "dci_completeness", "reconstruction"} <= set(kept)
    assert kept["version.torch"].notna().all()
    assert (kept["seconds"] > 0).all()
    assert (kept["scale"] == 1).all()


def test_runs_are_found_by_their_settings(done):
    assert [run.settings["seed"] for run in done.runs(recipe="beta_vae", beta=8)] == [0, 1]
    assert len(done.runs(recipe="beta_vae", beta=[1, 8])) == 4
    assert len(done.runs()) == 6
    with pytest.raises(DistaffError, match="did you mean 'beta'"):
        done.runs(bta=3)
    run = done.runs(recipe="dip_vae_i")[0]
    assert run.scores["mig"].per_factor.keys() == {"row", "column"}
    assert len(run.codes) == len(run.data) == 256
    assert run.log[-1]["step"] == run.step == 20
    assert run.model.shape == (1, 16, 16)


def test_a_run_folder_that_is_a_link_keeps_its_name(tiny, tmp_path):
    """Outcomes are told by the name of the folder; what lies elsewhere may have another."""
    (run,) = Results(Study.read(write(tmp_path, tiny, ["vae"])), tmp_path / "out").all_runs
    run.folder.path.parent.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    run.folder.path.symlink_to(tmp_path / "elsewhere")
    assert from_message(to_message(run)).folder.path.name == run.key


@pytest.mark.parametrize(
    ("asked", "threads"), [(None, 8), ("", 8), ("1", 1), ("3", 3), ("64", 8), ("0", 8), ("4,2", 8)]
)
def test_a_worker_has_its_share_of_the_cores_but_not_more_threads_than_asked_for(monkeypatch, asked, threads):
    monkeypatch.setattr(local, "cores", lambda: 16)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if asked is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", asked)
    assert local.local_workers(5, 2, Path("logs")).threads == threads


def test_workers_must_be_some(done, tmp_path, tiny):
    with pytest.raises(DistaffError, match="workers must be at least 1"):
        studies.run(write(tmp_path, tiny, ["vae"]), workers=0, out=tmp_path / "out", progress=False)


@pytest.mark.usefixtures("here")
def test_a_generator_scores_in_a_study_as_it_does_by_itself(tiny, tmp_path):
    """Codes of U[−1, 1] are given to metrics over their deviation, by ``distaff evaluate`` and here."""
    run = {"recipe": "infowgan_gp", "latents": "place=uniform:2,noise:2", "network": "infogan_mlp"}
    common = {"batch_size": 16, "accelerator": "cpu"}
    path = write(tmp_path, tiny, [run], metrics=["informativeness"], steps=5, common=common)
    assert list(studies.run(path, out=tmp_path / "out", progress=False)["state"]) == ["finished"]
    (done,) = Results.read(tmp_path / "out").all_runs
    own = evaluate_run(done.folder.path, metrics="informativeness", out=tmp_path / "own.json", progress=False)
    (score,) = [score for score in own.scores if score.name == "informativeness"]
    assert done.scores["informativeness"].value == pytest.approx(score.value, rel=1e-9)
    assert score_columns(Results.read(tmp_path / "out")) == ["informativeness"], "a GAN has no ELBO"


def test_workers_are_as_nice_as_their_study_and_deaf_to_its_terminal(tmp_path):
    workers = LocalWorkers(1, 1, tmp_path / "logs")
    try:
        process = workers._begin(0).process
        assert os.getsid(process.pid) == os.getsid(0)  # niceness weighs processes of one session
        assert os.getpgid(process.pid) == process.pid  # a terminal's Ctrl-C goes to its group in front
    finally:
        workers.close()
