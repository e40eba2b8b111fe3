"""Networks by their texts, with arguments, and with what the data set tells them."""

import numpy as np
import pytest
from torch import nn

from distaff.data.arrays import from_array
from distaff.foundation.errors import DistaffError
from distaff.models.by_name import find_network, told_of
from tests import toys

BINARY = toys.tiny_images(64)
GREY = from_array(np.random.default_rng(0).integers(0, 256, (64, 1, 16, 16), np.uint8))
COLOUR = from_array(np.random.default_rng(0).integers(0, 256, (64, 3, 16, 16), np.uint8))


def units(text: str, shape: tuple[int, ...]) -> list[int]:
    """Outputs of the dense layers of the encoder that a text names, but for the last."""
    encoder = find_network(text)(shape, 4, 2).encoder
    return [layer.out_features for layer in encoder.modules() if isinstance(layer, nn.Linear)][:-1]


@pytest.mark.parametrize(
    ("data", "text", "told", "hidden"),
    [
        (BINARY, "kim_mnih", "kim_mnih", 128),
        (GREY, "kim_mnih", "kim_mnih:grey=true", 256),
        (COLOUR, "kim_mnih", "kim_mnih", 256),
        (GREY, "kim_mnih:hidden=64", "kim_mnih:grey=true,hidden=64", 64),
        (GREY, "kim_mnih:grey=false", "kim_mnih:grey=false", 128),
        (GREY, "tests.toys:mlp:hidden=7", "tests.toys:mlp:hidden=7", 7),
    ],
)
def test_data_tell_a_network_whether_they_are_grey(data, text, told, hidden):
    assert told_of(text, data) == told
    assert units(told, data.shape) == [hidden]


def test_a_few_grey_images_among_many_binary_ones_are_seen():
    images = np.zeros((1000, 1, 16, 16), np.float32)
    images[::3] = 0.5
    assert from_array(images).is_grey


def test_arguments_follow_the_name():
    assert units("mlp", (5,)) == [256, 256]
    assert units("mlp:hidden=12,layers=3", (5,)) == [12, 12, 12]
    assert units("tests.toys:mlp", (5,)) == [64]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mpl:hidden=12", "did you mean 'mlp'"),
        ("mlp:hiden=12", "unknown argument of mlp 'hiden': did you mean 'hidden'"),
        ("mlp:width=12", "unknown argument of mlp 'width'"),
        ("mlp:hidden=wide", "hidden of the network mlp must be a whole number above 0, not 'wide'"),
        ("mlp:hidden=0", "must be a whole number above 0, not 0"),
        ("mlp:hidden=true", "must be a whole number above 0, not True"),
        ("mlp:layers=2.5", "must be a whole number above 0, not 2.5"),
        ("kim_mnih:grey=1", "must be true or false, not 1"),
        ("mlp:hidden=12,layers", "so 'layers' is not one"),
        ("mlp:=3", "so '=3' is not one"),
        ("mlp:hidden=[", "so 'hidden=\\[' is not one"),
    ],
)
def test_wrong_arguments_get_a_sentence(text, message):
    with pytest.raises(DistaffError, match=message) as error:
        find_network(text)
    assert "\n" not in str(error.value)
