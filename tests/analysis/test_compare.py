"""Runs beside each other."""

import numpy as np
import pytest

import distaff
from distaff import cli
from distaff.analysis.compare import _correlations, comparison_table, run_names
from distaff.foundation.errors import DistaffError
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
    cli.main(["report", *runs, "--out", str(tmp_path / "r.html"), "--no-progress"])
    assert (tmp_path / "r.html").exists()
    cli.main(["evaluate", *runs, "--no-progress"])
    assert capsys.readouterr().out.count("reconstruction_error") == 2


def test_the_table_has_a_row_per_run(runs):
    table = comparison_table(runs, progress=False)
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
