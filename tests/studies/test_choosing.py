"""Choosing runs: a central model is the one that the others agree with, and few labels find it too."""

import numpy as np
import pytest
import torch
from torch import nn

from distaff.foundation.errors import DistaffError
from distaff.models.latents import LatentSpace
from distaff.models.layers import Networks
from distaff.models.likelihoods import UnitGaussian
from distaff.models.representation import Representation
from distaff.models.vae import VAE
from distaff.studies.centrality import majority, model_centrality


def linear(matrix: np.ndarray) -> Representation:
    """A model whose codes are ``matrix`` times x, x of three numbers, and whose decoder is the inverse."""
    encoder, decoder = nn.Linear(3, 6), nn.Linear(3, 3)
    with torch.no_grad():
        encoder.weight.copy_(torch.from_numpy(np.vstack([matrix, np.zeros((3, 3))])))
        encoder.bias.copy_(torch.tensor([0.0] * 3 + [-6.0] * 3))
        decoder.weight.copy_(torch.from_numpy(np.linalg.inv(matrix)))
        decoder.bias.zero_()
    return Representation(
        VAE(Networks(encoder, decoder), LatentSpace.parse(3), None, UnitGaussian.read), (3,)
    )


def test_models_that_agree_up_to_order_and_sign_are_central():
    """By half a right angle two latents are mixed alike, so that neither tells which factor was held."""
    half = np.sqrt(0.5)
    turns = [np.eye(3), np.eye(3)]
    turns[0][:2, :2] = turns[1][1:, 1:] = [[half, -half], [half, half]]
    alike = {
        "plain": np.eye(3),
        "swapped": np.eye(3)[[2, 0, 1]],
        "flipped": np.diag([1.0, -2.0, 1.0]),
    }
    models = alike | {"turned": turns[0], "turned otherwise": turns[1]}
    scores = model_centrality({name: linear(matrix) for name, matrix in models.items()})
    assert min(scores[name] for name in alike) > max(scores["turned"], scores["turned otherwise"])
    only = model_centrality({name: linear(matrix) for name, matrix in alike.items()})
    assert only == pytest.approx(dict.fromkeys(alike, 1.0), abs=0.02)


def test_votes_that_tell_nothing_are_at_chance():
    rng = np.random.default_rng(0)
    codes, held = rng.standard_normal((4000, 8, 3)), rng.integers(0, 4, 4000)
    assert majority(codes, held) == pytest.approx(0.25, abs=0.03)
    assert majority(np.zeros((10, 8, 3)), held[:10]) == 0


def test_one_model_has_nothing_to_agree_with():
    with pytest.raises(DistaffError, match="two or more"):
        model_centrality({"alone": linear(np.eye(3))})
