"""Names of latents: kept in the run folder, shown wherever the latents are."""

import json

import numpy as np
import pytest

from distaff.analysis.report import report_run
from distaff.analysis.traversals import traversals
from distaff.foundation.errors import DistaffError
from distaff.models.representation import Representation
from distaff.runs.folder import RunFolder
from distaff.runs.latent_names import read_names, save_name
from distaff.runs.pictures import titled
from distaff.training.train import train
from tests import toys

LATENTS = ("z0", "z1", "kind")


def test_names_are_saved_and_taken_away(tmp_path):
    folder = RunFolder(tmp_path)
    assert read_names(folder) == {}
    save_name(folder, LATENTS, "z1", "size")
    assert save_name(folder, LATENTS, "kind", "Größe 大きさ") == {"kind": "Größe 大きさ", "z1": "size"}
    assert save_name(folder, LATENTS, "z1", "  ") == {"kind": "Größe 大きさ"}
    assert json.loads(folder.names.read_text()) == {"kind": "Größe 大きさ"}


def test_titles_stand_behind_the_latents():
    assert titled(LATENTS, {"z1": "size", "z7": "gone"}) == ["z0", "z1 size", "kind"]


def test_an_unknown_latent_gets_its_near_misses(tmp_path):
    with pytest.raises(DistaffError, match="did you mean 'kind'"):
        save_name(RunFolder(tmp_path), LATENTS, "kinds", "x")
    assert not RunFolder(tmp_path).names.exists()


def test_traversals_show_them():
    data = toys.tiny_images(8)
    model = Representation(toys.model(data, "z=gaussian:2,kind=concrete:3"), data.shape)
    figure = traversals(model, data, np.array([2.0, 1.0, 0.5]), names={"z1": "size", "kind": "shape"})
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()] or [
        text.get_text() for text in figure.axes[0].texts
    ]
    assert "z1 size · KL 1.00" in labels
    assert "kind shape (3 classes) · KL 0.50" in labels


def test_reports_show_them(tmp_path):
    np.save(tmp_path / "tiny.npy", toys.tiny_images(64).images[:].numpy())
    settings = {"steps": 3, "batch_size": 16, "progress": False, "accelerator": "cpu", "network": "mlp"}
    train("vae", str(tmp_path / "tiny.npy"), latents=2, out=tmp_path / "run", **settings)
    save_name(RunFolder(tmp_path / "run"), ["z0", "z1"], "z1", "size & weight")
    assert "z1 size &amp; weight 0." in report_run(tmp_path / "run", progress=False).read_text()
