"""The papers' tables: layers, parameter counts, and every network on shapes it takes."""

import itertools

import pytest
import torch
from torch import nn

from distaff.foundation.binding import public_functions
from distaff.foundation.errors import DistaffError
from distaff.models import networks
from distaff.models.by_name import find_network
from distaff.models.critic import critic
from distaff.models.latents import LatentSpace

CONVOLUTIONAL = [
    *("kim_mnih", "mathieu_dsprites", "hfvae_celeba", "mathieu_dcgan", "dotran_celeba"),
]
DENSE = ["hfvae_mlp", "hfvae_dsprites", "pinwheel", "mlp"]
ANY_SIDE = ["resnet", "broadcast"]
SIGNALS = ["conv1d"]


def test_every_network_is_in_one_of_the_lists():
    assert sorted(public_functions(networks)) == sorted(CONVOLUTIONAL + DENSE + ANY_SIDE + SIGNALS)


def layers(module: nn.Module) -> list[str]:
    """Weight layers and activations in order, such as ``conv32``, ``ReLU``, ``fc128``."""
    found = []
    for layer in module.modules():
        if isinstance(layer, nn.ConvTranspose2d):
            found.append(f"up{layer.out_channels}")
        elif isinstance(layer, nn.Conv2d):
            found.append(f"conv{layer.out_channels}")
        elif isinstance(layer, nn.Linear):
            found.append(f"fc{layer.out_features}")
        elif isinstance(layer, nn.BatchNorm2d):
            found.append("bn")
        elif not isinstance(layer, nn.Sequential | nn.Flatten | nn.Unflatten):
            found.append(type(layer).__name__)
    return found


def each(names: str, after: str) -> list[str]:
    return [word for name in names.split() for word in (name, *after.split())]


TABLES = {
    ("kim_mnih", (1, 64, 64), 20, 10): (
        [*each("conv32 conv32 conv64 conv64 fc128", "ReLU"), "fc20"],
        [*each("fc128 fc1024 up64 up32 up32", "ReLU"), "up1"],
    ),
    ("kim_mnih", (3, 64, 64), 12, 6): (
        [*each("conv32 conv32 conv64 conv64 fc256", "ReLU"), "fc12"],
        [*each("fc256 fc1024 up64 up32 up32", "ReLU"), "up3"],
    ),
    ("mathieu_dsprites", (1, 64, 64), 20, 10): (
        [*each("conv32 conv32 conv64 conv64", "ReLU"), "fc128", "fc20"],
        [*each("fc128 fc1024 up64 up64 up32", "ReLU"), "up1"],
    ),
    ("hfvae_mlp", (1, 28, 28), 30, 20): (
        [*each("fc400 fc400", "ReLU"), "fc30"],
        [*each("fc200 fc400", "ReLU"), "fc784"],
    ),
    ("hfvae_dsprites", (1, 64, 64), 23, 13): (
        [*each("fc1200 fc1200 fc800", "ReLU"), "fc23"],
        [*each("fc400 fc1200 fc1200", "Tanh"), "fc4096"],
    ),
    ("hfvae_celeba", (3, 64, 64), 42, 22): (
        [*each("conv32 conv32 conv64 conv64", "bn ReLU"), "fc512", "ReLU", "fc42"],
        ["fc256", "ReLU", "fc1024", "Tanh", *each("up64 up32 up32", "bn ReLU"), "up3"],
    ),
    ("mathieu_dcgan", (3, 64, 64), 100, 50): (
        [*each("conv32 conv64 conv128 conv256", "bn LeakyReLU"), "conv100"],
        [*each("up256 up128 up64 up32", "bn ReLU"), "up3"],
    ),
    ("dotran_celeba", (3, 64, 64), 130, 65): (
        [*each("conv32 conv32 conv64 conv64 conv256", "ReLU"), "fc130"],
        [*each("fc256 up64 up64 up32 up32", "ReLU"), "up3"],
    ),
    ("pinwheel", (2,), 4, 2): (["fc100", "ReLU", "fc4"], ["fc100", "ReLU", "fc2"]),
}


def test_grey_images_get_the_layers_of_table_3():
    grey = networks.kim_mnih((1, 64, 64), 20, 10, grey=True)
    assert layers(grey.encoder) == [*each("conv32 conv32 conv64 conv64 fc256", "ReLU"), "fc20"]
    assert layers(grey.decoder) == [*each("fc256 fc1024 up64 up32 up32", "ReLU"), "up1"]


def test_kim_and_mnihs_networks_can_have_fewer_channels():
    thin = find_network("kim_mnih:channels=16")((1, 64, 64), 20, 10)
    assert layers(thin.encoder) == [*each("conv16 conv16 conv32 conv32 fc128", "ReLU"), "fc20"]
    assert layers(thin.decoder) == [*each("fc128 fc512 up32 up16 up16", "ReLU"), "up1"]


def test_esmaeilis_dense_networks_can_have_fewer_units():
    thin = find_network("hfvae_dsprites:units=200")((1, 64, 64), 23, 13)
    assert layers(thin.encoder) == [*each("fc600 fc600 fc400", "ReLU"), "fc23"]
    assert layers(thin.decoder) == [*each("fc200 fc600 fc600", "Tanh"), "fc4096"]


