"""Encoders alone: a user's own modules, and those of timm."""

import importlib
import sys

import numpy as np
import pytest
import torch
from torch import nn

import distaff
from distaff.foundation.errors import DistaffError
from distaff.models import encoders
from distaff.models.by_name import find_network

IMAGES = np.random.default_rng(0).random((24, 3, 20, 24), dtype=np.float32)
QUICK = {"latents": 2, "steps": 2, "batch_size": 8, "progress": False}
HERE = __name__


class Averages(nn.Module):
    """Four numbers per image, whatever its sides."""

    def __init__(self, shape, parameters, channels: int = 4):
        super().__init__()
        self.layer = nn.Conv2d(shape[0], channels, 3)

    def forward(self, x):
        return self.layer(x).mean((2, 3))


def exactly(shape, parameters):
    return nn.Sequential(nn.Flatten(), nn.LazyLinear(parameters))


def without_arguments():
    return nn.Sequential(nn.Conv2d(3, 5, 3), nn.ReLU())


def with_all(shape, parameters, width, outputs=None):
    return exactly(shape, parameters)


def too_large(shape, parameters):
    return nn.Conv2d(shape[0], 4, 99)


def no_tensor(shape, parameters):
    return nn.LSTM(shape[-1], 3)


made = nn.Sequential(nn.Flatten(), nn.Linear(20 * 24 * 3, 7))


@pytest.mark.parametrize("network", [Averages, exactly, without_arguments, with_all, made])
def test_an_encoder_alone_is_trained_with_a_decoder_of_ours(tmp_path, network):
    model = distaff.train("vae", IMAGES, network=network, out=tmp_path / "run", **QUICK)
    assert model.reconstruct(IMAGES[:3]).shape == (3, 3, 20, 24)
    again = distaff.load(tmp_path / "run")
    np.testing.assert_array_equal(again.encode(IMAGES).means, model.encode(IMAGES).means)


def test_a_module_of_the_users_is_copied_not_trained_itself():
    before = made[1].weight.clone()
    distaff.train("vae", IMAGES, network=made, learning_rate=0.001, **QUICK)
    torch.testing.assert_close(made[1].weight, before)


def test_only_encoders_of_other_sizes_get_a_layer_on_top():
    pair = find_network(f"{HERE}:exactly")((3, 20, 24), 6, 3)
    assert pair.encoder[-1].out_features == 6
    assert not isinstance(pair.encoder[0], nn.Sequential)
    pair = find_network(f"{HERE}:Averages:channels=9")((3, 20, 24), 6, 3)
    assert (pair.encoder[-1].in_features, pair.encoder[-1].out_features) == (9, 6)


@pytest.mark.parametrize("shape", [(7,), (2, 30), (3, 20, 24), (1, 33, 47)])
def test_the_decoder_takes_any_shape(shape):
    pair = find_network(f"{HERE}:exactly")(shape, 6, 3, outputs=(2 * shape[0], *shape[1:]))
    assert pair.encoder(torch.zeros(2, *shape)).shape == (2, 6)
    assert pair.decoder(torch.zeros(2, 3)).shape == (2, 2 * shape[0], *shape[1:])


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ("too_large", r"too_large does not take observations of the shape \(3, 20, 24\) .*resize=64"),
        ("no_tensor", r"no_tensor does not take|no_tensor gives a tuple for two observations"),
        ("made:depth=2", "made is made already, and takes no arguments"),
        ("Averages:depth=2", "unknown argument of .*Averages 'depth'"),
    ],
)
def test_encoders_that_cannot_be_get_a_sentence(network, message):
    with pytest.raises(DistaffError, match=message) as error:
        distaff.train("vae", IMAGES, network=f"{HERE}:{network}", **QUICK)
    assert "\n" not in str(error.value)


def test_a_module_that_no_run_could_find_again_is_refused_in_one_line():
    with pytest.raises(DistaffError, match="network=mine; not a nameless Sequential") as error:
        distaff.train("vae", IMAGES, network=nn.Sequential(nn.Flatten(), nn.Linear(3, 4)), **QUICK)
    assert "\n" not in str(error.value)


def test_without_timm_its_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(DistaffError, match=r"network='timm:resnet18' needs .* pip install 'distaff\[timm\]'"):
        distaff.train("vae", IMAGES, network="timm:resnet18", **QUICK)


def test_a_timm_that_does_not_import_is_not_called_missing(monkeypatch, tmp_path):
    (tmp_path / "timm.py").write_text("raise RuntimeError('operator torchvision::nms does not exist')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "timm", raising=False)
    with pytest.raises(DistaffError, match=r"installed but cannot be imported \(operator .*torchvision"):
        distaff.train("vae", IMAGES, network="timm:resnet18", **QUICK)


def test_weights_are_not_fetched_for_models_that_are_given_theirs(monkeypatch):
    asked = []

    class Timm:
        @staticmethod
        def is_model(name):
            return name == "toy"

        @staticmethod
        def create_model(name, pretrained, in_chans, num_classes):
            asked.append(pretrained)
            model = nn.Sequential(nn.Flatten(), nn.LazyLinear(num_classes))
            model.pretrained_cfg = {"mean": (0.1, 0.2, 0.3), "std": (1.0, 1.0, 1.0)}
            return model

    monkeypatch.setitem(sys.modules, "timm", Timm)
    find_network("timm:toy:pretrained=true")((3, 20, 24), 6, 3)
    find_network("timm:toy:pretrained=true", download=False)((3, 20, 24), 6, 3)
    assert asked == [True, False]
    with pytest.raises(DistaffError, match=r"need images \(C, H, W\), not \(7,\)"):
        find_network("timm:toy")((7,), 6, 3)


def test_images_are_normalised_by_channel():
    x = torch.rand(2, 3, 4, 4)
    got = encoders.Normalise(3, (0.1, 0.2, 0.3), (1.0, 2.0, 4.0))(x)
    torch.testing.assert_close(got[:, 2], (x[:, 2] - 0.3) / 4)
    torch.testing.assert_close(encoders.Normalise(1, (0.1, 0.2, 0.3), (1.0,) * 3)(x[:, :1]), x[:, :1] - 0.2)


def timm_here():
    """The package itself, or a skip where it, or the torchvision that it needs, cannot be imported."""
    try:
        return importlib.import_module("timm")
    except Exception as problem:
        return pytest.skip(f"timm cannot be imported: {problem}")


@pytest.mark.parametrize("name", ["resnet18", "vit_tiny_patch16_224", "mobilenetv3_small_050"])
def test_real_networks_of_timm_train_and_load(tmp_path, name):
    timm_here()
    images = np.random.default_rng(0).random((16, 1, 50, 50), dtype=np.float32)
    model = distaff.train("vae", images, network=f"timm:{name}", out=tmp_path / "run", **QUICK)
    again = distaff.load(tmp_path / "run")  # from a folder that names no code of its own
    np.testing.assert_array_equal(again.encode(images).means, model.encode(images).means)


def test_real_names_of_timm_are_checked():
    timm_here()
    with pytest.raises(DistaffError, match=r"unknown network of timm 'resnt18': did you mean 'resnet18'"):
        find_network("timm:resnt18")((3, 64, 64), 6, 3)
