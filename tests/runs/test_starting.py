"""``start``: a run begins with the weights of a trained model."""

import shutil

import numpy as np
import pytest
import torch

import distaff
from distaff import cli
from distaff.export import export_run
from distaff.foundation.errors import DistaffError
from tests import toys

SETTINGS = {
    "steps": 4,
    "batch_size": 16,
    "latents": 3,
    "network": "tests.toys:mlp",
    "progress": False,
    "accelerator": "cpu",
}
STILL = 1e-12
"""A step size that leaves weights as they are, up to its own size."""
IMAGES = toys.tiny_images(64).images[:].numpy()
OTHERS = toys.tiny_images(48, seed=5).images[:].numpy()


def weights(model):
    return {name: tensor.clone() for name, tensor in model.model.state_dict().items()}


def distance(one, other):
    return max(float((one[name] - other[name]).abs().max()) for name in one)


@pytest.fixture
def first(tmp_path):
    trained = distaff.train("vae", IMAGES, seed=1, learning_rate=1e-2, out=tmp_path / "first", **SETTINGS)
    return tmp_path / "first", weights(trained)


@pytest.mark.parametrize("average", [None, 0.9])
def test_a_run_begins_with_the_weights_of_another_on_other_data(first, average):
    place, before = first
    settings = {**SETTINGS, "steps": 1, "seed": 2, "learning_rate": STILL, "average": average}
    assert distance(weights(distaff.train("beta_vae", OTHERS, **settings)), before) > 0.01
    assert distance(weights(distaff.train("beta_vae", OTHERS, start=place, **settings)), before) < 1e-9


def test_a_hub_folder_is_a_start_and_a_damaged_one_is_not(first, tmp_path):
    place, before = first
    export_run(place, hub=tmp_path / "hub")
    settings = {**SETTINGS, "steps": 1, "learning_rate": STILL, "start": tmp_path / "hub"}
    assert distance(weights(distaff.train("vae", IMAGES, **settings)), before) < 1e-9
    file = tmp_path / "hub" / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(DistaffError, match=r"model\.safetensors is missing or damaged"):
        distaff.train("vae", IMAGES, **settings)


def test_a_model_of_the_zoo_is_a_start_for_images_of_ones_own():
    name = "zoo:vae-dsprites"
    images = np.random.default_rng(0).random((16, 64, 64, 1), dtype=np.float32)
    settings = {"steps": 1, "batch_size": 8, "learning_rate": STILL, "progress": False, "accelerator": "cpu"}
    begun = distaff.train("beta_vae", images, start=name, **settings)
    assert distance(weights(begun), weights(distaff.load(name))) < 1e-9


def test_a_started_run_resumes_bit_for_bit_although_its_start_is_gone(first, tmp_path):
    place, _ = first
    settings = {**SETTINGS, "seed": 3, "checkpoint_every": 4, "start": place}
    np.savez(tmp_path / "mine.npz", images=IMAGES)
    whole = distaff.train("vae", tmp_path / "mine.npz", out=tmp_path / "whole", **{**settings, "steps": 8})
    distaff.train("vae", tmp_path / "mine.npz", out=tmp_path / "parts", **settings)
    shutil.rmtree(place)
    parts = distaff.resume(tmp_path / "parts", steps=8, progress=False, accelerator="cpu")
    for name, tensor in weights(whole).items():
        assert torch.equal(weights(parts)[name], tensor), name


@pytest.mark.parametrize("gone", [False, True])
def test_the_same_command_goes_on_although_its_start_was_trained_further_or_deleted(
    first, tmp_path, monkeypatch, gone
):
    place, _ = first
    monkeypatch.chdir(tmp_path)
    np.savez("mine.npz", images=IMAGES)
    settings = {**SETTINGS, "steps": 8, "checkpoint_every": 4, "start": "first", "out": "out"}
    whole = weights(distaff.train("vae", "mine.npz", **settings))
    shutil.rmtree(tmp_path / "out/checkpoint/step-000000008")
    if gone:
        shutil.rmtree(place)
    else:
        distaff.resume(place, IMAGES, steps=8, progress=False, accelerator="cpu")
    assert distance(weights(distaff.train("vae", "mine.npz", **settings)), whole) == 0
    with pytest.raises(DistaffError, match=r"holds another run \(latents is"):
        distaff.train("vae", "mine.npz", **{**settings, "latents": 4})


def test_a_run_that_has_not_begun_does_not_go_on_with_another_start(first, tmp_path):
    place, _ = first
    out = tmp_path / "out"
    np.savez(tmp_path / "mine.npz", images=IMAGES)
    settings = {**SETTINGS, "start": place, "out": out}
    distaff.train("vae", tmp_path / "mine.npz", **settings)
    shutil.rmtree(out / "checkpoint", ignore_errors=True)
    distaff.resume(place, IMAGES, steps=8, progress=False, accelerator="cpu")
    with pytest.raises(DistaffError, match=r"first is not what the run was begun with"):
        distaff.resume(out, progress=False, accelerator="cpu")
    with pytest.raises(DistaffError, match=r"first is not what the run was begun with"):
        distaff.train("vae", tmp_path / "mine.npz", **settings)


def test_a_start_that_does_not_fit_is_one_sentence_and_nothing_is_written(first, tmp_path):
    place, _ = first
    out = tmp_path / "out"
    with pytest.raises(DistaffError, match=r"is another model: .* there and .* here; give the latents"):
        distaff.train("vae", IMAGES, start=place, out=out, **{**SETTINGS, "latents": 5})
    for wrong in (tmp_path, tmp_path / "absent", "zoo:nothing", place / "run.yaml"):
        with pytest.raises(DistaffError, match=r"no trained model: give a run folder|model of the zoo"):
            distaff.train("vae", IMAGES, start=wrong, out=out, **SETTINGS)
    with pytest.raises(DistaffError, match=r"first'? is a VAE, and this recipe trains a GAN"):
        distaff.train("infogan", IMAGES, start=place, out=out, **SETTINGS)
    assert not out.exists()


def test_the_command_line_takes_latents_and_network_from_the_start(tmp_path):
    np.savez(tmp_path / "mine.npz", images=np.zeros((8, 64, 64, 3), np.uint8))
    out = tmp_path / "out"
    flags = f"--data {tmp_path / 'mine.npz'} --start zoo:vae-shapes3d --steps 1 --batch-size 4 --out {out}"
    cli.main(["train", "beta_vae", *flags.split(), "--learning-rate", str(STILL), "--no-progress"])
    begun = distaff.load(out)
    assert begun.model.latents.width == 6
    assert distance(weights(begun), weights(distaff.load("zoo:vae-shapes3d"))) < 1e-9
