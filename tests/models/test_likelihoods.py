import pytest
import torch
from torch.distributions import Normal

from distaff.foundation.errors import DistaffError
from distaff.models.likelihoods import (
    Bernoulli,
    Gaussian,
    UnitGaussian,
    find_likelihood,
    likelihood_for,
)


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
