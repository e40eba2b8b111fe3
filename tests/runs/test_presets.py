"""Presets: data that fit their recipes, give way to the caller, and stretch with the steps."""

import inspect

import numpy as np
import pytest
import yaml

import distaff
from distaff import cli
from distaff.foundation.binding import bind, chosen, public_functions
from distaff.foundation.errors import DistaffError
from distaff.objectives import recipes
from distaff.objectives.schedules import Schedule, weight_at
from distaff.runs.calls import find_recipe
from distaff.runs.presets import Preset, find_preset, merged, presets
from distaff.runs.sections import TrainingSettings
from distaff.runs.settings import SETTINGS, ModelSettings
from distaff.studies import Study

DATA = ("dsprites", "shapes3d", "mnist", "celeba", "pinwheel", None)


@pytest.mark.parametrize("preset", presets().values(), ids=lambda preset: preset.name)
@pytest.mark.parametrize("recipe", public_functions(recipes))
def test_every_preset_fits_every_recipe(preset, recipe):
    own = inspect.signature(find_recipe(recipe)).parameters
    for data in DATA:
        settings = preset.settings(recipe, data)
        assert set(settings) <= {*own, *SETTINGS}, (data, settings)
        bind(find_recipe(recipe), {name: value for name, value in settings.items() if name in own})
        chosen(TrainingSettings, settings)
        chosen(ModelSettings, settings)


@pytest.mark.parametrize("preset", presets().values(), ids=lambda preset: preset.name)
def test_conditions_name_what_there_is(preset):
    for rule in preset.rules:
        condition = rule.get("for", {})
        assert set(condition) <= {"recipe", "data"}
        assert set(preset.recipes) <= set(public_functions(recipes))
        named = condition.get("data", [])
        assert set(named if isinstance(named, list) else [named]) <= set(distaff.data.names())


def test_later_rules_win_and_conditions_hold():
    rules = [
        {"steps": 100, "critic": {"hidden": 10, "layers": 2}},
        {"for": {"recipe": "factor_vae"}, "critic": {"layers": 3}},
        {"for": {"recipe": ["vae", "factor_vae"], "data": "mnist"}, "steps": 50},
    ]
    preset = Preset("mine", "", rules)
    assert preset.settings("beta_vae") == {"steps": 100, "critic": {"hidden": 10, "layers": 2}}
    assert preset.settings("factor_vae", "mnist") == {"steps": 50, "critic": {"hidden": 10, "layers": 3}}


def test_steps_at_which_latents_open_stretch_too():
    opened = {
        name: find_preset(name).fill({"steps": 350}, "factor_vae")["revive"] for name in ("quick", "stepwise")
    }
    assert opened == {"quick": 122, "stepwise": "78:1,118:1,168"}


def test_the_callers_settings_win_and_schedules_stretch_with_the_steps():
    preset = Preset("mine", "", [{"steps": 100, "gamma": "linear:0:10:50", "latents": "a=gaussian:2"}])
    filled = preset.fill({"steps": 300, "seed": 4}, "factor_vae")
    assert filled == {"steps": 300, "seed": 4, "gamma": "linear:0:10:150", "latents": "a=gaussian:2"}
    assert preset.fill({"gamma": 3}, "factor_vae")["gamma"] == 3
    assert preset.fill({}, "factor_vae")["gamma"] == "linear:0:10:50"


def test_merging_goes_into_mappings():
    assert merged({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}, "d": 4}) == {"a": {"b": 3, "c": 2}, "d": 4}


def test_an_unknown_preset_is_one_sentence_with_the_near_miss():
    with pytest.raises(DistaffError, match="kim18"):
        find_preset("kim19")


@pytest.mark.parametrize("steps", ["many", 0, -3, None])
def test_steps_that_are_none_are_one_sentence_beside_a_preset(steps):
    with pytest.raises(DistaffError, match="steps must"):
        distaff.train("factor_vae", np.zeros((8, 16)), preset="quick", steps=steps, progress=False)


@pytest.fixture
def images():
    return np.random.default_rng(0).random((32, 64, 64)).astype(np.float32)


