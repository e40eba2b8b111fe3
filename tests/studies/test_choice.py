"""Choosing a recipe and a weight without labels: what is compared, for how long, how sure the answer is."""

import shlex
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

import distaff
from distaff import cli
from distaff.analysis.explained import explained_variance
from distaff.data.bringing_in import from_object
from distaff.foundation.errors import DistaffError
from distaff.runs.calls import DataCall
from distaff.studies import commands, local
from distaff.studies.choice import plan as planning
from distaff.studies.choice.choose import verdict
from distaff.studies.choice.given_data import on_disk
from distaff.studies.choice.grid import read_grid, usual_grid
from distaff.studies.choice.plan import Pace, Plan, affordable, lasting
from distaff.studies.choice.ranking import Ranking, scored
from tests import toys
from tests.studies.conftest import OneAfterTheOther
from tests.studies.test_choosing import linear

SMALL = {"minutes": 0.001, "recipes": "beta_vae:0.1:0.3", "seeds": 2, "latents": 3, "progress": False}


def test_recipes_have_the_weights_behind_them():
    assert read_grid("beta_vae:1:4,hfvae.beta:2,vae") == [
        {"recipe": "beta_vae", "beta": [1.0, 4.0]},
        {"recipe": "hfvae", "beta": [2.0]},
        {"recipe": "vae"},
    ]
    assert read_grid("factor_vae") == [{"recipe": "factor_vae", "gamma": [8.75, 35.0, 140.0]}]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("infogan", "no held-out error"),
        ("ada_gvae:1", "learns from pairs"),
        ("vae:4", "no weight at all"),
        ("beta_vea", "beta_vae"),
        ("hfvae.delta:1", "delta"),
    ],
)
def test_what_cannot_be_compared_is_named(text, sentence):
    with pytest.raises(DistaffError, match=sentence):
        read_grid(text)


def test_larger_images_get_stronger_weights():
    grey, colour, row = (usual_grid(shape) for shape in ((1, 64, 64), (3, 64, 64), (12,)))
    assert [3 * w for w in grey[0]["beta"][1:]] == colour[0]["beta"][1:]
    assert grey[0]["beta"][0] == colour[0]["beta"][0] == 1
    assert min(row[0]["beta"]) < 1 < max(row[0]["beta"])


def test_the_steps_fill_the_time_that_there_is():
    grid = [{"recipe": "vae"}, {"recipe": "beta_vae", "beta": [1.0, 4.0, 16.0]}]
    plan = Plan("p", DataCall("pinwheel"), "", grid, 2, 20, {})
    paces = {"vae": Pace(0.01, 5.0), "beta_vae": Pace(0.03, 1.0)}
    assert plan.runs == 8
    # 2 at once: 4 rounds; a run takes 2 s and 0.025 s per step on average: 4 · (2 + 0.025 n) = 400
    assert affordable(plan, paces, 400.0, 2) == 3900
    assert affordable(plan, paces, 400.0, 3) == 5200  # three rounds, as the last is not full
    assert affordable(plan, paces, -5.0, 2) == planning.FEWEST
    assert affordable(plan, paces, 1e9, 2) == planning.MOST
    for at_once in (1, 2, 3):
        steps = affordable(plan, paces, 400.0, at_once)
        assert lasting(plan, paces, steps, at_once) <= 400 < lasting(plan, paces, steps + 100, at_once)


def test_every_setting_has_a_run_before_any_has_its_second():
    plan = Plan("p", DataCall("pinwheel"), "", [{"recipe": "beta_vae", "beta": [1.0, 4.0]}], 2, 20, {})
    runs = distaff.studies.Study.parse(plan.study(100)).runs
    assert [(run.settings["seed"], run.settings["beta"]) for run in runs] == [(0, 1), (0, 4), (1, 1), (1, 4)]


def test_seeds_that_share_pairs_spread_as_the_jackknife_says():
    """Of the mean over pairs, whose leave-one-out values are computed here one by one."""
    count = 5
    values = np.linspace(0.2, 0.8, 10) ** 2
    pairs = dict(zip(combinations(range(count), 2), values, strict=True))

    def mean_over(seeds) -> float:
        return float(np.mean([pairs[pair] for pair in combinations(seeds, 2)]))

    whole = mean_over(range(count))
    pseudo = [
        count * whole - (count - 1) * mean_over([s for s in range(count) if s != left])
        for left in range(count)
    ]
    udr = [np.mean([value for pair, value in pairs.items() if seed in pair]) for seed in range(count)]
    part = pd.DataFrame({"seed": range(count), "udr": udr, "centrality": 0.0, "explained": 1.0})
    score, by_seed = scored(part)
    assert score == pytest.approx(whole / 2)
    np.testing.assert_allclose(list(by_seed.values()), np.array(pseudo) / 2)


