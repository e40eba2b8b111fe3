import numpy as np
import pytest
import torch

from distaff.foundation.errors import DistaffError
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


def test_a_model_in_double_precision_takes_and_gives_it(model):
    images = toys.tiny_images(20).images
    single, decoded = model.encode(images), model.decode(np.ones((2, 3)))
    model.model.double()
    assert model.encode(images).means.dtype == np.float64
    np.testing.assert_allclose(model.encode(images).means, single.means, atol=1e-5)
    np.testing.assert_allclose(model.decode(np.ones((2, 3))), decoded, atol=1e-5)


def test_a_traversal_moves_one_latent_and_holds_the_others(model):
    image = toys.tiny_images().images[0].numpy()
    start = model.encode(image[None]).means[0]
    grid = model.traverse(image, latents=["z2", 0], values=[-1.0, 0.5])
    assert grid.shape == (2, 2, 1, 16, 16)
    np.testing.assert_allclose(grid[0, 1], model.decode([[start[0], start[1], 0.5]])[0], atol=1e-6)
    np.testing.assert_allclose(grid[1, 0], model.decode([[-1.0, start[1], start[2]]])[0], atol=1e-6)


MIXED = "digit=concrete:4,style=gaussian:2,smile=bernoulli:2"


@pytest.fixture
def mixed() -> Representation:
    data = toys.tiny_images()
    return Representation(toys.model(data, latents=MIXED), data.shape)


def test_discrete_groups_are_categories_and_names_agree(mixed):
    images = toys.tiny_images().images
    codes = mixed.encode(images)
    assert mixed.names == codes.names == ("z0", "z1", "digit", "smile0", "smile1")
    assert codes.categories["digit"].shape == (256, 4)
    with torch.no_grad():
        q = mixed.model.encode(images[:])
    np.testing.assert_allclose(codes.categories["digit"], q.parts["digit"].logits.softmax(1), atol=1e-6)
    np.testing.assert_allclose(
        codes.categories["smile1"][:, 1], q.parts["smile"].logits[:, 1].sigmoid(), atol=1e-6
    )
    np.testing.assert_allclose(mixed.to_z(codes), q.mode(), atol=1e-6)
    np.testing.assert_allclose(
        mixed.reconstruct(images[:3]), mixed.model.decode(q.mode()[:3]).mean.detach(), atol=1e-5
    )


def test_only_discrete_latents_have_codes_without_means():
    data = toys.tiny_images()
    model = Representation(toys.model(data, latents="digit=concrete:3"), data.shape)
    codes = model.encode(data.images)
    assert codes.means.shape == (256, 0)
    assert codes.names == model.names == ("digit",)
    assert model.traverse().shape == (1, 3, 1, 16, 16)


def test_a_traversal_walks_the_classes_of_a_discrete_latent(mixed):
    image = toys.tiny_images().images[0].numpy()
    start = mixed.to_z(mixed.encode(image[None]))[0]
    grid = mixed.traverse(image, latents=["digit", "z1", "smile1"], values=[-1.0, 0.0, 1.0])
    assert grid.shape == (3, 4, 1, 16, 16)
    for c in range(4):
        z = start.copy()
        z[:4] = np.eye(4)[c]
        np.testing.assert_allclose(grid[0, c], mixed.decode(z[None])[0], atol=1e-6)
    z = start.copy()
    z[5] = 1.0
    np.testing.assert_allclose(grid[1, 2], mixed.decode(z[None])[0], atol=1e-6)
    assert np.isnan(grid[1, 3:]).all()
    assert np.isnan(grid[2, 2:]).all()
    for bit in (0, 1):
        z = start.copy()
        z[7] = bit
        np.testing.assert_allclose(grid[2, bit], mixed.decode(z[None])[0], atol=1e-6)


def test_draws_of_the_prior_put_discrete_latents_at_a_class(mixed):
    seen = []
    mixed.model.decoder.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    mixed.model.draw(50)
    (z,) = seen
    assert set(z[:, :4].sum(1).tolist()) == {1.0}
    assert set(z[:, [0, 1, 2, 3, 6, 7]].unique().tolist()) == {0.0, 1.0}


def test_codes_of_another_model_do_not_fit(model, mixed):
    with pytest.raises(DistaffError, match="do not fit a model with the latents digit=concrete:4"):
        mixed.to_z(model.encode(toys.tiny_images().images[:2]))


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


def test_a_model_says_what_it_is(model):
    assert repr(model) == "Representation(VAE with 3 latents, of observations (1, 16, 16))"
