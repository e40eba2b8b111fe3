"""Study files: what they stand for, and what is wrong with those that stand for nothing."""

import hashlib
import json
import re
import sys

import pytest
import yaml

import distaff.studies
from distaff.foundation.errors import DistaffError
from distaff.studies import drawings
from distaff.studies.grid import combinations
from distaff.studies.study import Study

GOOD = {
    "data": "dsprites",
    "steps": 1000,
    "seeds": 2,
    "common": {"batch_size": 32},
    "runs": [{"recipe": "beta_vae", "beta": [1, 4]}],
    "metrics": ["mig"],
}


def parse(scale: float | None = None, **changes) -> Study:
    return Study.parse(yaml.safe_dump({**GOOD, **changes}), scale=scale)


def test_lists_multiply_at_any_depth_and_values_do_not():
    grid = {"a": [1, 2], "b": {"c": ["x", "y"], "d": {"value": [3, 4]}}, "e": [{"value": [5]}, 6]}
    found = list(combinations(grid))
    assert len(found) == 8
    assert found[0] == {"a": 1, "b": {"c": "x", "d": [3, 4]}, "e": [5]}
    assert found[1] == {"a": 1, "b": {"c": "x", "d": [3, 4]}, "e": 6}
    assert found[-1] == {"a": 2, "b": {"c": "y", "d": [3, 4]}, "e": 6}


def test_every_setting_meets_every_seed():
    study = parse()
    points = [(run.recipe.arguments["beta"], run.training.seed) for run in study.runs]
    assert points == [(1.0, 0), (1.0, 1), (4.0, 0), (4.0, 1)]
    assert {run.training.batch_size for run in study.runs} == {32}
    assert study.varied == ("recipe", "beta")


def test_an_entry_overrides_what_is_common():
    entry = {"recipe": "vae", "steps": 7, "seeds": [5], "data": "mnist", "latents": "a=gaussian:3"}
    (run,) = parse(runs=[entry]).runs
    assert (run.training.steps, run.training.seed, run.data.spec) == (7, 5, "mnist")
    assert run.model.latents == "a=gaussian:3"


def test_data_may_be_a_mapping_and_a_grid():
    spec = [{"spec": "mnist", "part": "test"}, "fashion_mnist"]
    study = parse(data=spec, seeds=1, runs=["vae"])
    assert [run.data.spec for run in study.runs] == ["mnist", "fashion_mnist"]
    assert study.runs[0].data.options == {"part": "test"}
    assert "data" in study.varied


def test_the_same_run_written_twice_is_one():
    study = parse(runs=[{"recipe": "beta_vae", "beta": [1, 4]}, {"recipe": "beta_vae", "beta": [4, 6]}])
    assert [run.recipe.arguments["beta"] for run in study.runs[::2]] == [1.0, 4.0, 6.0]


def test_a_study_may_have_figures_alone():
    study = Study.parse("figures: [{drawing: 'tests.studies.troubles:dots', column: kl}]")
    assert study.runs == ()
    assert study.figures[0].arguments == {"column": "kl"}


def test_scale_shortens_steps_and_schedules_in_proportion():
    runs = [{"recipe": "annealed_vae"}, {"recipe": "beta_vae", "beta": "linear:0:4:500"}]
    study = parse(scale=0.1, runs=runs, seeds=1)
    annealed, beta = study.runs
    assert annealed.training.steps == beta.training.steps == 100
    assert annealed.recipe.arguments["capacity"] == "linear:0:25:10000"
    assert beta.recipe.arguments["beta"] == "linear:0:4:50"
    again = Study.parse(study.to_yaml())
    assert again.scale == 0.1
    assert again.runs == study.runs
    assert parse(scale=1e-9).runs[0].training.steps == 1


