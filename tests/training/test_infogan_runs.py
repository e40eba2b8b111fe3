"""InfoGAN runs as a user makes them: every command, exact resume, and sentences for what does not fit."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from safetensors.numpy import load_file

from distaff import cli
from distaff.analysis.encoding import encode
from distaff.analysis.evaluate import evaluate_run
from distaff.data.arrays import from_array
from distaff.foundation.errors import DistaffError
from distaff.metrics.active_latents import active_latents
from distaff.runs.load import load
from distaff.runs.log import read_log
from distaff.training.train import resume, train
from tests import toys
from tests.processes import ROOT, distaff

LATENTS = "kind=concrete:3,style=uniform:2,noise:5"
QUICK = {"batch_size": 16, "log_every": 5, "checkpoint_every": 5, "progress": False, "accelerator": "cpu"}
TINY = {"network": "infogan_mlp", "latents": LATENTS, **QUICK}


@pytest.fixture(scope="module")
def images(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("data") / "tiny.npz"
    factors = np.stack(np.meshgrid(np.arange(16), np.arange(16), indexing="ij"), -1).reshape(-1, 2)
    names = ["row", "column"]
    np.savez(path, images=toys.tiny_images(256).images[:].numpy(), factors=factors, factor_names=names)
    return path


def flags(recipe: str, images: Path, out: Path, steps: int) -> list[str]:
    text = f"train {recipe} --data {images} --out {out} --latents {LATENTS} --steps {steps} --batch-size 16"
    text += " --log-every 5 --checkpoint-every 4 --accelerator cpu --discriminator.learning-rate 2e-4"
    return text.split()


def everything(folder: Path) -> dict[str, np.ndarray]:
    newest = max((folder / "checkpoint").glob("step-*"))
    return {**load_file(newest / "model.safetensors"), **load_file(newest / "training.safetensors")}


@pytest.mark.parametrize("recipe", ["infogan", "infowgan_gp"])
def test_every_command(recipe, images, tmp_path, capsys):
    run = tmp_path / "run"
    cli.main(flags(recipe, images, run, 8))
    cli.main(["resume", str(run), "--steps", "12"])
    for command in ("evaluate", "traverse", "report"):
        cli.main([command, str(run)])
    printed = capsys.readouterr()
    assert "factor_vae_score" in printed.out
    assert "reconstruction_error" not in printed.out
    assert "kl:" not in printed.out
    assert (run / "figures/traversals.png").read_bytes().startswith(b"\x89PNG")
    pictures = {path.stem for path in (run / "figures").iterdir()}
    assert pictures == {"traversals", "reconstructions", "samples", "noise", "curves"}
    page = (run / "report.html").read_text()
    assert "generator_loss − code_log_likelihood against discriminator_loss" in page
    assert "with other noise" in page
    with pytest.raises(SystemExit) as stop:
        cli.main(["decompose", str(run)])
    assert stop.value.code == 2
    assert "no ELBO to decompose" in capsys.readouterr().err


@pytest.mark.parametrize("recipe", ["infogan", "infowgan_gp"])
def test_the_run_folder_describes_itself(recipe, tmp_path):
    trained = train(recipe, toys.tiny_images(), steps=10, out=tmp_path / "run", **TINY)
    content = yaml.safe_load((tmp_path / "run/run.yaml").read_text())
    assert content["model"] == {
        "kind": "infogan",
        "latents": LATENTS,
        "network": "infogan_mlp",
        "norm": "batch" if recipe == "infogan" else "layer",
    }
    assert (content["training"]["learning_rate"], content["training"]["betas"]) == (1e-3, [0.5, 0.999])
    settings = {"learning_rate": 1e-4, "betas": [0.5, 0.999], "steps": 1, "reads": 0.0}
    assert content["recipe"]["arguments"]["discriminator"] == settings
    line = read_log(tmp_path / "run/log.jsonl")[-1]
    assert {"code_log_likelihood", "accuracy_real", "accuracy_fake"} < line.keys()
    assert ("gradient_penalty" in line) is (recipe == "infowgan_gp")
    x = toys.tiny_images().images[:5].numpy()
    codes, again = trained.encode(x), load(tmp_path / "run").encode(x)
    assert codes.names == ("z0", "z1", "kind")
    assert codes.categories["kind"].shape == (5, 3)
    np.testing.assert_array_equal(codes.means, again.means)
    np.testing.assert_array_equal(codes.categories["kind"], again.categories["kind"])


@pytest.mark.parametrize("recipe", ["infogan", "infowgan_gp"])
def test_resume_is_exact(recipe, tmp_path):
    """Every weight, batch statistic and moment of the optimisers, with two discriminator steps to each."""
    settings = {"discriminator": {"steps": 2}, "lam": "linear:0:1:10", **TINY}
    data = toys.tiny_images()
    train(recipe, data, steps=20, out=tmp_path / "whole", **settings)
    train(recipe, data, steps=12, out=tmp_path / "parts", **settings)
    resume(tmp_path / "parts", data, steps=20, accelerator="cpu", progress=False)
    whole, parts = everything(tmp_path / "whole"), everything(tmp_path / "parts")
    assert whole.keys() == parts.keys()
    assert any("optimiser/discriminator" in name for name in whole)
    assert any("optimiser/generator" in name for name in whole)
    for name in whole:
        np.testing.assert_array_equal(whole[name], parts[name], name)


def test_a_run_killed_at_random_moments_ends_with_identical_weights(images, tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    cli.main(flags("infowgan_gp", images, whole, 40))
    command = flags("infowgan_gp", images, killed, 40)
    rng = np.random.default_rng(time.time_ns())
    for _ in range(2):
        process = distaff(*command)
        before = set((killed / "checkpoint").glob("step-*"))
        while not set((killed / "checkpoint").glob("step-*")) - before and process.running:
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.3))
        process.send(signal.SIGKILL)
        process.end()
    assert distaff(*command).end().returncode == 0
    ours, theirs = everything(killed), everything(whole)
    assert ours.keys() == theirs.keys()
    for name in ours:
        np.testing.assert_array_equal(ours[name], theirs[name], name)


@pytest.mark.slow
def test_two_processes_share_a_run(images, tmp_path):
    command = [sys.executable, "-m", "distaff", *flags("infowgan_gp", images, tmp_path / "run", 10)]
    done = subprocess.run(
        [*command, "--devices", "2", "--strategy", "ddp"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert [line["step"] for line in read_log(tmp_path / "run/log.jsonl")][-1] == 10
    assert load(tmp_path / "run").names == ("z0", "z1", "kind")


@pytest.mark.parametrize(
    ("shape", "network"),
    [((1, 28, 28), "infogan_mnist"), ((3, 32, 32), "infogan_shapes"), ((1, 10, 10), "infogan_mlp")],
)
def test_the_data_choose_the_networks(shape, network, tmp_path):
    data = from_array(np.random.default_rng(0).random((32, *shape), np.float32))
    train("infogan", data, steps=2, out=tmp_path / "run", latents=3, **QUICK)
    content = yaml.safe_load((tmp_path / "run/run.yaml").read_text())["model"]
    assert (content["network"], content["latents"]) == (network, "z=uniform:3,noise:62")


def test_vectors_can_be_generated_too():
    x = np.random.default_rng(0).normal(5, 1, (200, 3)).astype(np.float32)
    trained = train("infowgan_gp", from_array(x), steps=5, latents=1, **QUICK)
    assert trained.reconstruct(x[:4]).shape == (4, 3)


def test_a_code_that_says_nothing_does_not_vote(tmp_path):
    """Q's best guess of an unread code is N(0, 1/3), the moments of U[−1, 1], for every image."""
    trained = train("infogan", toys.tiny_images(), steps=2, **TINY)
    last = trained.model.reader[-1]
    with torch.no_grad():
        last.weight.zero_()
        last.bias.copy_(torch.tensor([0.0, 0, 0, 0, 0, -np.log(3), -np.log(3)]))
        last.weight[3] = torch.linspace(-10, 10, last.in_features)
    encoded = encode(trained, toys.tiny_images(), progress=False)
    active, _, _ = active_latents(encoded.standard_codes)
    assert active.tolist() == [True, False, False]
    assert encoded.codes.means is not encoded.standard_codes.means


