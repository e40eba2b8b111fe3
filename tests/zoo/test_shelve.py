"""What goes into the zoo: chosen by the rule, whole, and small."""

import json
import shutil

import numpy as np
import pytest
import torch

from distaff import DistaffError, load
from distaff.analysis.evaluate import evaluate_run
from distaff.data.arrays import from_array
from distaff.data.arrays import load as load_arrays
from distaff.metrics.score import Scores
from distaff.runs import RunFolder, zoo
from distaff.runs.zoo import Origin, seeds_of
from distaff.training.train import train
from distaff.zoo import models as zoo_models
from tests.zoo.conftest import RULE, SETTINGS
from zoo.model_folder import LARGEST_EXAMPLES, write_examples
from zoo.rule import Ranked, choose, kept_entries, rank, read_rules
from zoo.shelve import main, shelve_runs


def ranked(*scores: float) -> list[Ranked]:
    return [Ranked(RunFolder(None), seed, score, True) for seed, score in enumerate(scores)]


@pytest.mark.parametrize(("count", "median"), [(1, 0), (2, 0), (3, 1), (4, 1), (5, 2)])
def test_the_median_is_that_of_the_order_and_the_lower_of_two(count, median):
    runs = ranked(*range(count))
    assert choose(runs, "median").seed == median
    assert choose(runs, "best").seed == count - 1


def test_runs_are_ranked_by_a_score_the_best_last(runs):
    folders = [RunFolder(run) for run in runs]
    scores = [one.score for one in rank(folders, "factor_vae_score")]
    assert scores == sorted(scores)
    errors = [one.score for one in rank(folders, "reconstruction_error")]
    assert errors == sorted(errors, reverse=True), "lower is better"
    with pytest.raises(DistaffError, match="has no sap: score it with distaff evaluate"):
        rank(folders, "sap")
    with pytest.raises(DistaffError, match="should differ in their seeds"):
        rank([folders[0], folders[0]], "mig")


def test_a_folder_has_all_that_a_model_needs(shelf, runs):
    place = shelf / RULE.name
    names = {path.name for path in place.iterdir()}
    assert names == {
        *("README.md", "config.json", "model.safetensors", "traversals.png"),
        *("zoo.json", "examples.npz", "log.jsonl", "scores.json", "LICENSE"),
    }
    card = (place / "README.md").read_text("utf-8")
    assert card.startswith("---\nlicense: apache-2.0\n")
    assert 'distaff.load("zoo:factor_vae-squares")' in card
    assert "the median of 2 seeds by mig" in card
    origin = Origin.read(place)
    assert set(origin.scores) == {"0", "1"}
    seed = json.loads((place / "config.json").read_text())["training"]["seed"]
    best = json.loads((shelf / f"{RULE.name}-best" / "config.json").read_text())["training"]["seed"]
    assert origin.scores[str(seed)] <= origin.scores[str(best)]
    assert (place / "log.jsonl").read_text() == RunFolder(runs[seed]).log.read_text()


def test_a_model_that_is_both_is_written_once(runs, tmp_path):
    written = shelve_runs([RunFolder(runs[0])], RULE, tmp_path)
    assert [path.name for path in written] == [RULE.name]
    assert "a single seed" in (tmp_path / RULE.name / "README.md").read_text("utf-8")


def test_half_precision_halves_the_file_and_is_read_back_rounded(runs, tmp_path):
    (place,) = shelve_runs([RunFolder(runs[0])], RULE, tmp_path, half=True)
    whole, rounded = load(runs[0]), load(place)
    for name, weights in rounded.model.state_dict().items():
        np.testing.assert_array_equal(weights, whole.model.state_dict()[name].half().float())
    assert "half precision" in (place / "README.md").read_text("utf-8")


