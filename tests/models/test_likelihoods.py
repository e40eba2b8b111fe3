import math

import pytest
import torch
from torch.distributions import Normal

from distaff.foundation.errors import DistaffError
from distaff.models.likelihoods import (
    DiscretisedLogistic,
    Gaussian,
    Laplace,
    NegativeBinomial,
    Poisson,
    UnitGaussian,
    find_likelihood,
)
from distaff.models.vae import Bernoulli, front_of, likelihood_for, outputs_of


@pytest.mark.parametrize("shape", [(3,), (2, 4, 4)])
def test_gaussian_reads_means_then_log_variances(shape):
    torch.manual_seed(0)
    outputs, x = torch.randn(5, 2 * shape[0], *shape[1:]), torch.randn(5, *shape)
    p = Gaussian.read(outputs)
    mean, logvar = outputs[:, : shape[0]], outputs[:, shape[0] :]
    torch.testing.assert_close(p.mean, mean)
    by_torch = Normal(mean, (0.5 * logvar).exp()).log_prob(x).flatten(1).sum(1)
    torch.testing.assert_close(p.log_prob(x), by_torch)


def test_unit_gaussian_reads_means():
    torch.manual_seed(0)
    means, x = torch.randn(5, 2, 4, 4), torch.randn(5, 2, 4, 4)
    p = UnitGaussian.read(means)
    assert torch.equal(p.mean, means)
    torch.testing.assert_close(p.log_prob(x), Normal(means, 1.0).log_prob(x).flatten(1).sum(1))


def test_bernoulli_takes_targets_between_0_and_1():
    logits = torch.tensor([[0.0, 2.0]])
    x = torch.tensor([[0.25, 1.0]])
    p = torch.sigmoid(logits)
    expected = (x * p.log() + (1 - x) * (1 - p).log()).sum(1)
    torch.testing.assert_close(Bernoulli.read(logits).log_prob(x), expected)
    torch.testing.assert_close(Bernoulli.read(logits).mean, p)


def test_choices():
    assert likelihood_for((1, 8, 8)) == "bernoulli"
    assert likelihood_for((2,)) == "gaussian"
    with pytest.raises(DistaffError, match="did you mean 'gaussian'"):
        find_likelihood("gausian")


def outputs(shape: tuple[int, ...], seed: int = 0) -> torch.Tensor:
    return torch.randn(5, *shape, generator=torch.Generator().manual_seed(seed))


def test_laplace_is_that_of_torch():
    numbers, x = outputs((6, 4, 4)), outputs((3, 4, 4), 1)
    p = Laplace.read(numbers)
    by_torch = torch.distributions.Laplace(numbers[:, :3], numbers[:, 3:].exp()).log_prob(x)
    torch.testing.assert_close(p.log_prob(x), by_torch.flatten(1).sum(1))
    assert torch.equal(p.mean, numbers[:, :3])


def test_the_levels_of_a_discretised_logistic_share_all_probability():
    numbers = outputs((2,)).double() * torch.tensor([1.0, 2.0]) - torch.tensor([0.0, 3.0])
    levels = torch.arange(256, dtype=torch.float64) / 255
    p = torch.stack([DiscretisedLogistic.read(numbers).log_prob(x.expand(5, 1)) for x in levels]).exp()
    torch.testing.assert_close(p.sum(0), torch.ones(5, dtype=torch.float64))
    assert (p <= 1).all()


def test_a_discretised_logistic_is_the_difference_of_two_logistic_functions():
    location, log_scale = torch.tensor([[0.4]]).double(), torch.tensor([[-2.0]]).double()
    x = torch.tensor([[100 / 255]]).double()
    edges = [torch.sigmoid((x + side - location) / log_scale.exp()) for side in (0.5 / 255, -0.5 / 255)]
    p = DiscretisedLogistic(location, log_scale)
    torch.testing.assert_close(p.log_prob(x), (edges[0] - edges[1]).log()[:, 0])
    far = DiscretisedLogistic(torch.tensor([[50.0]]), torch.tensor([[-7.0]]))
    assert torch.isfinite(far.log_prob(torch.tensor([[0.5]]))).all()


def test_counts_are_those_of_torch():
    x = torch.poisson(outputs((4,)).exp() * 3)
    numbers = outputs((4,), 2)
    torch.testing.assert_close(
        Poisson.read(numbers).log_prob(x), torch.distributions.Poisson(numbers.exp()).log_prob(x).sum(1)
    )
    numbers = outputs((8,), 3)
    p = NegativeBinomial.read(numbers)
    size, odds = numbers[:, 4:].exp(), numbers[:, :4] - numbers[:, 4:]
    by_torch = torch.distributions.NegativeBinomial(size, logits=odds)
    torch.testing.assert_close(p.log_prob(x), by_torch.log_prob(x).sum(1))
    torch.testing.assert_close(p.mean, by_torch.mean)