def test_keys_are_those_of_the_calls_and_nothing_else():
    (run,) = parse(seeds=1, runs=[{"recipe": "beta_vae", "beta": 4}]).runs
    assert run.key.startswith("beta_vae-seed0-")
    same = [
        parse(seeds=1, runs=[{"beta": "4.0", "recipe": "beta_vae", "prior": "normal"}]),
        parse(seeds=[0, 1], name="another", metrics=["dci"], runs=[{"recipe": "beta_vae", "beta": [1, 4]}]),
        parse(seeds=1, common={"batch_size": 32, "checkpoint_every": 5, "accelerator": "cpu"}),
    ]
    assert all(run.key in [other.key for other in study.runs] for study in same)
    others = [
        parse(scale=0.5),
        parse(common={}),
        parse(data={"spec": "dsprites", "file": "other.npz"}),
        parse(runs=[{"recipe": "structured_beta_vae", "beta": 4}]),
        parse(seeds=[2]),
    ]
    assert not any(run.key in [other.key for other in study.runs] for study in others)


def test_keys_are_the_hash_of_what_is_not_at_its_default():
    """A key made in another way, or one that knew of new arguments, would train every run again."""
    (run,) = parse(seeds=[3], runs=[{"recipe": "beta_vae", "beta": 2}]).runs
    data = {"spec": "dsprites", "file": None, "options": {}}
    training = {"steps": 1000, "batch_size": 32, "seed": 3}
    calls = {"recipe": "beta_vae", "arguments": {"beta": 2.0}, "data": data, "training": training}
    text = json.dumps(calls, sort_keys=True, separators=(",", ":"))
    assert run.key == f"beta_vae-beta2-seed3-{hashlib.sha256(text.encode()).hexdigest()[:10]}"
    (usual,) = parse(seeds=[3], runs=[{"recipe": "beta_vae", "beta": 4}]).runs
    assert usual.key.startswith("beta_vae-seed3-")
    (run,) = parse(seeds=[3], runs=[{"recipe": "factor_vae", "critic": {"layers": 2}}]).runs
    first = {"hidden": 1000, "layers": 2, "learning_rate": 1e-4, "betas": [0.5, 0.9]}
    calls |= {"recipe": "factor_vae", "arguments": {"critic": first}}
    text = json.dumps(calls, sort_keys=True, separators=(",", ":"))
    assert run.key == f"factor_vae-seed3-{hashlib.sha256(text.encode()).hexdigest()[:10]}"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metric": ["mig"]}, "unknown key of a study 'metric': did you mean 'metrics'"),
        ({"common": {"batch": 3}}, "unknown key of common 'batch': did you mean 'batch_size'"),
        ({"runs": [{"recipe": "betavae"}]}, "did you mean 'beta_vae'"),
        ({"runs": [{"recipe": "beta_vae", "bta": 3}]}, "run 1 (beta_vae): .*did you mean 'beta"),
        ({"runs": [{"recipe": "vae"}, {"recipe": "vae", "step": 3}]}, "run 2 .*did you mean 'steps'"),
        ({"runs": [{"beta": 3}]}, "run 1: it must name a recipe"),
        ({"runs": {"recipe": "vae"}}, "runs must be a list"),
        ({"runs": None, "figures": None}, "neither runs nor figures: add runs"),
        ({"runs": [{"recipe": "beta_vae", "beta": []}]}, "run 1 (beta_vae): beta is an empty list: give it"),
        ({"runs": [{"recipe": "beta_vae", "beta": "four"}]}, "'four' is neither a number nor linear"),
        ({"runs": [{"recipe": "beta_vae", "beta": {"a": 1}}]}, "beta must be a number"),
        ({"runs": [{"recipe": "beta_vae", "betas": [0.5, 0.9]}]}, "write {value: "),
        ({"runs": [{"recipe": "factor_vae", "critic": {"hiden": 3}}]}, "did you mean 'hidden'"),
        ({"runs": [{"recipe": "nowhere:vae"}]}, "cannot be imported"),
        ({"steps": "many"}, "steps must be a whole number"),
        ({"steps": 10.5}, "steps must be a whole number"),
        ({"seeds": 0}, "seeds are a number of them"),
        ({"seeds": [-1]}, "seeds are a number of them"),
        ({"observations": 1}, "observations are how many to score"),
        ({"scale": 0}, "scale must be a positive number"),
        ({"name": "a/b"}, "name becomes that of a folder"),
        ({"data": 3}, "data is a name, a path, or a mapping"),
        ({"metrics": ["migg"]}, "unknown metric 'migg': did you mean 'mig'"),
        ({"metrics": ["mig:chen"]}, "unknown protocol of mig 'chen': did you mean 'chen18'"),
        ({"metrics": {"mig": 1}}, "metrics are default, all or a list"),
        ({"figures": [{"drawing": "tests.studies.troubles:dots", "colum": 1}]}, "did you mean 'column'"),
        ({"figures": [{"drawing": "tests.studies.troubles:dotz"}]}, "cannot be imported"),
        ({"figures": [{"drawing": "no_such_drawing_at_all"}]}, "unknown drawing"),
        ({"figures": [{"draw": "x"}]}, "a figure names a drawing"),
    ],
)
def test_what_is_wrong_is_said_with_near_misses(changes, message):
    pattern = message.replace("(", r"\(").replace(")", r"\)").replace("{", r"\{")
    with pytest.raises(DistaffError, match=pattern):
        parse(**changes)


