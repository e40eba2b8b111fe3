"""A run's page: one file that holds everything, and nothing that would need a network."""

import html
import re

import numpy as np
import pytest

from distaff import figures
from distaff.analysis.report import report_run
from distaff.figures import training_curves
from distaff.training.train import train
from tests import toys


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("report")
    factors = np.stack(np.meshgrid(np.arange(16), np.arange(16), indexing="ij"), -1).reshape(-1, 2)
    names = ["row", "column"]
    data = folder / "tiny.npz"
    np.savez(data, images=toys.tiny_images(256).images[:].numpy(), factors=factors, factor_names=names)
    settings = {"steps": 20, "batch_size": 16, "log_every": 5, "progress": False, "accelerator": "cpu"}
    train("beta_vae", str(data), beta=2, out=folder / "run", **settings)
    path = report_run(folder / "run", progress=False)
    assert path == folder / "run/report.html"
    pictures = sorted(picture.name for picture in (folder / "run/figures").iterdir())
    assert pictures == ["curves.png", "kl.png", "reconstructions.png", "samples.png", "traversals.png"]
    return path.read_text(encoding="utf-8")


def test_it_shows_scores_settings_and_pictures(page):
    for content in ("factor_vae_score", "reconstruction_error", "nll + 2.0 kl", "learning_rate: 0.0001"):
        assert content in page
    assert len(re.findall(r'src="data:image/(?:png|svg\+xml);base64,', page)) == 5


def test_it_needs_no_network(page):
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', page)


def test_the_breakdowns_name_factors_and_latents(page):
    assert re.search(r"row \d\.\d+, column \d\.\d+", page)
    assert re.search(r"z0 \d+\.\d+, z1", page)


def test_scheduled_weights_are_drawn_and_an_average_is_told(tmp_path, monkeypatch):
    drawn = {}

    def seen(steps, terms, **options):
        drawn.update(terms)
        return training_curves(steps, terms, **options)

    monkeypatch.setattr(figures, "training_curves", seen)
    settings = {"steps": 20, "batch_size": 16, "log_every": 5, "progress": False, "accelerator": "cpu"}
    parts = {"beta": "linear:0:4:10,cosine:4:2:10", "learning_rate": "linear:0:1e-3:10", "average": 0.9}
    np.save(tmp_path / "tiny.npy", toys.tiny_images(64).images[:].numpy()[:, 0])
    train("beta_vae", str(tmp_path / "tiny.npy"), out=tmp_path / "run", **parts, **settings)
    page = report_run(tmp_path / "run", progress=False).read_text(encoding="utf-8")
    assert drawn["weight of kl"] == [2.0, 4.0, 3.0, 2.0]
    assert "weight of nll" not in drawn  # which is always 1
    assert "learning_rate" in drawn
    assert "→ 2" in page
    assert "moving average of the weights, decay 0.9" in page


def test_it_proposes_what_the_run_can_do_in_a_folder_of_any_name(tmp_path):
    rng = np.random.default_rng(0)
    settings = {"steps": 2, "batch_size": 8, "latents": 2, "progress": False, "accelerator": "cpu"}
    np.save(tmp_path / "rows.npy", rng.normal(size=(20, 3)))
    train("vae", str(tmp_path / "rows.npy"), out=tmp_path / "my rows", **settings)
    page = html.unescape(report_run(tmp_path / "my rows", progress=False).read_text(encoding="utf-8"))
    assert f"distaff explore '{tmp_path}/my rows'" in page
    assert "distaff traverse" not in page, "rows of a table have no pictures"
