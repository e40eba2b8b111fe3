"""Where the posteriors that stand for q(z) come from while a run trains."""

import numpy as np
import pytest
import torch

from distaff.foundation.errors import DistaffError
from distaff.objectives.densities import Source
from distaff.training import batches as module
from distaff.training.batches import Batches
from distaff.training.learner import more_images
from distaff.training.train import train
from tests import toys

QUICK = {"latents": 2, "network": "tests.toys:mlp", "steps": 5, "batch_size": 20, "progress": False}


def test_an_independent_batch_is_neither_the_steps_nor_the_critics():
    data = toys.ring(400)
    batches = Batches(data, 40, 0, torch.device("cpu"))
    second = more_images(batches, 3, Source.SECOND_BATCH)
    assert torch.equal(second, batches(3, stream=2))
    shared = [
        len(set(batches.indices(i, stream=2)) & set(batches.indices(i, stream=s)))
        for i in range(8)
        for s in (0, 1)
    ]
    # Independent draws of 40 of 400 share 4 on average; the same batch would share 40.
    assert 2 < np.mean(shared) < 6


def test_the_whole_data_set_is_used_if_it_is_small(monkeypatch):
    data = toys.ring(60)
    batches = Batches(data, 20, 0, torch.device("cpu"))
    assert torch.equal(more_images(batches, 0, Source.DATA_SET), data.images[:])
    train("beta_tcvae", data, density="exact", **QUICK)
    monkeypatch.setattr(module, "LARGEST_WHOLE", 50)
    with pytest.raises(DistaffError, match=r"60 observations are more than 50: use density='stratified'"):
        train("beta_tcvae", data, density="exact", **QUICK)


@pytest.mark.parametrize(
    ("recipe", "arguments", "message"),
    [
        ("hfvae", {"density": "straified"}, "did you mean 'stratified'"),
        ("wae", {"divergence": "mmd_jont"}, "did you mean 'mmd_joint'"),
        ("anchor_vae", {"anchors": (2,)}, "there is no latent 2: the model has 2"),
        ("ablated_elbo", {"without": 5}, "without must be 1 or 2 or 3 or 4, not 5"),
        ("ablated_elbo", {"without": 1, "evidence": "grid:9"}, "2 real latents"),
        ("beta_tcvae", {"batch_size": 1}, "at least 2 observations"),
    ],
)
def test_wrong_arguments_are_one_sentence(recipe, arguments, message):
    with pytest.raises(DistaffError, match=message) as error:
        train(recipe, toys.ring(60), **{**QUICK, **arguments})
    assert "\n" not in str(error.value)