def test_logits_of_classes_can_come_from_the_first_layer():
    pair = find_network("hfvae_mlp:classes=7")((1, 28, 28), 27, 17)
    assert layers(pair.decoder) == [*each("fc200 fc400", "ReLU"), "fc784"]
    assert count(pair.encoder) == linear([784, 400]) + 2 * linear([400, 200, 10]) + linear([400, 7])
    x = torch.rand(5, 1, 28, 28)
    groups = LatentSpace.parse("style=gaussian:10,digit=concrete:7").posterior(pair.encoder(x), 0.66).parts
    first, *_, last = (layer for layer in pair.encoder.modules() if isinstance(layer, nn.Linear))
    hidden = (x.flatten(1) @ first.weight.T + first.bias).relu()
    torch.testing.assert_close(groups["digit"].logits, hidden @ last.weight.T + last.bias)
    assert groups["style"].mu.shape == groups["style"].logvar.shape == (5, 10)


@pytest.mark.parametrize("parameters", [10, 17, 25])
def test_logits_from_the_first_layer_need_real_latents_beside_them(parameters):
    with pytest.raises(DistaffError, match="real latents and then one of 10 classes"):
        networks.hfvae_mlp((1, 28, 28), parameters, 20, classes=10)


@pytest.mark.parametrize(("name", "shape", "parameters", "width"), TABLES)
def test_layers_are_those_of_the_papers(name, shape, parameters, width):
    pair = public_functions(networks)[name](shape, parameters, width)
    assert (layers(pair.encoder), layers(pair.decoder)) == TABLES[name, shape, parameters, width]


def count(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


def convolutions(channels: list[int], bias: bool = True) -> int:
    return sum(16 * a * b + bias * b for a, b in itertools.pairwise(channels))


def linear(sizes: list[int]) -> int:
    return sum((a + 1) * b for a, b in itertools.pairwise(sizes))


def test_parameter_counts_by_hand():
    pair = networks.kim_mnih((1, 64, 64), 20, 10)
    assert count(pair.encoder) == convolutions([1, 32, 32, 64, 64]) + linear([1024, 128, 20])
    assert count(pair.decoder) == linear([10, 128, 1024]) + convolutions([64, 64, 32, 32, 1])
    pair = networks.hfvae_mlp((1, 28, 28), 30, 20)
    assert (count(pair.encoder), count(pair.decoder)) == (
        linear([784, 400, 400, 30]),
        linear([20, 200, 400, 784]),
    )
    pair = networks.mathieu_dcgan((3, 64, 64), 100, 50)
    norms = 2 * (32 + 64 + 128 + 256)
    assert count(pair.encoder) == convolutions([3, 32, 64, 128, 256], bias=False) + norms + convolutions(
        [256, 100]
    )
    assert count(pair.decoder) == convolutions([50, 256, 128, 64, 32], bias=False) + norms + convolutions(
        [32, 3]
    )
    pair = networks.dotran_celeba((3, 64, 64), 130, 65)
    assert count(pair.encoder) == convolutions([3, 32, 32, 64, 64, 256]) + linear([256, 130])
    assert count(critic(10)) == linear([10, *[1000] * 6, 2])


@pytest.mark.parametrize("name", CONVOLUTIONAL)
@pytest.mark.parametrize("shape", [(1, 16, 16), (3, 64, 64), (2, 32, 48), (4, 80, 16)])
def test_convolutional_networks_take_any_sides_divisible_by_16_and_any_channels(name, shape):
    check(name, shape)


@pytest.mark.parametrize("name", DENSE)
@pytest.mark.parametrize("shape", [(2,), (7,), (1, 28, 28), (3, 10, 14)])
def test_dense_networks_take_any_shape(name, shape):
    check(name, shape)


@pytest.mark.parametrize("name", ANY_SIDE)
@pytest.mark.parametrize("shape", [(1, 5, 9), (3, 33, 50), (4, 40, 17)])
def test_other_networks_take_any_side(name, shape):
    check(name, shape)


@pytest.mark.parametrize("shape", [(1, 7), (3, 100), (50,)])
def test_signals_of_any_length(shape):
    check("conv1d", shape)


def test_a_broadcast_decoder_tells_pixels_apart_by_their_places_alone():
    decoder = networks.broadcast((1, 6, 8), 4, 2, channels=8).decoder
    seen = decoder[0](torch.tensor([[0.5, -2.0]]))
    assert seen.shape == (1, 4, 6, 8)
    assert (seen[0, 0] == 0.5).all()
    assert (seen[0, 1] == -2).all()
    torch.testing.assert_close(seen[0, 2, :, 3], torch.linspace(-1, 1, 6))
    torch.testing.assert_close(seen[0, 3, 2], torch.linspace(-1, 1, 8))


def check(name: str, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    make = public_functions(networks)[name]
    twice = (2 * shape[0], *shape[1:])
    for outputs in (None, twice):
        encoder, decoder = make(shape, 11, 5, outputs=outputs)
        x, z = torch.rand(3, *shape), torch.randn(3, 5)
        assert encoder(x).shape == (3, 11)
        assert decoder(z).shape == (3, *(outputs or shape))
        encoder.eval()
        decoder.eval()
        assert encoder(x[:1]).shape == (1, 11)
        torch.testing.assert_close(decoder(z)[:1], decoder(z[:1]))


@pytest.mark.parametrize("name", CONVOLUTIONAL)
@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 64, 60), (5,)])
def test_other_sizes_get_a_sentence(name, shape):
    with pytest.raises(
        DistaffError, match=f"{name} networks need images with sides divisible by 16"
    ) as error:
        public_functions(networks)[name](shape, 4, 2)
    assert "--network mlp" in str(error.value)
