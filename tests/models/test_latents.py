import pytest
import torch

from distaff.foundation.errors import DistaffError
from distaff.models.groups import Gaussian
from distaff.models.latent_kinds import KINDS, Bernoulli, Concrete, Uniform
from distaff.models.latents import LatentSpace

TEXT = "digit=concrete:10,style=gaussian:3,smile=bernoulli:2,size=gaussian:1"


def test_groups_are_read_and_written():
    space = LatentSpace.parse(TEXT)
    assert space.groups == {
        "digit": Concrete(10),
        "style": Gaussian(3),
        "smile": Bernoulli(2),
        "size": Gaussian(1),
    }
    assert str(space) == TEXT
    assert LatentSpace.parse("concrete:3").groups == {"concrete": Concrete(3)}


def test_sizes_and_places():
    space = LatentSpace.parse(TEXT)
    assert (space.dims, space.width, space.parameters) == (7, 16, 20)
    assert space.group_dims == {
        "digit": slice(0, 1),
        "style": slice(1, 4),
        "smile": slice(4, 6),
        "size": slice(6, 7),
    }
    assert space.group_columns["smile"] == slice(13, 15)
    assert space.columns[0] == slice(0, 10)
    assert space.columns[1:] == tuple(slice(c, c + 1) for c in range(10, 16))


def test_variables_in_the_order_of_codes_put_the_real_ones_first():
    space = LatentSpace.parse(TEXT)
    assert [v.name for v in space.variables] == ["digit", "z0", "z1", "z2", "smile0", "smile1", "z3"]
    assert [v.name for v in space.coded] == ["z0", "z1", "z2", "z3", "digit", "smile0", "smile1"]
    assert [v.place for v in space.coded] == [1, 2, 3, 6, 0, 4, 5]
    assert [v.classes for v in space.coded] == [0, 0, 0, 0, 10, 2, 2]
    assert space.coded[5].corners.tolist() == [[0], [1]]
    assert space.coded[4].corners.tolist()[2][:4] == [0, 0, 1, 0]


def test_codes_and_noise_of_a_generator():
    text = "digit=concrete:10,style=uniform:2,noise:62"
    space = LatentSpace.parse(text)
    assert space.groups == {"digit": Concrete(10), "style": Uniform(2)}
    assert str(space) == text
    assert LatentSpace.parse("noise:62,digit=concrete:10,style=uniform:2") == space
    assert (space.dims, space.width, space.parameters, space.noise) == (3, 12, 14, 62)
    assert [v.name for v in space.coded] == ["z0", "z1", "digit"]
    assert LatentSpace.parse(3, real=Uniform).groups == {"z": Uniform(3)}


def test_reach_and_deviations_are_those_of_the_priors():
    codes = LatentSpace.parse("digit=concrete:10,style=uniform:2")
    assert codes.reach == 1
    assert codes.deviations == pytest.approx((3**-0.5, 3**-0.5))
    assert LatentSpace.parse(TEXT).reach == 2
    assert LatentSpace.parse(TEXT).deviations == (1, 1, 1, 1)
    assert LatentSpace.parse("digit=concrete:10").reach == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("digit=concret:10", "did you mean 'concrete'"),
        ("digit=concrete", "should read name=kind:size"),
        ("my digit=concrete:3", "should read name=kind:size"),
        ("digit=concrete:1", "at least 2 classes"),
        ("digit=concrete:0", "at least 1"),
        ("digit=concrete:ten", "not a number of latents"),
        ("a=gaussian:2,a=concrete:3", "name 'a' twice"),
        ("style=gaussian:2,z1=concrete:3", "would be called 'z1'"),
        ("a=bernoulli:2,a1=concrete:3", "would be called 'a1'"),
        ("noise:3", "noise alone"),
        ("noise:3,a=uniform:2,noise:4", "name 'noise' twice"),
        ("a=uniform:2,noise:none", "not a number of latents"),
    ],
)
def test_bad_text_is_one_sentence(text, message):
    with pytest.raises(DistaffError, match=message):
        LatentSpace.parse(text)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_draws_what_its_default_prior_says(kind):
    torch.manual_seed(0)
    space = LatentSpace({"one": KINDS[kind](3)})
    drawn = space.draw(4000, torch.zeros(0))
    assert drawn.shape == (4000, space.width)
    if space.deviations:
        torch.testing.assert_close(drawn.std(0), torch.tensor(space.deviations), rtol=0.12, atol=0)
    else:
        assert set(drawn.unique().tolist()) == {0.0, 1.0}