@pytest.mark.parametrize("log_size", [-15.0, -2.0, 0.0, 2.7, 2.8, 5.0, 9.0, 12.0, 15.0])
def test_a_negative_binomial_of_any_size_is_right_in_single_precision(log_size):
    """Γ(x+r)/Γ(r) is the product of r, …, r+x−1; differences of log Γ were off by 3 nats at r = e^15."""
    x = torch.tensor([0.0, 1.0, 2.0, 7.0, 40.0, 200.0])
    log_mean = torch.tensor([-3.0, 0.0, 2.0, 3.0, 4.0, 5.0])
    size, mean = math.exp(log_size), log_mean.double().exp()
    ways = torch.tensor([sum(math.log((size + i) / (i + 1)) for i in range(int(n))) for n in x]).double()
    expected = ways - size * torch.log1p(mean / size) - x.double() * torch.log1p(size / mean)
    given = torch.full((1, 6), log_size).requires_grad_()
    p = NegativeBinomial(log_mean[None], given)
    got = p.log_probs(x[None])
    torch.testing.assert_close(got[0].double(), expected, rtol=1e-5, atol=1e-4)

    (slope,) = torch.autograd.grad(got.sum(), given)
    terms = torch.tensor([sum(size / (size + i) - 1 for i in range(int(n))) for n in x]).double()
    expected = terms + x.double() * (mean / (size + mean)) + mean * size / (size + mean)
    expected -= size * torch.log1p(mean / size)
    torch.testing.assert_close(slope[0].double(), expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("log_size", [-3.0, 0.0, 2.7, 2.8, 6.0, 10.0, 15.0])
@pytest.mark.parametrize("scale", [10, 1e3, 1e5, 1e6])
def test_large_counts_are_right_in_single_precision(scale, log_size):
    """Counts near their mean and far from it, and their gradients, against float64."""
    ratios = torch.tensor([1e-6, 0.1, 0.5, 0.99, 1.0, 1.001, 1.5, 4.0])
    log_mean = torch.full((1, len(ratios)), math.log(scale)).requires_grad_()
    x, sizes = (scale * ratios).round()[None], torch.full_like(log_mean, log_size)
    exact = log_mean.detach().double().requires_grad_()
    pairs = [
        (Poisson(log_mean), torch.distributions.Poisson(exact.exp(), validate_args=False)),
        (
            NegativeBinomial(log_mean, sizes),
            torch.distributions.NegativeBinomial(sizes.double().exp(), logits=exact - sizes.double()),
        ),
    ]
    for ours, theirs in pairs:
        found, expected = ours.log_probs(x), theirs.log_prob(x.double())
        torch.testing.assert_close(found.double(), expected, rtol=2e-5, atol=1e-3 + 2e-7 * scale)
        (slope,) = torch.autograd.grad(found.sum(), log_mean)
        (true_slope,) = torch.autograd.grad(expected.sum(), exact)
        torch.testing.assert_close(slope.double(), true_slope, rtol=1e-4, atol=1e-6 * scale)


def test_each_column_has_its_own_likelihood_and_missing_values_add_nothing():
    kind = find_likelihood("by_column:real=2,counts=1,classes=3,missing=true")
    assert outputs_of(kind, (6,)) == (2 + 2 + 3,)
    numbers = outputs((7,))
    x = torch.tensor([[0.5, -1.0, 4.0, 0.0, 1.0, 0.0]]).expand(5, 6).clone()
    p = kind.read(numbers)
    real = Normal(numbers[:, :2], 1.0).log_prob(x[:, :2])
    counts = NegativeBinomial.read(numbers[:, 2:4]).log_prob(x[:, 2:3])
    classes = torch.log_softmax(numbers[:, 4:], 1)[:, 1]
    torch.testing.assert_close(p.log_prob(x), real.sum(1) + counts + classes)
    x[:, 1], x[:, 3:] = torch.nan, torch.nan
    torch.testing.assert_close(p.log_prob(x), real[:, 0] + counts)
    numbers.requires_grad_()
    kind.read(numbers).log_prob(x).sum().backward()
    assert torch.isfinite(numbers.grad).all()
    assert not numbers.grad[:, 1].any()
    assert p.mean.shape == x.shape
    torch.testing.assert_close(p.mean[:, 3:].sum(1), torch.ones(5))
    poisson = find_likelihood("by_column:counts=2,counted=poisson")
    assert outputs_of(poisson, (2,)) == (2,)


def test_encoders_see_logarithms_of_counts_and_which_values_are_missing():
    front = front_of(find_likelihood("by_column:real=1,counts=1,missing=true"))
    seen = front(torch.tensor([[2.0, torch.nan], [-1.0, 7.0]]))
    expected = torch.tensor([[2.0, 0.0, 0.0, 1.0], [-1.0, math.log(8), 0.0, 0.0]])
    torch.testing.assert_close(seen, expected)
    torch.testing.assert_close(
        front_of(find_likelihood("poisson"))(torch.tensor([[7.0]])).exp(), torch.tensor([[8.0]])
    )
    assert front_of(find_likelihood("gaussian")) is None


@pytest.mark.parametrize(
    "text", ["by_column:", "by_column:real=x", "by_column:reals=3", "by_column:real=1,counted=normal"]
)
def test_layouts_that_are_none_are_one_sentence(text):
    with pytest.raises(DistaffError, match="by_column"):
        find_likelihood(text)


def test_the_mean_of_a_discretised_logistic_stays_between_black_and_white():
    locations = torch.tensor([[-0.3, 0.25, 1.4]])
    p = DiscretisedLogistic.read(torch.cat([locations, torch.zeros(1, 3)], 1))
    assert p.mean.tolist() == [[0.0, 0.25, 1.0]]
