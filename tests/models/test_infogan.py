"""InfoGAN's networks against the tables of the FactorVAE paper, and what the model makes of them."""

import pytest
import torch
from torch import nn

from distaff.foundation.binding import public_functions
from distaff.foundation.errors import DistaffError
from distaff.models import infogan_networks
from distaff.models.infogan import InfoGAN
from distaff.models.infogan_networks import infogan_mlp, infogan_mnist, infogan_shapes, infogan_shapes_bigger
from distaff.models.latents import LatentSpace
from distaff.models.representation import Representation
from tests import toys

MNIST = "style=uniform:2,digit=concrete:10,noise:62"
SHAPES = "place=uniform:4,shape=concrete:3,noise:5"
BIGGER = "place=uniform:4,shape=concrete:3,noise:128"


def layers(module: nn.Module) -> list[str]:
    """The layers with weights and the activations, each as a short word."""
    words = []
    for layer in module.modules():
        match layer:
            case nn.Conv2d():
                words.append(f"conv{layer.kernel_size[0]} {layer.out_channels} s{layer.stride[0]}")
            case nn.ConvTranspose2d():
                words.append(f"up{layer.kernel_size[0]} {layer.out_channels} s{layer.stride[0]}")
            case nn.Linear():
                words.append(f"fc {layer.out_features}")
            case nn.BatchNorm2d() | nn.BatchNorm1d():
                words.append("bn")
            case nn.LayerNorm():
                words.append("ln")
            case nn.LeakyReLU():
                words.append("lrelu")
            case nn.ReLU():
                words.append("relu")
            case nn.Sigmoid():
                words.append("sigmoid")
    return words


def table(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]


TABLES = {
    infogan_mnist: (
        (1, 28, 28),
        MNIST,
        "fc 1024, bn, relu, fc 6272, bn, relu, up4 64 s2, bn, relu, up4 1 s2, sigmoid",
        "conv4 64 s2, lrelu, conv4 128 s2, bn, lrelu, fc 1024, bn, lrelu",
        "fc 128, bn, lrelu, fc 14",
    ),
    infogan_shapes: (
        (1, 64, 64),
        SHAPES,
        "fc 128, bn, relu, fc 1024, bn, relu, up4 64 s2, bn, lrelu, up4 32 s2, bn, lrelu,"
        "up4 32 s2, bn, lrelu, up4 1 s2, sigmoid",
        "conv4 32 s2, lrelu, conv4 32 s2, bn, lrelu, conv4 64 s2, bn, lrelu, conv4 64 s2, bn, lrelu,"
        "fc 128, bn, lrelu",
        "fc 128, bn, lrelu, fc 11",
    ),
    infogan_shapes_bigger: (
        (1, 64, 64),
        BIGGER,
        "fc 1024, bn, relu, fc 16384, bn, relu, conv4 256 s1, bn, lrelu, conv4 256 s1, bn, lrelu,"
        "up4 128 s2, bn, lrelu, up4 64 s2, bn, lrelu, up4 1 s2, sigmoid",
        "conv4 64 s2, lrelu, conv4 128 s2, bn, lrelu, conv4 256 s2, bn, lrelu, conv4 256 s1, bn, lrelu,"
        "conv4 256 s1, bn, lrelu, fc 1024, bn, lrelu",
        "fc 128, bn, lrelu, fc 11",
    ),
}


def model(make=infogan_mlp, shape=(1, 28, 28), latents=MNIST, **options) -> InfoGAN:
    torch.manual_seed(0)
    space = LatentSpace.parse(latents)
    return InfoGAN(make(shape, space.parameters, space.width + space.noise, **options), space)


@pytest.mark.parametrize("make", TABLES, ids=lambda make: make.__name__)
def test_the_networks_are_those_of_the_tables(make):
    shape, latents, generator, trunk, reader = TABLES[make]
    space = LatentSpace.parse(latents)
    players = make(shape, space.parameters, space.width + space.noise)
    assert layers(players.generator) == table(generator)
    assert layers(players.trunk) == table(trunk)
    assert layers(players.verdict) == ["fc 1"]
    assert layers(players.reader) == table(reader)
    first = next(layer for layer in players.generator if isinstance(layer, nn.Linear))
    assert first.in_features == {infogan_mnist: 74, infogan_shapes: 12, infogan_shapes_bigger: 135}[make]


@pytest.mark.parametrize("make", TABLES, ids=lambda make: make.__name__)
def test_under_a_penalty_no_batch_norm_in_the_trunk_and_layer_norm_in_its_dense_layer(make):
    shape, latents, generator, trunk, reader = TABLES[make]
    space = LatentSpace.parse(latents)
    players = make(shape, space.parameters, space.width + space.noise, norm="layer")
    *convolutions, dense, norm, activation = table(trunk)
    assert layers(players.trunk) == [w for w in convolutions if w != "bn"] + [dense, "ln", activation]
    assert norm == "bn"
    assert layers(players.generator) == table(generator)
    assert layers(players.reader) == table(reader)


