"""log p(x) on a linear-Gaussian model, where it is known."""

import itertools
import math

import pytest
import torch
from torch import nn

from distaff.foundation.errors import DistaffError
from distaff.models.latent_kinds import Concrete
from distaff.models.latents import LatentSpace
from distaff.models.networks.halving import Networks
from distaff.models.priors.parsing import parse_prior
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


def discrete(latents: str, prior: str = "learned_classes") -> tuple[VAE, torch.Tensor]:
    """p(x|z) = N(Wz + b, I) of any latents, with classes of unequal probabilities."""
    torch.manual_seed(0)
    space = LatentSpace.parse(latents)
    networks = Networks(nn.Linear(5, space.parameters), nn.Linear(space.width, 5))
    model = VAE(networks, space, parse_prior(prior, space), worlds.UnitGaussian).double()
    for parameter in model.prior.parameters():
        nn.init.normal_(parameter)
    return model, torch.randn(7, 5).double()


def test_discrete_latents_are_summed_over_their_classes():
    """log Σ_c p(c) N(x; W e_c + b, I) and, for two bits, over their four combinations, by hand."""
    model, x = discrete("c=concrete:3")
    (prior,) = model.prior.parts
    w, b = model.decoder.weight, model.decoder.bias
    each = [torch.distributions.Normal(w[:, c] + b, 1).log_prob(x).sum(1) for c in range(3)]
    expected = (torch.stack(each, 1) + prior.logits.log_softmax(0)).logsumexp(1)
    torch.testing.assert_close(Evidence("grid", 2)(model, x), expected)

    model, x = discrete("b=bernoulli:2")
    (prior,) = model.prior.parts
    w, b, p = model.decoder.weight, model.decoder.bias, prior.logits.sigmoid()
    total = 0.0
    for first, second in itertools.product((0, 1), (0, 1)):
        chance = (p[0] if first else 1 - p[0]) * (p[1] if second else 1 - p[1])
        mean = first * w[:, 0] + second * w[:, 1] + b
        total = total + chance * torch.distributions.Normal(mean, 1).log_prob(x).sum(1).exp()
    torch.testing.assert_close(Evidence("grid", 2)(model, x), total.log())


def test_a_real_latent_beside_discrete_ones_is_integrated_for_each_of_their_classes():
    """Given the class, x is Gaussian: N(W_c + b, W_z W_zᵀ + I)."""
    model, x = discrete("z=gaussian:1,b=bernoulli:1,c=concrete:3", "normal")
    w, b = model.decoder.weight, model.decoder.bias
    cov = w[:, :1] @ w[:, :1].T + torch.eye(5).double()
    each = [
        torch.distributions.MultivariateNormal(bit * w[:, 1] + w[:, 2 + c] + b, cov).log_prob(x)
        for bit, c in itertools.product((0, 1), range(3))
    ]
    expected = torch.stack(each, 1).logsumexp(1) - math.log(6)
    torch.testing.assert_close(Evidence("grid", 400)(model, x), expected, rtol=1e-6, atol=1e-6)


def test_few_sharp_classes_are_what_importance_sampling_finds():
    """At a low temperature relaxed bits are all but at their classes."""
    model, x = discrete("b=bernoulli:1")
    model.temperature = 0.02
    torch.manual_seed(0)
    torch.testing.assert_close(iwae_bound(model, x, 20_000), Evidence("grid", 2)(model, x), rtol=0, atol=0.02)


@pytest.mark.parametrize(
    ("latents", "prior", "points", "message"),
    [
        ("gaussian:2", "normal", 400, "has 2 real latents: use iwae:K"),
        ("gaussian:2,bernoulli:1", "normal", 400, "has 2 real latents"),
        ("bernoulli:11", "normal", 2, "has 2,048 combinations of classes"),
        ("concrete:40,bernoulli:5", "normal", 2, "has 1,280 combinations of classes"),
        ("gaussian:1", "normal", 5, "5 points from -8 to 8 do not hold the prior's mass"),
        ("gaussian:1", "student_t:1", 400, "do not hold the prior's mass"),
        ("concrete:3", "tests.objectives.test_evidence:silent", 2, "does not say its classes' probabilities"),
    ],
)
def test_what_a_grid_cannot_do_is_refused_in_a_sentence(latents, prior, points, message):
    model, x = discrete(latents, prior)
    with pytest.raises(DistaffError, match=message) as error:
        Evidence("grid", points)(model, x)
    assert "\n" not in str(error.value)


def silent(group: Concrete) -> nn.Module:
    """A prior that gives no probabilities of classes."""
    return nn.Identity()


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
