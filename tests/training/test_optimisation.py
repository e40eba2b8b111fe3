"""Optimisers, scheduled learning rates, clipping and averages: as they say, and resumed exactly."""

import numpy as np
import pytest
import torch
import yaml
from safetensors.torch import load_file
from torch import nn

from distaff.foundation.errors import DistaffError
from distaff.runs import checkpoints
from distaff.runs.load import load
from distaff.runs.log import read_log
from distaff.runs.sections import TrainingSettings
from distaff.training.average import Average
from distaff.training.learner import make_optimiser, optimisers
from distaff.training.train import resume, train
from tests import toys

QUICK = {"batch_size": 16, "log_every": 1, "progress": False, "accelerator": "cpu"}
TINY = {"network": "tests.toys:mlp", "latents": 2, **QUICK}


def state(model) -> dict[str, torch.Tensor]:
    return model.model.state_dict()


@pytest.mark.parametrize("name", sorted(optimisers()))
def test_every_optimiser_trains_and_resumes_exactly(tmp_path, name):
    data, settings = toys.tiny_images(), {"optimizer": name, "weight_decay": 0.01, **TINY}
    whole = train("vae", data, steps=12, **settings)
    train("vae", data, steps=5, out=tmp_path / "run", **settings)
    longer = resume(tmp_path / "run", data, steps=12, accelerator="cpu", progress=False)
    for key, value in state(whole).items():
        assert torch.equal(value, state(longer)[key]), key
    begun = train("vae", data, steps=1, **{**settings, "learning_rate": 1e-12})
    assert any(not torch.equal(value, state(begun)[key]) for key, value in state(whole).items())


def test_a_step_of_an_optimiser_is_torchs_own():
    """AdamW with decay of weights, not of biases, from the same weights and gradients."""
    torch.manual_seed(0)
    ours, theirs = torch.nn.Linear(4, 3), torch.nn.Linear(4, 3)
    theirs.load_state_dict(ours.state_dict())
    asked = TrainingSettings(optimizer="adamw", learning_rate=0.1, betas=(0.8, 0.9), weight_decay=0.3)
    groups = [{"params": [theirs.weight]}, {"params": [theirs.bias], "weight_decay": 0.0}]
    pairs = [
        (ours, make_optimiser(ours.parameters(), asked)),
        (theirs, torch.optim.AdamW(groups, 0.1, (0.8, 0.9), weight_decay=0.3)),
    ]
    for _ in range(3):
        for module, optimiser in pairs:
            optimiser.zero_grad()
            module(torch.ones(2, 4)).square().sum().backward()
            optimiser.step()
    torch.testing.assert_close(ours.weight, theirs.weight)
    torch.testing.assert_close(ours.bias, theirs.bias)


def test_a_scheduled_learning_rate_is_followed_logged_and_resumed_exactly(tmp_path):
    data, rate = toys.tiny_images(), "linear:0:1e-2:4,cosine:1e-2:1e-3:6"
    whole = train("vae", data, steps=12, learning_rate=rate, out=tmp_path / "whole", **TINY)
    rates = [line["learning_rate"] for line in read_log(tmp_path / "whole" / "log.jsonl")]
    expected = [1e-2 * i / 4 for i in range(4)]
    expected += [1e-2 + (1e-3 - 1e-2) * (1 - np.cos(np.pi * i / 6)) / 2 for i in range(6)] + [1e-3] * 2
    np.testing.assert_allclose(rates, expected, rtol=1e-5)
    assert yaml.safe_load((tmp_path / "whole/run.yaml").read_text())["training"]["learning_rate"] == (
        "linear:0:0.01:4,cosine:0.01:0.001:6"
    )
    train("vae", data, steps=7, learning_rate=rate, out=tmp_path / "run", **TINY)
    longer = resume(tmp_path / "run", data, steps=12, accelerator="cpu", progress=False)
    for key, value in state(whole).items():
        assert torch.equal(value, state(longer)[key]), key


def test_at_a_learning_rate_of_0_nothing_moves():
    settings = {"learning_rate": "linear:0:1:1000000000", "optimizer": "sgd", **TINY}
    begun, still = (train("vae", toys.tiny_images(), steps=steps, **settings) for steps in (1, 3))
    for key, value in state(begun).items():
        torch.testing.assert_close(state(still)[key], value, atol=1e-5, rtol=0)


