"""Code that a folder names is imported only for a caller who trusts it, or who made the folder here."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

import distaff
from distaff import cli
from distaff.foundation import binding
from distaff.foundation.errors import DistaffError
from distaff.objectives import Density, Divergence, Objective, kl, nll
from distaff.runs import ModelSettings, RunFolder, TrainingSettings, trusting
from distaff.runs.calls import RecipeCall
from distaff.runs.config import named_code
from distaff.studies import Results
from tests import toys

QUICK = {"steps": 2, "batch_size": 8, "progress": False, "latents": 2}
HELPER = """
from pathlib import Path
from tests.toys import mlp
Path("imported").touch()
def prior(group): raise AssertionError
"""
PLACES = [
    ("model", "network", "helper:mlp"),
    ("model", "network", "helper:mlp:hidden=3"),
    ("model", "network", "os:system"),
    ("model", "prior", "helper:prior"),
    ("model", "prior", "helper:prior:5"),
    ("model", "prior", "z=helper:prior"),
    ("model", "likelihood", "helper:prior"),
    ("model", "latents", "z=helper:prior:2"),
    ("recipe", "name", "helper:prior"),
    ("data", "spec", "helper:prior"),
    ("training", "hold_out", "helper:prior"),
    ("training", "pairs", "helper:prior"),
    ("recipe", "arguments", {"density": "helper:prior"}),
    ("recipe", "arguments", {"critic": {"lists": ["helper:prior"]}}),
    ("training", "pairs", "helper:prior"),
]
"""Every place of a config from which code could be imported."""


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> Path:
    """A run of built-in parts."""
    out = tmp_path_factory.mktemp("plain") / "run"
    distaff.train("beta_tcvae", toys.ring(40), out=out, network="mlp:hidden=4", **QUICK)
    return out


@pytest.fixture
def work(tmp_path, monkeypatch) -> Path:
    """A folder to work in, with code of somebody's own in it."""
    (tmp_path / "helper.py").write_text(HELPER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("helper", None)


def not_imported(folder: Path) -> bool:
    return "helper" not in sys.modules and not (folder / "imported").exists()


@pytest.mark.parametrize(("section", "field", "value"), PLACES)
@pytest.mark.parametrize("kind", ["run", "hub"])
def test_nothing_that_a_folder_names_is_imported(plain, work, kind, section, field, value):
    if kind == "run":
        file = Path(shutil.copytree(plain, work / "run")) / "run.yaml"
        content = yaml.safe_load(file.read_text())
    else:
        distaff.export_run(plain, hub=work / "hub", progress=False)
        file = work / "hub/config.json"
        content = json.loads(file.read_text())
    content[section][field] = value
    file.write_text(json.dumps(content))
    module = "os" if value == "os:system" else "helper"
    with pytest.raises(DistaffError, match=f"would import '{module}'.*--trust {module}, or trust='{module}'"):
        distaff.load(file.parent)
    assert not_imported(work)


def test_whoever_is_trusted_is_imported(work):
    distaff.train("vae", toys.ring(40), out=work / "mine", network="helper:mlp", **QUICK)
    copy = shutil.copytree(work / "mine", work / "copy")
    for wrong in (None, "helpers", "helper:other", "help"):
        with pytest.raises(DistaffError, match="would import 'helper'"):
            distaff.load(copy, trust=wrong)
    for right in ("helper", "os, helper", "helper:mlp"):
        assert distaff.load(copy, trust=right).names == distaff.load(work / "mine").names
    with trusting("helper"):
        assert distaff.load(copy).names
    with pytest.raises(DistaffError, match="would import"):
        distaff.load(copy)
    with pytest.raises(DistaffError, match="would import"):
        distaff.resume(copy, toys.ring(40), progress=False)
    distaff.resume(copy, toys.ring(40), progress=False, trust="helper", steps=3)
    distaff.load(copy)


def test_a_folder_cannot_vouch_for_itself(work, monkeypatch):
    """What a user made here is known from her state folder alone, and only by the names she gave."""
    distaff.train("vae", toys.ring(40), out=work / "mine", network="helper:mlp", **QUICK)
    distaff.load(work / "mine")
    file = work / "mine/run.yaml"
    content = yaml.safe_load(file.read_text())
    file.write_text(json.dumps({**content, "model": {**content["model"], "network": "helper:other"}}))
    with pytest.raises(DistaffError, match="would import 'helper'"):
        distaff.load(work / "mine")
    file.write_text(json.dumps(content))
    distaff.load(work / "mine")
    monkeypatch.setenv("DISTAFF_STATE", str(work / "another user"))
    with pytest.raises(DistaffError, match="would import 'helper'"):
        distaff.load(work / "mine")


def test_training_goes_on_where_nothing_can_be_remembered(work, monkeypatch):
    (work / "file").touch()
    monkeypatch.setenv("DISTAFF_STATE", str(work / "file/state"))
    distaff.train("vae", toys.ring(40), out=work / "mine", network="helper:mlp", **QUICK)
    distaff.train("vae", toys.ring(40), out=work / "mine", network="helper:mlp", **QUICK)
    with pytest.raises(DistaffError, match="would import"):
        distaff.load(work / "mine")


def test_from_the_command_line(work, capsys):
    np.savez(work / "data.npz", images=toys.ring(40).images[:].numpy())
    settings = ["--steps", "2", "--batch-size", "8", "--latents", "2", "--no-progress"]
    cli.main(["train", "vae", "--data", "data.npz", "--network", "helper:mlp", "--out", "mine", *settings])
    decompose = ["--samples", "8"]
    cli.main(["decompose", "mine", *decompose])
    shutil.copytree("mine", "copy")
    with pytest.raises(SystemExit) as stopped:
        cli.main(["decompose", "copy", *decompose])
    assert stopped.value.code == 2
    assert "copy names the network 'helper:mlp'" in capsys.readouterr().err
    cli.main(["decompose", "copy", "--trust", "helper", *decompose])


def test_a_study_folder_of_somebody_elses(work):
    (work / "study").mkdir()
    (work / "study/study.yaml").write_text("figures: ['helper:draw']")
    with pytest.raises(DistaffError, match="names the drawing 'helper:draw'"):
        Results.read(work / "study")
    (work / "study/study.yaml").write_text("data: mnist\nruns: [{recipe: vae, network: 'helper:mlp'}]")
    with pytest.raises(DistaffError, match="names the network 'helper:mlp'"):
        Results.read(work / "study")
    (work / "study/study.yaml").write_text("data: mnist\nruns: [{recipe: 'helper:prior'}]")
    with pytest.raises(DistaffError, match="names the recipe 'helper:prior'"):
        Results.read(work / "study")
    for setting, kind in (("pairs", "pair source"), ("track", "tracker")):
        runs = f"[{{recipe: ada_gvae, {setting}: 'helper:prior'}}]"
        (work / "study/study.yaml").write_text(f"data: mnist\nruns: {runs}")
        with pytest.raises(DistaffError, match=f"names the {kind} 'helper:prior'"):
            Results.read(work / "study")
    assert not_imported(work)


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"network": "mine:pair"}, ["mine:pair"]),
        ({"network": "mine.deep:pair:depth=2"}, ["mine.deep:pair"]),
        ({"latents": "a=gaussian:3,b=mine:Kind:2"}, ["mine:Kind"]),
        ({"prior": "style=mine:laplace:0.7, other:prior"}, ["mine:laplace", "other:prior"]),
        ({"latents": "style=gaussian:10,digit=concrete:10"}, []),
        ({"network": "mlp:hidden=512,layers=3"}, []),
        ({"prior": "student_t:5"}, []),
        ({"temperature": "linear:1:0.5:100"}, []),
    ],
)
def test_names_of_code_are_told_from_arguments(settings, names):
    found = named_code(RecipeCall("vae", {}), ModelSettings(**settings), "dsprites", TrainingSettings())
    assert list(found) == names


