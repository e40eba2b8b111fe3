"""Mistakes in recipes, terms and networks of a user's own are one sentence that says where to look."""

import numpy as np
import pytest
import torch
from torch import nn

import distaff
from distaff.foundation.errors import DistaffError
from distaff.models import Networks
from distaff.objectives import kl, nll, term

IMAGES = np.random.default_rng(0).random((16, 1, 8, 8), dtype=np.float32)
QUICK = {"latents": 2, "steps": 2, "batch_size": 8, "progress": False, "network": "mlp:hidden=4"}


@term
def not_averaged(s):
    return s.z.pow(2).sum(-1)


@term
def no_tensor(s):
    return 1.0


@term
def misspelt(s):
    return s.zed.mean()


def rows():
    return nll + kl + not_averaged


def number():
    return nll + 0 * no_tensor


def wrong():
    return nll + misspelt


def broken():
    return nll + {}["beta"] * kl


@term
def constant(s):
    return torch.ones(())


def unrelated():
    return 2.0 * constant


def heavy():
    return nll + "much" * kl


def undecorated():
    return nll + dense


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (rows, r"the term 'not_averaged' gives numbers of shape \(8,\): a term is one number"),
        (number, "the term 'no_tensor' gives a float: return a tensor"),
        (wrong, r"the term .*:misspelt failed at .*test_own_mistakes\.py:\d+: AttributeError: .*'zed'"),
        (broken, r"the recipe .*:broken failed at .*test_own_mistakes\.py:\d+: KeyError: 'beta'"),
        (unrelated, "^nothing in 2.0 constant depends on the model, which cannot learn"),
        (heavy, "^the weight of kl is 'much': give a number or a schedule"),
        (undecorated, "^dense is no term to be added to nll: make a function of a step one by @term"),
        (f"{__name__}:QUICK", "^the recipe '.*:QUICK' is a dict, not a function"),
    ],
)
def test_recipes_and_terms(recipe, message):
    with pytest.raises(DistaffError, match=message) as error:
        distaff.train(recipe, IMAGES, **QUICK)
    assert "\n" not in str(error.value)


def lost(count: int):
    return IMAGES[:count][99]


def untyped(count: "Nowhere" = 3):  # noqa: F821
    return IMAGES


@pytest.mark.parametrize(
    ("spec", "how", "message"),
    [
        (
            "lost",
            {"count": 9},
            r"the data set .*:lost failed at .*test_own_mistakes\.py:\d+: IndexError: index 99",
        ),
        ("lost", {}, "lost needs count: say it, as in data_options='count=3'"),
        ("untyped", {"count": 9}, "the type hints of untyped cannot be read: name 'Nowhere' is not defined"),
        ("QUICK", {}, "the data set '.*:QUICK' is a dict, not a function"),
    ],
)
def test_data_sets(spec, how, message):
    with pytest.raises(DistaffError, match=message) as error:
        distaff.train("vae", f"{__name__}:{spec}", data_options=how, **QUICK)
    assert "\n" not in str(error.value)


def dense(inputs, outputs):
    return nn.Sequential(nn.Flatten(), nn.Linear(inputs, outputs))


def narrow(shape, parameters, width, outputs=None):
    return Networks(dense(64, parameters - 1), nn.Sequential(dense(width, 64), nn.Unflatten(1, (1, 8, 8))))


def one_shade(shape, parameters, width, outputs=None):
    """A decoder that would be broadcast over the picture."""
    return Networks(dense(64, parameters), nn.Sequential(dense(width, 1), nn.Unflatten(1, (1, 1, 1))))


def too_wide(shape, parameters, width, outputs=None):
    return Networks(dense(64, parameters), dense(width + 1, 64))


def fitting(shape, parameters, width, outputs=None):
    return Networks(dense(64, parameters), nn.Sequential(dense(width, 64), nn.Unflatten(1, (1, 8, 8))))


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (narrow, r"the encoder of .*:narrow gives \(3,\): it has to give \(4,\)"),
        (one_shade, r"the decoder of .*:one_shade gives \(1, 1, 1\): it has to give \(1, 8, 8\)"),
        (too_wide, r"the decoder of .*:too_wide does not take numbers of shape \(2,\)"),
    ],
)
def test_networks(network, message, tmp_path):
    with pytest.raises(DistaffError, match=message):
        distaff.train("vae", IMAGES, **{**QUICK, "network": network}, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_looking_at_a_network_changes_no_random_number():
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    distaff.train("vae", IMAGES, **{**QUICK, "network": fitting})
    assert torch.equal(torch.rand(3), expected)