def test_the_drawing_that_is_suggested_exists():
    with pytest.raises(DistaffError, match="a figure names a drawing") as error:
        parse(figures=[3])
    suggested = re.search(r"\{drawing: (\w+)\}", str(error.value))[1]
    assert parse(figures=[suggested]).figures[0].name == suggested
    assert suggested in drawings.all_drawings()


def test_every_public_name_of_the_room_is_there():
    assert all(hasattr(distaff.studies, name) for name in distaff.studies.__all__)


def test_drawings_are_found_by_being_there(tmp_path, monkeypatch):
    (tmp_path / "new.py").write_text(
        "from matplotlib.figure import Figure\n"
        "from distaff.studies.results import Results\n"
        "def empty(results: Results) -> Figure:\n    return Figure()\n"
        "def helper(results: Results) -> int:\n    return 0\n"
    )
    before = drawings.all_drawings()
    assert {"trade_off", "traversals", "training_curves"} <= before.keys()
    assert not {"chosen", "one_each", "curves_figure", "logged"} & before.keys()
    monkeypatch.setattr(drawings, "__path__", [*drawings.__path__, str(tmp_path)])
    assert drawings.all_drawings().keys() == before.keys() | {"empty"}
    monkeypatch.delitem(sys.modules, "distaff.studies.drawings.new")
    assert Study.parse("figures: [trade_off]").figures[0].function is drawings.trade_off


def test_a_study_without_data_says_so():
    with pytest.raises(DistaffError, match="which data to train on"):
        Study.parse("runs: [vae]")


@pytest.mark.parametrize("text", ["- a", "a", "", "runs: [", "a: b: c", "\t- x"])
def test_what_is_not_a_study_says_so(text):
    with pytest.raises(DistaffError, match=r"a study must be a mapping|it is not readable YAML"):
        Study.parse(text)


def test_files_that_are_not_there_or_not_text(tmp_path):
    with pytest.raises(DistaffError, match="there is no study file"):
        Study.read(tmp_path / "none.yaml")
    (tmp_path / "x.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DistaffError, match="cannot be read as a study"):
        Study.read(tmp_path / "x.yaml")
    (tmp_path / "y.yaml").write_text("rums: []")
    with pytest.raises(DistaffError, match=r"y.yaml: unknown key of a study 'rums': did you mean 'runs'"):
        Study.read(tmp_path / "y.yaml")
    (tmp_path / "z.yaml").write_text("claims: []\nruns: [vae]\nclaims: []")
    with pytest.raises(DistaffError, match=r"z.yaml: it has the key 'claims' twice, in lines 1 and 3: keep"):
        Study.read(tmp_path / "z.yaml")


def test_an_option_of_data_that_some_runs_lack_tells_them_apart():
    data = "[{spec: mnist}, {spec: mnist, zero_shot: kept}]"
    text = f"data: mnist\nsteps: 4\nruns:\n  - {{recipe: vae, data: {data}}}"
    assert Study.parse(text).varied == ("recipe", "data.zero_shot")