def test_the_score_moves_as_its_factors_do():
    part = pd.DataFrame({"seed": [0, 1], "udr": 0.6, "centrality": [0.5, 0.7], "explained": [0.8, 0.4]})
    score, by_seed = scored(part)
    assert score == pytest.approx(0.6 * 0.6)
    a, e = np.array([0.55, 0.65]), np.array([0.8, 0.4])
    np.testing.assert_allclose(list(by_seed.values()), 0.36 + 0.6 * (a - 0.6) + 0.6 * (e - 0.6))


def _ranking(lows: list[float], seeds: int = 4) -> Ranking:
    labels = [f"beta_vae beta {i}" for i in range(len(lows))]
    table = pd.DataFrame({"label": labels, "seeds": seeds, "score": 0.5, "low": lows})
    return Ranking(table, pd.DataFrame(index=range(seeds * len(lows))), {})


def test_noise_is_said_plainly(done):
    results = replace_runs(done, 8)
    assert "beyond the noise" in verdict(_ranking([np.nan, 0.1]), results)
    noisy = verdict(_ranking([np.nan, -0.1]), results)
    assert "within noise" in noisy
    assert "beta_vae beta 1" in noisy
    some = _ranking([np.nan, -0.1, 0.2])
    assert some.tied == ["beta_vae beta 0", "beta_vae beta 1"]
    assert "The best is not clear: 1 of the 2" in verdict(some, replace_runs(done, 12))
    assert "Two seeds cannot tell" in verdict(_ranking([np.nan, np.nan], seeds=2), replace_runs(done, 4))
    collapsed = _ranking([np.nan, -0.1])
    collapsed.settings["score"] = [0.5, 0.0]
    assert collapsed.clear
    assert "2 of 10 runs are not finished" in verdict(_ranking([np.nan, 0.1]), replace_runs(done, 10))


def replace_runs(results, count):
    """Results of so many runs, whichever they are."""
    found = distaff.studies.Results(results.study, results.folder)
    found.all_runs = (results.all_runs[0],) * count
    return found


def test_perfect_reconstructions_explain_everything_and_the_mean_nothing():
    rng = np.random.default_rng(0)
    data = distaff.data.from_array(rng.normal(size=(50, 3)).astype(np.float32))
    turned = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    model = linear(turned)
    assert explained_variance(model, data) == pytest.approx(1, abs=1e-5)
    with torch.no_grad():
        for weight in model.model.decoder.parameters():
            weight.zero_()
        model.model.decoder.bias.copy_(data.images[:].mean(0))
    assert explained_variance(model, data) == pytest.approx(0, abs=1e-5)


def _given() -> dict[str, tuple[object, dict[str, object]]]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.normal(5, 3, 30), "b": rng.poisson(3, 30), "c": rng.choice(["x", "y"], 30)}
    )
    frame.loc[4, "a"] = frame.loc[7, "c"] = None
    genes = rng.poisson(3, (30, 4)).astype(np.float32)
    cells = SimpleNamespace(  # what of an AnnData is read
        X=np.log1p(genes), layers={"counts": genes}, obsm={}, obs=frame[["c"]], obs_names=frame.index
    )
    cells.var_names = [f"gene{n}" for n in range(4)]
    images = rng.integers(0, 256, (20, 16, 16, 3), dtype=np.uint8)
    squares = toys.tiny_images(20)
    return {
        "frame": (frame, {"counts": "b"}),
        "cells": (cells, {"matrix": "counts", "counts": "all", "factors": "c"}),
        "bytes": (images, {}),
        "floats": (rng.random((20, 1, 16, 16), dtype=np.float32), {}),
        "tensor": (torch.rand(20, 1, 16, 16), {}),
        "vectors": (rng.normal(4, 2, (30, 5)), {}),
        "signals": (rng.normal(4, 2, (30, 2, 40)), {"signals": True}),
        "numbers": (rng.normal(0, 4, (20, 16, 16)), {"range": "min-max"}),
        "torch": (torch.utils.data.TensorDataset(torch.rand(20, 1, 16, 16), torch.arange(20)), {}),
        "Dataset": (squares, {}),
        "a part": (squares.subset(np.arange(3, 12)), {}),
        "rows": (distaff.data.from_array(rng.normal(size=(30, 5)).astype(np.float32)), {}),
        "read table": (from_object(frame, counts="b"), {}),
        "read signals": (from_object(rng.normal(4, 2, (30, 40)), signals=True), {}),
    }


@pytest.mark.parametrize("kind", list(_given()))
def test_data_of_python_are_the_same_in_the_file(kind, tmp_path):
    data, options = _given()[kind]
    call = DataCall(data, None, options)
    before = call.open()
    after = on_disk(call, before, tmp_path).open()
    np.testing.assert_allclose(after.images[:].numpy(), before.images[:].numpy(), atol=1e-5)
    assert type(after.arrangement) is type(before.arrangement) or kind not in ("frame", "read table")


