import numpy as np
import pytest
import torch

from distaff.errors import DistaffError
from distaff.models.representation import Representation
from tests import toys


@pytest.fixture
def model() -> Representation:
    data = toys.tiny_images()
    return Representation(toys.model(data, latents=3), data.shape)


def test_codes_do_not_depend_on_how_images_are_given_or_blocked(model):
    data = toys.tiny_images(600)
    images = data.images[:].numpy()
    whole = model.encode(data.images)
    assert whole.means.shape == (600, 3)
    np.testing.assert_allclose(model.encode(images).means, whole.means)
    np.testing.assert_allclose(model.encode(torch.tensor(images[:, 0])).means, whole.means)
    np.testing.assert_allclose(
        model.encode((images[:7] * 255).astype(np.uint8)).means, whole.means[:7], atol=1e-5
    )
    assert whole.logvars.shape == (600, 3)


def test_a_traversal_moves_one_latent_and_holds_the_others(model):
    image = toys.tiny_images().images[0].numpy()
    start = model.encode(image[None]).means[0]
    grid = model.traverse(image, latents=["z2", 0], values=[-1.0, 0.5])
    assert grid.shape == (2, 2, 1, 16, 16)
    np.testing.assert_allclose(grid[0, 1], model.decode([[start[0], start[1], 0.5]])[0], atol=1e-6)
    np.testing.assert_allclose(grid[1, 0], model.decode([[-1.0, start[1], start[2]]])[0], atol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.encode(np.zeros((2, 1, 8, 8))), r"shape \(1, 8, 8\) but the model was trained on"),
        (lambda m: m.decode(np.zeros((2, 5))), r"must have shape \(N, 3\)"),
        (lambda m: m.traverse(latents=["z9"]), "unknown latent 'z9'"),
        (lambda m: m.traverse(latents=[3]), "there is no latent 3"),
    ],
)
def test_bad_input(model, call, message):
    with pytest.raises(DistaffError, match=message):
        call(model)
