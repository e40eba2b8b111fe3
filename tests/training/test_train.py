import json
import math
from importlib.metadata import version

import numpy as np
import pytest
import torch
import yaml

import distaff
from distaff.analysis.doctor import diagnose
from distaff.analysis.report import report_run
from distaff.foundation.errors import DistaffError
from distaff.objectives.objective import term
from distaff.objectives.schedules import Weight
from distaff.objectives.terms import kl, nll
from distaff.runs.folder import RunFolder
from distaff.runs.load import load
from distaff.runs.log import read_log
from distaff.training.train import resume, train
from tests import toys

QUICK = {"steps": 10, "batch_size": 16, "log_every": 5, "progress": False, "accelerator": "cpu"}


def test_the_run_folder_describes_itself(tmp_path):
    trained = train("beta_vae", toys.tiny_images(), beta=2, out=tmp_path / "run", **QUICK)
    content = yaml.safe_load((tmp_path / "run/run.yaml").read_text())
    assert content["recipe"] == {"name": "beta_vae", "arguments": {"beta": 2.0}}
    assert content["training"]["steps"] == 10
    assert content["data"]["shape"] == [1, 16, 16]
    for library in ("torch", "numpy", "lightning-fabric", "safetensors"):
        assert content["made_with"][library] == version(library)
    assert content["made_with"]["distaff"] == distaff.__version__
    assert content["made_with"]["threads"] == torch.get_num_threads()
    lines = read_log(tmp_path / "run/log.jsonl")
    assert [line["step"] for line in lines] == [5, 10]
    assert lines[0]["loss"] == pytest.approx(lines[0]["nll"] + 2 * lines[0]["kl"], rel=1e-4)
    again = load(tmp_path / "run")
    images = toys.tiny_images().images[:5].numpy()
    np.testing.assert_array_equal(again.encode(images).means, trained.encode(images).means)
    assert any((tmp_path / "run/tensorboard").iterdir())


def test_the_same_seed_gives_the_same_model_and_another_seed_another():
    images = toys.tiny_images().images[:3].numpy()
    codes = [train("vae", toys.tiny_images(), seed=s, **QUICK).encode(images).means for s in (0, 0, 1)]
    np.testing.assert_array_equal(codes[0], codes[1])
    assert not np.allclose(codes[0], codes[2])


def test_snapshots_are_the_models_of_shorter_runs(tmp_path):
    train("vae", toys.tiny_images(), out=tmp_path / "run", snapshots=2, **QUICK)
    images = toys.tiny_images().images[:3].numpy()
    for step in (5, 10):
        shorter = train("vae", toys.tiny_images(), **{**QUICK, "steps": step})
        kept = load(tmp_path / "run", step=step)
        np.testing.assert_array_equal(kept.encode(images).means, shorter.encode(images).means)
    with pytest.raises(DistaffError, match="no snapshot of step 7; it has 5, 10"):
        load(tmp_path / "run", step=7)
    with pytest.raises(DistaffError, match="snapshots must be at least 1"):
        train("vae", toys.tiny_images(), snapshots=0, **QUICK)


def test_training_leaves_the_callers_random_numbers_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    train("vae", toys.tiny_images(), **QUICK)
    assert torch.equal(torch.rand(3), expected)


def test_a_recipe_of_ones_own_in_ten_lines():
    @term
    def half_kl(s):
        return 0.5 * s.kl.mean()

    def my_vae(weight: float = 2.0):
        return nll + weight * half_kl

    ours = train(my_vae, toys.tiny_images(), **QUICK)
    theirs = train("vae", toys.tiny_images(), **QUICK)
    for a, b in zip(ours.model.parameters(), theirs.model.parameters(), strict=True):
        torch.testing.assert_close(a, b)


@term
def explodes(s):
    return kl(s) * (float("nan") if s.index == 7 else 1.0)


def exploding():
    return nll + 1.0 * explodes


def test_a_non_finite_term_stops_the_run_names_it_and_keeps_the_last_checkpoint(tmp_path):
    with pytest.raises(DistaffError, match=r"'explodes' became non-finite at step 7.*step 6 is kept"):
        train(exploding, toys.tiny_images(), out=tmp_path / "run", checkpoint_every=3, **QUICK)
    newest = max((tmp_path / "run/checkpoint").iterdir())
    assert newest.name == "step-000000006"
    assert load(tmp_path / "run").names[0] == "z0"