@pytest.mark.parametrize(
    ("minutes", "sentence"),
    [
        (1, "1 minutes are too few: 50 steps for each of 4 runs, .* about 6 here, and 1,000, .* about 22"),
        (10, "10 minutes are 290 steps .* minutes=22 would be 1,000"),
    ],
)
def test_what_a_budget_is_enough_for_is_said_before_it_is_spent(monkeypatch, tmp_path, minutes, sentence):
    """Runs of 10 s and 0.5 s per step, two at once, then 280 s to compare them: 280 + 2 · (10 + n / 2) s."""
    tried = SimpleNamespace(all_runs=[SimpleNamespace(model=None)])
    monkeypatch.setattr(planning, "run_study", lambda *_, **__: None)
    monkeypatch.setattr(planning, "runs_at_once", lambda *_: 2)
    monkeypatch.setattr(planning.Results, "read", lambda _: tried)
    monkeypatch.setattr(planning, "measured", lambda _: {"beta_vae": Pace(0.5, 10.0)})
    monkeypatch.setattr(planning, "comparing", lambda *_: 280.0)
    plan = Plan("p", DataCall("pinwheel"), "", [{"recipe": "beta_vae", "beta": [1.0, 2.0]}], 2, minutes, {})
    with pytest.warns(UserWarning, match=sentence):
        planning.begin(plan, tmp_path, 2, False)


@pytest.fixture(scope="module")
def table_file(tmp_path_factory):
    """Six columns of three causes."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(120, 3))
    rows = np.column_stack([z * [100, 1, 5], z[:, :2] + 0.1 * rng.normal(size=(120, 2))])
    path = tmp_path_factory.mktemp("table") / "mine.csv"
    pd.DataFrame(rows, columns=list("abcde")).to_csv(path, index=False)
    return path


class Interrupted(OneAfterTheOther):
    """An engine that is stopped at its third run."""

    begun = 0

    def start(self, run):
        self.begun += 1
        if self.begun > 2:
            raise KeyboardInterrupt
        super().start(run)


def test_the_whole_way_from_a_table_to_a_command(table_file, tmp_path, here, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.warns(
        UserWarning, match=r"0\.001 minutes are too few: 50 steps for each of 4 runs, .* take about \d+ here"
    ):
        choice = distaff.choose(table_file, **SMALL)
    assert choice.folder == distaff.studies.Results.read(choice.folder).folder
    assert list(choice.table["seeds"]) == [2, 2]
    assert not choice.clear
    assert "Two seeds" in choice.verdict
    assert choice.verdict in str(choice)
    page = choice.page.read_text()
    assert "UDR against reconstruction" in page
    assert choice.verdict.partition(".")[0] in page
    words = shlex.split(choice.command)
    assert words[:2] == ["distaff", "train"]
    words[words.index("--steps") + 1] = "2"
    cli.main([*words[1:], "--no-progress"])
    trained = distaff.load(words[words.index("--out") + 1])
    assert trained.encode(table_file).means.shape == (120, 3)
    model = distaff.train(data=table_file, **{**choice.settings, "steps": 2}, progress=False)
    assert model.shape == (5,)


def test_a_choice_that_was_stopped_is_resumed_and_ranks_what_it_has(table_file, tmp_path, monkeypatch):
    out = tmp_path / "out"
    small = {**SMALL, "recipes": "vae", "seeds": 3, "out": out}
    monkeypatch.setattr(local, "local_workers", lambda *_: OneAfterTheOther())
    monkeypatch.setattr(planning, "run_study", lambda *a, **k: commands.run(*a, **k))
    engines = iter([OneAfterTheOther(), Interrupted()])
    monkeypatch.setattr(local, "local_workers", lambda *_: next(engines))
    with (
        pytest.warns(UserWarning, match="minutes are too few"),
        pytest.raises(KeyboardInterrupt, match="same command"),
    ):
        distaff.choose(table_file, **small)
    monkeypatch.setattr(local, "local_workers", lambda *_: OneAfterTheOther())
    so_far = distaff.choose(table_file, so_far=True, **small)
    assert list(so_far.table["seeds"]) == [2]
    assert "1 of 3 runs are not finished" in so_far.verdict
    assert list(distaff.choose(table_file, **small).table["seeds"]) == [3]
    weights = {p: p.stat().st_mtime_ns for p in out.glob("runs/*/**/model.safetensors")}
    assert weights
    again = distaff.choose(table_file, **small)
    assert {p: p.stat().st_mtime_ns for p in out.glob("runs/*/**/model.safetensors")} == weights
    with pytest.raises(DistaffError, match="other minutes"):
        distaff.choose(table_file, **{**small, "minutes": 3})
    assert again.table["score"].notna().all()


def test_images_in_memory_are_chosen_for_too(tmp_path, here):
    images = toys.tiny_images(60).images[:].numpy()
    with pytest.warns(UserWarning, match="minutes are too few"):
        choice = distaff.choose(images, network="mlp", out=tmp_path / "out", **SMALL)
    assert "data.npy" in choice.command
    assert "Traversals" in choice.page.read_text()
    with pytest.raises(DistaffError, match="nothing was begun"):
        distaff.choose(images, network="mlp", out=tmp_path / "new", so_far=True, **SMALL)
    with pytest.raises(DistaffError, match="networks"):
        distaff.choose(images, networks="mlp", out=tmp_path / "out", **SMALL)