def test_scores_of_categorical_codes(images, tmp_path):
    train("infogan", str(images), steps=10, out=tmp_path / "run", **TINY)
    found = evaluate_run(tmp_path / "run", metrics="default", progress=False)
    names = {score.name for score in found.scores}
    assert {"factor_vae_score", "mig"} <= names
    assert not {"reconstruction_error", "kl"} & names


@pytest.mark.parametrize(
    ("recipe", "changes", "message"),
    [
        ("vae", {"latents": "style=uniform:2", "network": "auto"}, "are for infogan and infowgan_gp"),
        ("vae", {"latents": "style=gaussian:2,noise:3", "network": "auto"}, "are for infogan"),
        ("infogan", {"latents": "style=gaussian:2"}, "style=gaussian:2 is for VAEs.*uniform"),
        ("infogan", {"latents": "noise:3"}, "noise alone"),
        ("infogan", {"latents": "a=uniform:1,noise:3,noise:4"}, "'noise' twice"),
        ("infogan", {"prior": "student_t:5"}, "a GAN has no prior"),
        ("infogan", {"likelihood": "gaussian"}, "a GAN has no likelihood"),
        ("infogan", {"temperature": 0.5}, "a GAN has no temperature"),
        ("infogan", {"network": "kim_mnih"}, "unknown network 'kim_mnih'"),
        ("infogan", {"batch_size": 1}, "raise batch_size"),
        ("infowgan_gp", {"eta": -1}, "must not be negative"),
        ("infowgan_gp", {"discriminator": {"steps": 0}}, "steps must be at least 1"),
    ],
)
def test_bad_settings_are_one_sentence(recipe, changes, message):
    with pytest.raises(DistaffError, match=message) as error:
        train(recipe, toys.tiny_images(), steps=2, **{**TINY, **changes})
    assert "\n" not in str(error.value)


