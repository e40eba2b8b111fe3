"""Models of the zoo are found by being there, and every command that reads a run takes them."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file

import distaff
from distaff import DistaffError
from distaff.explore.session import Session
from distaff.runs import RunFolder, zoo
from distaff.runs.hub import shared_sections
from tests.test_cli import in_process

MODEL = "zoo:factor_vae-squares"


def test_the_list_has_data_recipe_scores_with_seeds_and_size(own_zoo, capsys):
    code, printed = in_process(capsys, "zoo")
    assert code == 0
    assert f"{MODEL}  factor_vae on squares, " in printed
    assert "12 steps, seed " in printed
    assert "the median of 2 seeds by mig" in printed
    assert "factor_vae_score " in printed
    assert re.search(r"mig 0\.\d+ \(seeds 0: 0\.\d+, 1: 0\.\d+\)", printed)
    assert list(distaff.zoo.models()) == ["factor_vae-squares", "factor_vae-squares-best"]


def test_the_list_says_which_models_were_trained_further(own_zoo, capsys):
    place = own_zoo / "factor_vae-squares"
    origin = zoo.Origin.read(place)
    try:
        config = shared_sections(distaff.zoo.models()["factor_vae-squares"].config)
        replace(origin, before=[config, config]).write(place)
        printed = in_process(capsys, "zoo")[1]
    finally:
        origin.write(place)
    assert re.search(r"36 steps, seed \d, the median of 2 seeds by mig, then trained further", printed)
    assert re.search(r"mig 0\.\d+ \(before, seeds 0: ", printed)


def test_a_model_is_what_its_run_is(own_zoo, runs):
    model = distaff.zoo.models()["factor_vae-squares"]
    run = runs[model.config.training.seed]
    x = np.load(run.parent / "squares.npz")["images"][:5]
    own, shelved = distaff.load(run), distaff.load(MODEL)
    np.testing.assert_array_equal(shelved.encode(x).means, own.encode(x).means)
    np.testing.assert_array_equal(shelved.reconstruct(x), own.reconstruct(x))


def test_evaluate_traverse_decompose_report_and_export_take_its_name(own_zoo, runs, capsys, tmp_path):
    seed = distaff.zoo.models()["factor_vae-squares"].config.training.seed
    commands = [
        ("evaluate", "--metrics", "mig"),
        ("traverse", "--out", "t.png"),
        ("decompose", "--samples", 16, "--particles", 4, "--bounded", 2),
        ("report", "--out", "r.html"),
        ("export", "--torch-export", "graphs"),
        ("encode", "--out", "codes.npz"),
        ("compare", runs[seed], "--out", "c.html"),
    ]
    for name, *flags in commands:
        code, printed = in_process(capsys, name, MODEL, *flags)
        assert code == 0, printed
        if name == "evaluate":
            own = distaff.evaluate_run(runs[seed], metrics="mig").scores[-1]
            assert f"{own}" in printed
    assert Path("t.png").read_bytes().startswith(b"\x89PNG")
    assert {path.name for path in Path("graphs").iterdir()} == {"encoder.pt2", "decoder.pt2"}
    assert not list(own_zoo.rglob("codes*")), "the package is read only"


def test_the_report_of_a_run_says_what_other_seeds_of_its_settings_scored(own_zoo, runs, tmp_path):
    page = distaff.report_run(runs[0], out=tmp_path / "r.html", progress=False).read_text("utf-8")
    scores = distaff.zoo.models()["factor_vae-squares"].origin.scores.values()
    assert "mig, 2 seeds of these settings" in page
    assert f"{min(scores):.3g} to {max(scores):.3g}" in page
    config = RunFolder(runs[0]).read()
    other = replace(config, training=replace(config.training, seed=7, log_every=5))
    assert zoo.seeds_of(other) == zoo.Origin.read(own_zoo / "factor_vae-squares")
    for name, value in (("steps", 13), ("batch_size", 8), ("learning_rate", 1e-3)):
        assert zoo.seeds_of(replace(config, training=replace(config.training, **{name: value}))) is None


def test_explore_needs_neither_data_nor_argument(own_zoo, runs, capsys, tmp_path):
    data = runs[0].parent / "squares.npz"
    hidden = data.rename(data.with_suffix(".away"))
    try:
        code, printed = in_process(capsys, "explore", "--export", tmp_path / "page.html")
        session = Session.open([MODEL])
    finally:
        hidden.rename(data)
    assert code == 0, printed
    assert f"opening {MODEL};" in printed
    assert (tmp_path / "page.html").stat().st_size > 10_000
    described = session.describe()
    assert "examples that come with the model" in described["runs"][0]["notices"][0]
    assert described["data"]["size"] == len(np.load(data)["images"])
    assert session.start_at(3)["facts"]
    assert session.runs[0].factors()["factors"] == ["row", "column"]


def test_names_given_to_latents_are_kept_and_the_package_stays_as_it_is(own_zoo):
    before = {file: file.read_bytes() for file in own_zoo.rglob("*") if file.is_file()}
    Session.open([MODEL]).runs[0].rename("z0", "row")
    assert Session.open([MODEL]).describe()["runs"][0]["latents"]
    assert zoo.cached_folder(MODEL).names.is_file()
    assert before == {file: file.read_bytes() for file in own_zoo.rglob("*") if file.is_file()}


def test_training_on_begins_with_its_weights_in_a_folder_of_the_users(own_zoo, capsys):
    step = zoo.model_config(zoo.zoo_folder(MODEL))[1]
    code, printed = in_process(capsys, "resume", MODEL, "--steps", 20, "--out", "mine", "--no-progress")
    assert code == 0, printed
    assert "optimisers and critics start anew" in printed
    log = [json.loads(line) for line in RunFolder(Path("mine")).log.read_text().splitlines()]
    assert [line["step"] for line in log][-1] == 20
    assert step in [line["step"] for line in log], "the log goes on where the model's ends"
    weights = load_file(Path("mine/checkpoint/step-000000020/model.safetensors"))
    first = load_file(zoo.zoo_folder(MODEL) / "model.safetensors")
    moved = max(float((weights[name] - first[name]).abs().max()) for name in first)
    assert 0 < moved < 0.01, "eight steps of Adam at 1e-4 move no weight further than that"
    assert (Path("mine/checkpoint/step-000000020/training.safetensors")).is_file()
    code, printed = in_process(capsys, "resume", MODEL, "--steps", 22, "--out", "mine", "--no-progress")
    assert code == 0, printed
    assert "start anew" not in printed, "the folder is resumed"
    assert RunFolder(Path("mine")).read().training.steps == 22


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["resume", MODEL, "--steps", "20"], "name a run folder, as in --out runs/mine"),
        (["resume", MODEL, "--out", "x"], "has had 12 steps: give a larger total number of steps"),
        (["resume", MODEL, "--steps", "12", "--out", "x"], "give a larger total number of steps"),
        (["evaluate", "zoo:factor_vae-square"], "did you mean 'factor_vae-squares'"),
    ],
)
def test_what_cannot_be_is_one_sentence(own_zoo, capsys, arguments, sentence):
    code, printed = in_process(capsys, *arguments)
    assert (code, sentence in printed) == (2, True), printed


def test_other_folders_are_not_trained_into(own_zoo, runs, capsys):
    code, printed = in_process(capsys, "resume", runs[0], "--steps", 20, "--out", "x")
    assert (code, "is resumed where it is" in printed) == (2, True), printed
    Path("full").mkdir()
    Path("full/notes.txt").write_text("mine")
    code, printed = in_process(capsys, "resume", MODEL, "--steps", 20, "--out", "full")
    assert (code, "holds files that are not a run" in printed) == (2, True), printed
    other = runs[1 - distaff.zoo.models()["factor_vae-squares"].config.training.seed]
    code, printed = in_process(capsys, "resume", MODEL, "--steps", 20, "--out", other)
    assert (code, "holds another run" in printed) == (2, True), printed


def test_an_installation_without_models_says_so(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(zoo, "SHELF", tmp_path)
    assert in_process(capsys, "zoo") == (0, "this installation of distaff came without models.\n")
    code, printed = in_process(capsys, "explore")
    assert (code, "name a run folder" in printed) == (2, True)
    with pytest.raises(DistaffError, match="came without models"):
        distaff.load("zoo:factor_vae-dsprites")


def test_a_damaged_model_is_named(own_zoo, monkeypatch, tmp_path):
    spoilt = tmp_path / "shelf" / "factor_vae-squares"
    spoilt.mkdir(parents=True)
    for file in (own_zoo / "factor_vae-squares").iterdir():
        (spoilt / file.name).write_bytes(file.read_bytes())
    (spoilt / "model.safetensors").write_bytes(b"nothing")
    monkeypatch.setattr(zoo, "SHELF", spoilt.parent)
    with pytest.raises(DistaffError, match="missing or damaged"):
        distaff.load(MODEL)
    with pytest.raises(DistaffError, match="is damaged: install distaff again"):
        distaff.evaluate_run(MODEL)


@pytest.mark.parametrize("text", ["", "[]", "3", "null", "[" * 30_000, '{"spec": 1}', "{}"])
def test_a_damaged_origin_is_one_sentence(tmp_path, text):
    (tmp_path / "zoo.json").write_text(text)
    with pytest.raises(DistaffError, match=r"zoo\.json cannot be read: install distaff again"):
        zoo.Origin.read(tmp_path)
