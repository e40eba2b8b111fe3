"""log p(x) on a linear-Gaussian model, where it is known."""

import pytest
import torch
from torch import nn

from distaff.errors import DistaffError
from distaff.models.networks import Networks
from distaff.models.vae import VAE
from distaff.objectives.evidence import Evidence, iwae_bound
from tests.objectives import worlds


def linear_gaussian(dims: int, shift: float = 0.5) -> tuple[VAE, torch.Tensor]:
    """p(x|z) = N(Wz + b, I); the encoder has the posterior's means, but for a shift, and its variances."""
    torch.manual_seed(0)
    encoder, decoder = nn.Linear(5, 2 * dims), nn.Linear(dims, 5)
    nn.init.normal_(decoder.weight, std=0.7)
    with torch.no_grad():
        w, b = decoder.weight, decoder.bias
        cov = torch.linalg.inv(torch.eye(dims) + w.T @ w)
        encoder.weight[:dims], encoder.weight[dims:] = cov @ w.T, 0
        encoder.bias[:dims], encoder.bias[dims:] = shift - cov @ w.T @ b, cov.diagonal().log()
    model = VAE(Networks(encoder, decoder), worlds.space(dims), likelihood=worlds.UnitGaussian).double()
    x = model.decode(model.prior.sample(30, torch.zeros(1).double())).mean.detach()
    return model, x + torch.randn_like(x)


def exact(model: VAE, x: torch.Tensor) -> torch.Tensor:
    w, b = model.decoder.weight, model.decoder.bias
    cov = w @ w.T + torch.eye(5).double()
    return torch.distributions.MultivariateNormal(b, cov).log_prob(x).detach()


def test_the_bound_grows_with_particles_and_reaches_log_p_x():
    model, x = linear_gaussian(3)
    torch.manual_seed(1)
    means = [
        float(torch.stack([iwae_bound(model, x, k, block=7) for _ in range(4)]).mean()) for k in (1, 10, 100)
    ]
    truth = float(exact(model, x).mean())
    assert means[0] + 0.2 < means[1] < means[2] < truth + 0.02
    torch.testing.assert_close(iwae_bound(model, x, 20_000, 2000), exact(model, x), rtol=0, atol=0.1)


def test_with_the_true_posterior_any_number_of_particles_in_any_blocks_gives_log_p_x():
    model, x = linear_gaussian(1, shift=0.0)
    for particles, block in ((1, 500), (7, 3), (10, 5)):
        found = iwae_bound(model, x, particles, block)
        torch.testing.assert_close(found, exact(model, x), rtol=1e-5, atol=1e-5)


def test_a_grid_is_exact_for_a_single_latent():
    model, x = linear_gaussian(1)
    torch.testing.assert_close(Evidence("grid", 400)(model, x), exact(model, x), rtol=1e-6, atol=1e-6)
    with pytest.raises(DistaffError, match="single latent"):
        Evidence("grid", 400)(linear_gaussian(2)[0], x)


def test_the_gradient_is_that_of_log_p_x_and_never_reaches_the_encoder():
    model, x = linear_gaussian(1)
    weight = model.decoder.weight
    cov = weight @ weight.T + torch.eye(5).double()
    truth = torch.distributions.MultivariateNormal(model.decoder.bias, cov).log_prob(x).mean()
    (expected,) = torch.autograd.grad(truth, weight)
    torch.manual_seed(0)
    for evidence, tolerance in ((Evidence("grid", 300), 1e-6), (Evidence("iwae", 5000), 0.03)):
        value = evidence(model, x).mean()
        (found,) = torch.autograd.grad(value, weight, retain_graph=True)
        torch.testing.assert_close(found, expected, rtol=0, atol=tolerance)
        unused = torch.autograd.grad(value, list(model.encoder.parameters()), allow_unused=True)
        assert unused == (None, None)


def test_the_text_form():
    assert str(Evidence.parse("iwae:64")) == "iwae:64"
    for wrong in ("iwae", "grid:x", "exact:3", "iwae:1"):
        with pytest.raises(DistaffError, match="neither iwae:K nor grid:K"):
            Evidence.parse(wrong)