def test_a_run_of_an_unknown_kind_is_refused(tmp_path):
    train("infogan", toys.tiny_images(), steps=2, out=tmp_path / "run", **TINY)
    file = tmp_path / "run/run.yaml"
    file.write_text(file.read_text().replace("kind: infogan", "kind: diffusion"))
    with pytest.raises(DistaffError, match=r"unknown kind of model in run\.yaml 'diffusion'"):
        load(tmp_path / "run")


def test_a_collapsed_run_says_so_once_and_keeps_what_was_before(tmp_path):
    """A discriminator that says "real" to everything from the start, and cannot learn."""
    settings = {**TINY, "network": "tests.training.test_infogan_runs:gullible", "log_every": 50}
    with pytest.warns(UserWarning, match="takes every image for real.*infowgan_gp") as caught:
        train(
            "infogan",
            toys.tiny_images(),
            steps=400,
            out=tmp_path / "run",
            discriminator={"learning_rate": 1e-12},
            **{**settings, "checkpoint_every": 100},
        )
    assert len([w for w in caught if "takes every image" in str(w.message)]) == 1
    assert "no checkpoint from before" in str(caught[-1].message)


def gullible(shape, parameters, width, norm):
    """Networks whose discriminator starts sure that everything is real."""
    from distaff.models.infogan_networks import infogan_mlp

    players = infogan_mlp(shape, parameters, width, norm, hidden=16)
    torch.nn.init.constant_(players.verdict.bias, 20.0)
    return players