@pytest.mark.parametrize("kind", ["bits", "bytes", "floats", "vectors"])
def test_examples_are_read_back_as_they_were_and_stay_small(kind, tmp_path):
    rng = np.random.default_rng(0)
    images = {
        "bits": rng.random((3000, 8, 8)) < 0.5,
        "bytes": rng.integers(0, 256, (3000, 16, 16, 3), np.uint8),
        "floats": rng.random((300, 1, 16, 16), np.float32),
        "vectors": rng.normal(size=(300, 7)).astype(np.float32),
    }[kind]
    factors = np.stack([np.arange(len(images)) % 5, np.arange(len(images)) % 3], 1)
    data = from_array(images, factors, ["five", "three"])
    write_examples(data, tmp_path / "examples.npz")
    found = load_arrays(tmp_path / "examples.npz")
    assert found.names == ("five", "three")
    assert found.shape == data.shape
    assert (tmp_path / "examples.npz").stat().st_size <= LARGEST_EXAMPLES
    everything = {row.tobytes(): index for index, row in enumerate(data.images[:].numpy())}
    rows = [everything[row.tobytes()] for row in found.images[:].numpy()]
    np.testing.assert_array_equal(found.factors, data.factors[rows])


def test_scores_over_the_most_observations_are_kept(runs, tmp_path):
    copy = RunFolder(shutil.copytree(runs[0], tmp_path / "run"))
    before = kept_entries(copy)
    evaluate_run(copy.path, metrics="mig,sap", observations=50, progress=False)
    after = kept_entries(copy)
    assert len(Scores.read(copy.scores).entries) > len(after)
    assert after[: len(before)] == before
    (new,) = after[len(before) :]
    assert (new.metric, new.setup.observations) == ("sap", 50)


def test_the_rules_are_read_and_name_each_model_once(tmp_path):
    names = [rule.name for rule in read_rules()]
    assert len(set(names)) == len(names) >= 10
    assert names[0] == "factor_vae-dsprites"
    (tmp_path / "rules.yaml").write_text("- {name: a, by: mig, take: [best], by: dci}\n")
    with pytest.raises(DistaffError, match=r"rules.yaml has the key 'by' twice, in line 1: keep one"):
        read_rules(tmp_path / "rules.yaml")


def test_the_command_takes_runs_on_data_that_others_have_too(runs, tmp_path):
    with pytest.raises(SystemExit, match="data that have no name in distaff"):
        main([str(runs[0]), "--name", "x", "--by", "mig", "--shelf", str(tmp_path)])
    with pytest.raises(SystemExit, match="with --name and --by"):
        main([str(runs[0])])


def test_a_model_trained_further_keeps_how_it_was_chosen(own_zoo, runs, tmp_path, monkeypatch):
    shelf, data = tmp_path / "shelf", str(runs[0].parent / "squares.npz")
    shutil.copytree(own_zoo, shelf)
    start, chosen = f"zoo:{RULE.name}", Origin.read(shelf / RULE.name)
    images = load_arrays(data).images[:].numpy()
    train("vae", images, start=start, out=tmp_path / "half", **{**SETTINGS, "steps": 5})
    train("vae", data, start=tmp_path / "half", out=tmp_path / "whole", **{**SETTINGS, "steps": 3})
    evaluate_run(tmp_path / "whole", metrics="mig", progress=False)

    main([str(tmp_path / "whole"), "--further", RULE.name, "--shelf", str(shelf)])
    place = shelf / RULE.name
    origin = Origin.read(place)
    steps = [(run.recipe.name, run.training.steps) for run in origin.runs_before]
    assert steps == [("factor_vae", SETTINGS["steps"]), ("vae", 5)]
    monkeypatch.setattr(zoo, "SHELF", shelf)
    assert zoo_models()[RULE.name].steps == SETTINGS["steps"] + 5 + 3
    assert seeds_of(RunFolder(runs[0]).read()) == origin, "as the chosen run's settings are"
    assert (origin.rule, origin.scores) == (chosen.rule, chosen.scores)
    weights = load(tmp_path / "whole").model.state_dict()
    assert all(torch.equal(weights[name], tensor) for name, tensor in load(place).model.state_dict().items())
    card = (place / "README.md").read_text("utf-8")
    assert "It was then trained further" in card
    assert "2. vae (), 5 steps on" in card
    assert str(tmp_path) not in card + (place / "config.json").read_text("utf-8")


def test_only_runs_that_began_with_a_model_replace_it(own_zoo, runs, tmp_path):
    with pytest.raises(SystemExit, match="did not begin with zoo:factor_vae-squares"):
        main([str(runs[0]), "--further", RULE.name, "--shelf", str(own_zoo)])
    with pytest.raises(SystemExit, match="give one run with --further"):
        main([*map(str, runs), "--further", RULE.name])
