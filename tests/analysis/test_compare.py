"""Runs beside each other."""

import numpy as np
import pandas as pd
import pytest

import distaff
from distaff import cli
from distaff.analysis.compare import ComparedRun, _correlations, run_names, scores_of_runs
from distaff.analysis.several import scores_table
from distaff.foundation.errors import DistaffError
from distaff.metrics import Score
from distaff.metrics.evaluation import Evaluation
from tests import toys

TINY = {"latents": 3, "network": "mlp:hidden=8,layers=1", "batch_size": 8, "steps": 4, "log_every": 2}
QUICK = {**TINY, "progress": False, "accelerator": "cpu"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    place = tmp_path_factory.mktemp("runs")
    np.savez(place / "tiny.npz", images=toys.tiny_images(40).images[:].numpy())
    for seed in (0, 1):
        distaff.train("vae", str(place / "tiny.npz"), out=place / f"seed{seed}", seed=seed, **QUICK)
    return [str(place / "seed0"), str(place / "seed1")]


def test_a_page_compares_runs(runs, tmp_path, capsys):
    cli.main(["compare", *runs, "--out", str(tmp_path / "c.html"), "--no-progress"])
    text = (tmp_path / "c.html").read_text()
    for part in (
        "seed0 · seed1",
        "seed is 1 there, not 0",
        "reconstruction_error",
        "Training curves",
        "Traversals",
    ):
        assert part in text
    np.savez(tmp_path / "other.npz", images=toys.tiny_images(30).images[:].numpy())
    distaff.train("vae", str(tmp_path / "other.npz"), out=tmp_path / "other", **QUICK)
    cli.main(
        ["compare", runs[0], str(tmp_path / "other"), "--out", str(tmp_path / "d.html"), "--no-progress"]
    )
    text = (tmp_path / "d.html").read_text()
    assert "other.npz there" in text  # what was asked for, and not what was found there:
    assert "fingerprint" not in text
    cli.main(["report", *runs, "--out", str(tmp_path / "r.html"), "--no-progress"])
    assert (tmp_path / "r.html").exists()


def test_several_runs_are_scored_in_one_table(runs, tmp_path, capsys):
    csv = tmp_path / "scores.csv"
    cli.main(
        ["evaluate", *runs, "--metrics", "gaussian_total_correlation", "--out", str(csv), "--no-progress"]
    )
    heading, *lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip(" ─━")]
    assert heading == ["score", "seed0", "seed1", "better"]
    table = pd.read_csv(csv, index_col="score")
    alone = {
        run: distaff.evaluate_run(run, metrics=["gaussian_total_correlation"], progress=False) for run in runs
    }
    for run, evaluation in alone.items():
        for score in evaluation.scores:
            assert table.loc[score.name, run[-5:]] == pytest.approx(score.value)
    assert [line[0] for line in lines if line[0] in table.index] == list(table.index)
    with pytest.raises(SystemExit, match="2"):
        cli.main(["evaluate", *runs, "--out", str(tmp_path / "scores.html"), "--no-progress"])
    assert "distaff compare" in capsys.readouterr().err


def test_scores_of_several_protocols_and_runs_keep_their_places():
    def evaluation(*scores):
        return Evaluation(tuple(Score(name, value, protocol) for name, value, protocol in scores))

    found = {
        "a": evaluation(("mig", 0.1, "chen18"), ("mig", 0.2, "locatello19"), ("sap", 0.3, "kumar18")),
        "b": evaluation(("mig", 0.4, "chen18"), ("mig", 0.5, "locatello19")),
    }
    table = scores_table(found)
    assert table.loc["mig (chen18)"].tolist() == [0.1, 0.4]
    assert table.loc["mig (locatello19)"].tolist() == [0.2, 0.5]
    assert table.loc["sap", "a"] == 0.3
    assert np.isnan(table.loc["sap", "b"])


def test_the_table_has_a_row_per_run(runs):
    found = {name: ComparedRun(folder, None, progress=False) for name, folder in run_names(runs).items()}
    table = scores_of_runs(found, "auto")
    assert table.index.tolist() == ["seed0", "seed1"]
    assert {"recipe", "data", "steps", "reconstruction_error", "kl"} <= set(table.columns)
    with pytest.raises(DistaffError, match="needs two runs or more"):
        distaff.analysis.compare_runs([runs[0], runs[0]])


def test_names_tell_runs_apart(tmp_path):
    assert list(run_names(["a/x/run", "b/y/run"])) == ["x/run", "y/run"]


def test_correlations_find_latents_in_another_order():
    z = np.random.default_rng(0).normal(size=(400, 3))
    z[:, 2] = 1.0
    found = _correlations(z, -z[:, [1, 0, 2]])
    assert found[0, 1] == pytest.approx(-1)
    assert found[1, 0] == pytest.approx(-1)
    assert not found[2].any()