@term
def undefined(s):
    return s.log_px_z.mean() * (math.nan if s.index < 4 else math.inf)


def with_undefined(weight: Weight = 0.0):
    return nll + kl + weight * undefined


@pytest.mark.parametrize(
    ("recipe", "settings", "name"),
    [
        ("info_vae", {"alpha": 1.0, "latents": "point:3"}, "kl"),
        ("alpha_beta_vae", {"beta": 0.0, "latents": "point:3"}, "kl"),
        (with_undefined, {}, "undefined"),
    ],
)
def test_a_term_of_weight_0_may_be_undefined_and_is_null_in_the_log(tmp_path, recipe, settings, name):
    out, images = tmp_path / "run", tmp_path / "tiny.npz"
    np.savez(images, images=toys.tiny_images().images[:].numpy())
    train(recipe, images, out=out, **{**QUICK, **settings})
    lines = (out / "log.jsonl").read_text().splitlines()
    assert all(json.loads(line, parse_constant=pytest.fail)[name] is None for line in lines)
    assert all(math.isnan(line[name]) and math.isfinite(line["loss"]) for line in read_log(out / "log.jsonl"))
    resume(out, steps=QUICK["steps"] + 1, accelerator="cpu", progress=False)
    assert not [finding for finding in diagnose(out).findings if "non-finite" in str(finding)]
    assert report_run(out, progress=False).exists()


def test_an_undefined_term_stops_the_run_where_its_weight_leaves_0(tmp_path):
    schedule = "linear:0:1:4"
    with pytest.raises(DistaffError, match="the term 'undefined' became non-finite at step 1:"):
        train(with_undefined, toys.tiny_images(), weight=schedule, **QUICK)


def test_the_term_that_is_named_takes_part():
    """Of two that are not finite, the one of weight 0 is not to blame."""

    def both():
        return nll + 0.0 * undefined + 1.0 * explodes

    with pytest.raises(DistaffError, match="the term 'explodes' became non-finite at step 7"):
        train(both, toys.tiny_images(), **QUICK)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"recipe": "factorvae"}, "did you mean 'factor_vae'"),
        ({"recipe": "nowhere:recipe"}, "cannot be imported"),
        ({"gama": 3}, "unknown argument of beta_vae 'gama'"),
        ({"beta": "much"}, "neither a number nor linear"),
        ({"network": "kim_mni"}, "did you mean 'kim_mnih'"),
        ({"latents": "style=gausian:3"}, "did you mean 'gaussian'"),
        ({"latents": 0}, "at least 1"),
        ({"batch_size": 10_000}, "does not fit a data set of 256"),
        ({"steps": 0}, "steps must be at least 1"),
        ({"learning_rate": -1.0}, "learning_rate must be positive"),
        ({"seed": -1}, "seed must not be negative"),
    ],
)
def test_bad_settings_are_one_sentence(changes, message):
    call = {"recipe": "beta_vae", "data": toys.tiny_images(), **QUICK, **changes}
    with pytest.raises(DistaffError, match=message) as error:
        train(**call)
    assert "\n" not in str(error.value)


def test_images_that_do_not_fit_the_networks_are_named():
    with pytest.raises(DistaffError, match=r"divisible by 16, not \(1, 20, 20\)"):
        train("vae", toys.tiny_images(side=20), network="kim_mnih", **QUICK)


@pytest.mark.parametrize(("side", "network"), [(8, "mlp"), (16, "kim_mnih"), (20, "mlp"), (33, "resnet")])
def test_images_of_any_side_find_a_network(side, network, tmp_path):
    train("vae", toys.tiny_images(side=side), out=tmp_path / "run", **{**QUICK, "steps": 1})
    assert RunFolder(tmp_path / "run").read().model.network == network


def test_scheduled_weights(tmp_path):
    train(
        "beta_vae",
        toys.tiny_images(),
        beta="linear:0:10:5",
        out=tmp_path / "run",
        **{**QUICK, "log_every": 1},
    )
    lines = read_log(tmp_path / "run/log.jsonl")
    weights = [(line["loss"] - line["nll"]) / line["kl"] for line in lines]
    np.testing.assert_allclose(weights, [0, 2, 4, 6, 8, 10, 10, 10, 10, 10], atol=0.1)
    content = yaml.safe_load((tmp_path / "run/run.yaml").read_text())
    assert content["recipe"]["arguments"] == {"beta": "linear:0:10:5"}
