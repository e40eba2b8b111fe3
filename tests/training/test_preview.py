"""First pictures while a run trains: when, what, and that training does not notice."""

import shutil

import numpy as np
import pytest
import torch

from distaff.runs.folder import RunFolder
from distaff.runs.load import load
from distaff.runs.log import read_log
from distaff.training import preview
from distaff.training.recorder import FIRST, LATE, Looks
from distaff.training.train import resume, train
from tests import toys

DATA = toys.tiny_images(64)
SETTINGS = {"steps": 12, "batch_size": 16, "network": "mlp", "latents": "z=gaussian:3,c=concrete:3"}


def test_looks_are_due_after_twice_as_long_each_time_and_once():
    ticks = np.arange(0, 10 * FIRST, FIRST / 4)
    clock = iter(5 + ticks)
    looks = Looks(lambda: next(clock))
    assert [tick for tick in ticks[1:] if looks.due(logged=True)] == [FIRST, 2 * FIRST, 4 * FIRST, 8 * FIRST]


def test_a_look_waits_a_while_for_a_line_of_the_log():
    now = 0.0
    looks = Looks(lambda: now)
    now = FIRST + LATE - 1
    assert not looks.due(logged=False)
    now = FIRST + LATE
    assert looks.due(logged=False)


@pytest.fixture
def at_every_step(monkeypatch):
    monkeypatch.setattr(Looks, "due", lambda looks, logged: True)


def weights(folder):
    return load(folder).model.state_dict()


def equal(first, second):
    return all(torch.equal(first[name], second[name]) for name in first)


def test_a_preview_and_its_checkpoints_leave_the_run_as_it_is(tmp_path, monkeypatch, capsys):
    plain, seen = tmp_path / "plain", tmp_path / "seen"
    train("beta_vae", DATA, out=plain, progress=False, **SETTINGS)
    assert not RunFolder(plain).preview.exists()
    pages = []
    draw = preview.Preview.draw

    def drawn(self, model, step):
        draw(self, model, step)
        pages.append(self.folder.preview.read_text("utf-8"))
        if step == 5:
            shutil.copytree(seen, tmp_path / "cut")

    monkeypatch.setattr(Looks, "due", lambda looks, logged: True)
    monkeypatch.setattr(preview.Preview, "draw", drawn)
    train("beta_vae", DATA, out=seen, progress=True, **SETTINGS)
    assert len(pages) == 12
    assert "5 of 12" in pages[4]
    assert "Latent traversals so far" in pages[4]
    assert 'http-equiv="refresh"' in pages[4]
    assert 'http-equiv="refresh"' not in pages[-1]
    assert capsys.readouterr().err.count("first traversals:") == 1
    assert equal(weights(plain), weights(seen))
    assert load(tmp_path / "cut").model is not None
    resume(tmp_path / "cut", DATA, progress=False)  # from a checkpoint made by the clock
    assert equal(weights(plain), weights(tmp_path / "cut"))


def test_lines_of_the_log_keep_their_distances_while_they_are_frequent(tmp_path, monkeypatch):
    monkeypatch.setattr(Looks, "due", lambda looks, logged: logged)
    train("vae", DATA, out=tmp_path / "run", progress=False, log_every=4, **SETTINGS)
    assert [line["step"] for line in read_log(RunFolder(tmp_path / "run").log)] == [4, 8, 12]


@pytest.mark.usefixtures("at_every_step")
@pytest.mark.parametrize("recipe", ["infogan", "aae", "factor_vae"])
def test_every_kind_of_model_of_images_has_one(tmp_path, recipe):
    latents = {"infogan": "c=uniform:2,d=concrete:3,noise:4", "aae": "point:2"}.get(recipe, 3)
    network = {} if recipe == "infogan" else {"network": "mlp"}
    train(
        recipe,
        toys.tiny_images(32, 28),
        out=tmp_path / "run",
        steps=2,
        batch_size=16,
        latents=latents,
        **network,
    )
    assert "Latent traversals so far" in (tmp_path / "run" / "preview.html").read_text("utf-8")


@pytest.mark.usefixtures("at_every_step")
def test_tables_have_none_and_a_page_that_fails_stops_nothing(tmp_path, monkeypatch):
    train("vae", np.random.default_rng(0).normal(size=(40, 3)), out=tmp_path / "rows", steps=2, batch_size=8)
    assert not (tmp_path / "rows" / "preview.html").exists()

    def fails(*_, **__):
        raise OSError("no space left on device")

    monkeypatch.setattr(preview, "traversals", fails)
    with pytest.warns(UserWarning, match="no space left"):
        train("vae", DATA, out=tmp_path / "run", **SETTINGS | {"steps": 1})
    assert load(tmp_path / "run").names == ("z0", "z1", "z2", "c")
