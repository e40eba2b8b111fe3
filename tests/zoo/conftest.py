"""A zoo of one model, made of two tiny runs as a maintainer makes it."""

from pathlib import Path

import numpy as np
import pytest

from distaff.analysis.evaluate import evaluate_run
from distaff.runs import RunFolder, zoo
from distaff.training.train import train
from tests.explore.conftest import squares
from zoo.rule import Rule
from zoo.shelve import shelve_runs

SETTINGS = {"steps": 12, "batch_size": 16, "log_every": 2, "progress": False, "accelerator": "cpu"}
RULE = Rule("factor_vae-squares", "mig", ["median", "best"])


@pytest.fixture(scope="session")
def runs(tmp_path_factory) -> list[Path]:
    """Two seeds of a FactorVAE, scored."""
    folder = tmp_path_factory.mktemp("trained")
    images, places = squares()
    np.savez(folder / "squares.npz", images=images, factors=places, factor_names=["row", "column"])
    critic = {"critic": {"hidden": 8, "layers": 2}, "network": "mlp", "latents": 3}
    for seed in (0, 1):
        train(
            "factor_vae", str(folder / "squares.npz"), seed=seed, out=folder / f"{seed}", **critic, **SETTINGS
        )
        evaluate_run(folder / f"{seed}", metrics="factor_vae_score,mig", progress=False)
    return [folder / "0", folder / "1"]


@pytest.fixture(scope="session")
def shelf(runs, tmp_path_factory) -> Path:
    """The folder of the models."""
    folder = tmp_path_factory.mktemp("shelf")
    shelve_runs([RunFolder(run) for run in runs], RULE, folder)
    return folder


@pytest.fixture
def own_zoo(shelf, monkeypatch, tmp_path) -> Path:
    """An installation that came with these models, and a cache of its own."""
    monkeypatch.setattr(zoo, "SHELF", shelf)
    monkeypatch.setenv("DISTAFF_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return shelf