def test_clipping_bounds_what_a_step_moves():
    """Plain descent at rate 1 moves by the gradient, whose norm is then at most the bound."""
    first = train("vae", toys.tiny_images(), steps=1, learning_rate=1e-12, optimizer="sgd", **TINY)
    moved = train("vae", toys.tiny_images(), steps=1, learning_rate=1.0, optimizer="sgd", clip=0.5, **TINY)
    names = [name for name, _ in first.model.named_parameters()]
    distance = torch.cat([(state(moved)[n] - state(first)[n]).flatten() for n in names]).norm()
    assert float(distance) == pytest.approx(0.5, rel=1e-3)


def test_an_average_is_the_trained_model_and_the_weights_are_kept_beside_it(tmp_path):
    data = toys.tiny_images()
    settings = {"average": 0.9, "snapshots": 1, **TINY}
    averaged = train("vae", data, steps=12, out=tmp_path / "run", **settings)
    raw = train("vae", data, steps=12, **TINY)
    folder = tmp_path / "run/checkpoint/step-000000012"
    for key, value in state(raw).items():
        assert torch.equal(load_file(folder / "model.safetensors")[key], value), "averaging changes no step"
    loaded, kept = load(tmp_path / "run"), load(tmp_path / "run", step=12)
    for key, value in state(averaged).items():
        assert torch.equal(state(loaded)[key], value)
        assert torch.equal(state(kept)[key], value)
    assert any(not torch.equal(state(averaged)[key], value) for key, value in state(raw).items())
    train("vae", data, steps=5, out=tmp_path / "short", average=0.9, **TINY)
    longer = resume(tmp_path / "short", data, steps=12, accelerator="cpu", progress=False)
    for key, value in state(averaged).items():
        assert torch.equal(state(longer)[key], value), key


def test_an_average_is_the_weighted_sum_it_says():
    module = torch.nn.Linear(1, 1, bias=False)
    average = Average(module, 0.5)
    expected = module.weight.item()
    for index, weight in enumerate([1.0, -2.0, 5.0, 4.0]):
        module.weight.data.fill_(weight)
        average.update(module, index)
        decay = min(0.5, (1 + index) / (10 + index))
        expected = decay * expected + (1 - decay) * weight
    assert float(average.module.weight) == pytest.approx(expected, rel=1e-6)


def test_a_gan_takes_the_same_settings(tmp_path):
    settings = {"latents": "style=uniform:2,noise:3", "network": "infogan_mlp:hidden=16", **QUICK}
    settings |= {"learning_rate": "cosine:1e-3:1e-4:10", "average": 0.9, "clip": 1.0, "optimizer": "adamw"}
    data = toys.tiny_images()
    whole = train("infogan", data, steps=8, **settings)
    train("infogan", data, steps=3, out=tmp_path / "run", **settings)
    longer = resume(tmp_path / "run", data, steps=8, accelerator="cpu", progress=False)
    for key, value in state(whole).items():
        assert torch.equal(value, state(longer)[key]), key


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"optimizer": "adan"}, "unknown optimizer 'adan': did you mean 'adam'"),
        ({"optimizer": "sgd", "amsgrad": True}, "amsgrad goes with adam"),
        ({"weight_decay": -1}, "weight_decay must not be negative"),
        ({"clip": 0}, "clip must be positive"),
        ({"average": 1.0}, "average must be less than 1"),
        ({"learning_rate": "linear:1:-1:10"}, "learning_rate must be positive"),
        ({"learning_rate": "fast"}, "neither a number nor linear"),
        ({"betas": (0.9, 1.5)}, "betas must"),
    ],
)
def test_bad_settings_are_one_sentence(changes, message):
    with pytest.raises(DistaffError, match=message) as error:
        train("vae", toys.tiny_images(), steps=2, **{**TINY, **changes})
    assert "\n" not in str(error.value)


def test_weight_decay_leaves_the_places_of_moments_in_checkpoints_as_they_are():
    """They are counted in the model's order, whichever weights the decay spares: older checkpoints fit."""
    kept = []
    for decay in (None, 0.01):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
        settings = TrainingSettings(optimizer="adamw", learning_rate=1e-3, weight_decay=decay)
        optimiser = make_optimiser(model.parameters(), settings)
        model(torch.ones(2, 3)).square().sum().backward()
        optimiser.step()
        kept.append(checkpoints._optimiser_tensors(optimiser))
    assert kept[0].keys() == kept[1].keys()
    assert all(torch.equal(kept[0][key], kept[1][key]) for key in kept[0] if "avg" in key)
    fresh = make_optimiser(model.parameters(), settings)
    checkpoints._restore_optimiser(fresh, kept[0])
    assert torch.allclose(fresh.state[model[1].bias]["exp_avg"], 0.1 * model[1].bias.grad)