def test_every_name_that_is_looked_up_was_checked_first(tmp_path, monkeypatch):
    """Whatever training, loading and resuming import by name is among ``named_code``."""
    seen: set[str] = set()
    allow = binding.allow
    monkeypatch.setattr(binding, "allow", lambda code: (seen.update(code), allow(code))[1])
    place = "tests.objectives.outside"
    settings = {
        "divergence": f"{place}:second_moment",
        "density": f"{place}:mean_density",
        "latents": f"a={place}:UnitWidth:2,b=gaussian:1",
        "likelihood": f"{place}:Laplace",
        "network": "tests.toys:mlp:hidden=8",
    }
    quick = {"steps": 2, "batch_size": 8, "progress": False}
    distaff.train(f"{__name__}:own_recipe", toys.ring(40), out=tmp_path / "run", **{**settings, **quick})
    distaff.load(tmp_path / "run")
    distaff.resume(tmp_path / "run", toys.ring(40), steps=3, progress=False)
    assert len(seen) == 6
    assert seen == set(RunFolder(tmp_path / "run").read().code)
    seen.clear()
    pairs = f"{__name__}:neighbours"
    distaff.train("ada_gvae", toys.ring(40), out=tmp_path / "pairs", network="mlp", pairs=pairs, **quick)
    assert seen == set(RunFolder(tmp_path / "pairs").read().code) == {pairs}


def neighbours(data, count, rng):
    """Pairs of one's own."""
    first = rng.integers(0, len(data) - 1, count)
    return np.stack([first, first + 1], axis=1)


def own_recipe(divergence: Divergence, density: Density) -> Objective:
    """A recipe of one's own that is told of more code."""
    return (nll + kl + 1.0 * divergence).using(density)