@pytest.mark.parametrize("name", public_functions(infogan_networks))
@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_every_set_of_networks_makes_images_of_any_fitting_shape_and_reads_them(name, norm):
    gan = model(public_functions(infogan_networks)[name], (3, 16, 32), SHAPES, norm=norm)
    c = gan.latents.draw(4, torch.zeros(1))
    images = gan.generate(c)
    assert images.shape == (4, 3, 16, 32)
    assert images.min() >= 0
    assert images.max() <= 1
    scores, q = gan.judge(images)
    assert scores.shape == (4,)
    assert q.log_code(c).shape == (4,)


def test_a_penalised_discriminator_judges_each_image_by_itself():
    for norm, alone in (("layer", True), ("batch", False)):
        gan = model(infogan_mnist, norm=norm)
        x = torch.rand(6, 1, 28, 28)
        assert torch.allclose(gan.score(x)[:3], gan.score(x[:3]), atol=1e-5) is alone


def test_judging_is_scoring_and_encoding_in_one():
    gan = model().eval()
    x = torch.rand(5, 1, 28, 28)
    scores, q = gan.judge(x)
    torch.testing.assert_close(scores, gan.score(x))
    torch.testing.assert_close(q.mode(), gan.encode(x).mode())


def test_codes_are_drawn_from_their_priors():
    torch.manual_seed(0)
    space = LatentSpace.parse("digit=concrete:4,style=uniform:2,smile=bernoulli:1,noise:3")
    c = space.draw(20_000, torch.zeros(1))
    assert c.shape == (20_000, 7)
    digit, style, smile = c.split([4, 2, 1], 1)
    assert set(digit.sum(1).tolist()) == {1.0}
    torch.testing.assert_close(digit.mean(0), torch.full((4,), 0.25), atol=0.02, rtol=0)
    assert style.min() >= -1
    assert style.max() <= 1
    torch.testing.assert_close(style.mean(0), torch.zeros(2), atol=0.02, rtol=0)
    torch.testing.assert_close(style.std(0), torch.full((2,), 3**-0.5), atol=0.02, rtol=0)
    assert set(smile.unique().tolist()) == {0.0, 1.0}
    assert float(smile.mean()) == pytest.approx(0.5, abs=0.02)


def test_images_differ_by_their_codes_alone_unless_noise_is_given():
    gan = Representation(model(shape=(1, 8, 8)), (1, 8, 8))
    z = torch.zeros(2, 12)
    first, second = gan.decode(z)
    assert abs(first - second).max() < 1e-6
    own = torch.cat([z, torch.randn(2, 62)], 1)
    first, second = gan.decode(own)
    assert abs(first - second).max() > 1e-4
    usual = torch.cat([z, gan.model.usual_noise.expand(2, -1)], 1)
    assert abs(gan.decode(usual) - gan.decode(z)).max() < 1e-6


def test_varied_noise_keeps_the_codes_of_each_image():
    gan = Representation(model(shape=(1, 8, 8)), (1, 8, 8))
    x = torch.rand(3, 1, 8, 8)
    varied = gan.vary_noise(x, count=4)
    assert varied.shape == (3, 4, 1, 8, 8)
    assert (varied == gan.vary_noise(x, count=4)).all()
    assert len({image.tobytes() for image in varied[0]}) == 4
    seen = []
    gan.model.generator.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    gan.vary_noise(x, count=4)
    codes = seen[0][:, :12].reshape(3, 4, 12)
    assert (codes == codes[:, :1]).all()
    assert (codes[:, 0].numpy() == gan.to_z(gan.encode(x))).all()


def test_traversals_walk_classes_and_the_range_of_uniform_codes():
    gan = Representation(model(shape=(1, 8, 8)), (1, 8, 8))
    assert gan.names == ("z0", "z1", "digit")
    seen = []
    gan.model.generator.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    rows = gan.traverse(torch.rand(1, 8, 8).numpy())
    assert rows.shape == (3, 10, 1, 8, 8)
    (z,) = seen
    assert z[:9, 0].tolist() == pytest.approx([-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1])
    assert (z[18:, 2:12] == torch.eye(10)).all()


def test_draws_have_codes_of_the_prior_and_noise_of_their_own():
    gan = model(shape=(1, 8, 8)).eval()
    seen = []
    gan.generator.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    assert gan.draw(50).shape == (50, 1, 8, 8)
    z = seen[0]
    assert set(z[:, 2:12].sum(1).tolist()) == {1.0}
    assert z[:, :2].abs().max() <= 1
    assert len(z[:, 12].unique()) == 50


def test_bad_input():
    gan = Representation(model(shape=(1, 8, 8)), (1, 8, 8))
    with pytest.raises(DistaffError, match=r"shape \(N, 12\) or \(N, 74\), not \(1, 13\)"):
        gan.decode(torch.zeros(1, 13))
    data = toys.tiny_images()
    with pytest.raises(DistaffError, match="no noise"):
        Representation(toys.model(data), data.shape).vary_noise(data.images[:2])
    with pytest.raises(DistaffError, match=r"divisible by 4, not .*--network infogan_mlp"):
        model(infogan_mnist, (1, 30, 30))