def test_train_takes_a_preset(tmp_path, images):
    settings = {"batch_size": 8, "progress": False, "critic": {"hidden": 8}}
    distaff.train("factor_vae", images, preset="do20", steps=2, out=tmp_path / "run", **settings)
    held = yaml.safe_load((tmp_path / "run/run.yaml").read_text())
    assert held["recipe"]["arguments"]["gamma"] == 50
    assert held["recipe"]["arguments"]["critic"]["layers"] == 5
    assert held["recipe"]["arguments"]["critic"]["hidden"] == 8
    assert held["training"]["betas"] == [0.5, 0.99]
    assert (held["training"]["steps"], held["training"]["batch_size"]) == (2, 8)


def test_flags_win_over_a_preset_and_help_shows_it(tmp_path, images, capsys):
    np.savez(tmp_path / "images.npz", images=images)
    where = ["--data", str(tmp_path / "images.npz"), "--out", str(tmp_path / "run")]
    flags = ["--preset", "do20", "--steps", "1", "--batch-size", "4", "--critic.hidden", "8", "--gamma", "3"]
    cli.main(["train", "factor_vae", *where, *flags, "--no-progress"])
    held = yaml.safe_load((tmp_path / "run/run.yaml").read_text())
    assert held["recipe"]["arguments"]["gamma"] == 3
    assert held["recipe"]["arguments"]["critic"]["layers"] == 5
    assert held["training"]["betas"] == [0.5, 0.99]
    with pytest.raises(SystemExit):
        cli.main(["train", "factor_vae", "--preset", "kim18", "--data", "shapes3d", "--help"])
    shown = capsys.readouterr().out
    assert "500000" in shown
    assert "1e-05" in shown


def test_studies_take_presets():
    text = "{data: dsprites, preset: kim18, seeds: 2, runs: [{recipe: factor_vae, gamma: 10}, {recipe: vae}]}"
    spelled = text.replace("preset: kim18", "steps: 300000, common: {learning_rate: 1.0e-4, batch_size: 64}")
    assert [run.key for run in Study.parse(text).runs] == [run.key for run in Study.parse(spelled).runs]
    short = Study.parse(text, scale=0.01).runs[0]
    assert short.training.steps == 3000


def test_every_preset_is_listed(capsys):
    cli.main(["presets"])
    listed = capsys.readouterr().out
    assert all(name in listed for name in presets())


@pytest.mark.parametrize("preset", ["quick", "stepwise"])
def test_factor_vaes_in_minutes_end_at_the_papers_objective(preset):
    """Eq. 2 of Kim & Mnih 2018: whatever the way, at the last step the KL weighs 1 and γ is constant."""
    settings = find_preset(preset).settings("factor_vae", "dsprites")
    last = int(settings["steps"])
    names = ("bottleneck", "early", "gamma")
    bottleneck, early, gamma = (Schedule.parse(str(settings[name])) for name in names)
    assert weight_at(bottleneck, last) == 1
    assert weight_at(early, last) == 0
    assert weight_at(gamma, last) == weight_at(gamma, last - 1) > 0


def test_quick_beta_tcvae_ends_at_its_own_objective():
    """Chen et al. 2018, Eq. 4: the last steps have the recipe's own constant weights."""
    settings = find_preset("quick").settings("beta_tcvae", "dsprites")
    usual = inspect.signature(recipes.beta_tcvae).parameters
    for name in ("alpha", "beta", "gamma"):
        weight = Schedule.parse(settings[name])
        assert {weight_at(weight, step) for step in (3500, int(settings["steps"]))} == {usual[name].default}


def test_a_key_that_stands_twice_in_a_preset_is_refused(monkeypatch, tmp_path):
    folder = tmp_path / "presets"
    folder.mkdir()
    (folder / "mine.yaml").write_text("about: Mine.\nsettings:\n  - {steps: 1, beta: 2, steps: 3}\n")
    monkeypatch.setattr("distaff.runs.presets.files", lambda package: tmp_path)
    with pytest.raises(DistaffError, match=r"mine.yaml has the key 'steps' twice, in line 3: keep one"):
        presets.__wrapped__()
