"""Densities against torch.distributions, all pairs against the broadcast form, and gradients at the edges."""

import pytest
import torch
from torch.distributions import Normal, RelaxedBernoulli, RelaxedOneHotCategorical
from torch.nn import functional as F

from distaff.mixtures.pairs import log_pairs
from distaff.models.groups import GaussianPosterior
from distaff.models.latents import LatentSpace
from distaff.models.relaxed import BernoulliPosterior, ConcretePosterior, to_simplex, to_unit

MIXED = LatentSpace.parse("style=gaussian:3,digit=concrete:4,smile=bernoulli:2,size=gaussian:2")


def posterior(count: int = 6, temperature: float = 0.66, scale: float = 1.0, dtype=torch.float64):
    torch.manual_seed(0)
    return MIXED.posterior(scale * torch.randn(count, MIXED.parameters, dtype=dtype), temperature)


def test_gaussian_density_is_the_normal_one():
    part = posterior().parts["style"]
    z = part.rsample()
    torch.testing.assert_close(part.log_prob_dims(z), Normal(part.mu, (0.5 * part.logvar).exp()).log_prob(z))


@pytest.mark.parametrize("temperature", [0.1, 0.66, 2.0])
def test_concrete_density_is_the_relaxed_one_hot_one(temperature):
    """Of u = log z and with respect to the log-ratios, dz = ∏_c z_c du: Σ_c log z_c more."""
    part = posterior(temperature=temperature).parts["digit"]
    z = torch.rand(6, 4, dtype=torch.float64).add(0.05)
    z = z / z.sum(1, keepdim=True)
    tau = torch.tensor(temperature, dtype=torch.float64)
    expected = RelaxedOneHotCategorical(tau, logits=part.logits).log_prob(z) + z.log().sum(1)
    torch.testing.assert_close(part.log_prob_dims(z.log()), expected[:, None])


@pytest.mark.parametrize("temperature", [0.1, 0.66, 2.0])
def test_bernoulli_density_is_the_relaxed_one(temperature):
    """Of u = log z/(1 − z): dz = z (1 − z) du."""
    part = posterior(temperature=temperature).parts["smile"]
    z = torch.rand(6, 2, dtype=torch.float64).clamp(0.01, 0.99)
    tau = torch.tensor(temperature, dtype=torch.float64)
    expected = RelaxedBernoulli(tau, logits=part.logits).log_prob(z) + z.log() + (1 - z).log()
    torch.testing.assert_close(part.log_prob_dims(z.logit()), expected)


def test_two_classes_of_a_concrete_variable_are_a_bit():
    logit, z = torch.tensor([[0.7]], dtype=torch.float64), torch.tensor([[0.3]], dtype=torch.float64)
    bit = BernoulliPosterior(logit, 0.5).log_prob_dims(z.logit())
    two = ConcretePosterior(torch.cat([torch.zeros_like(logit), logit], 1), 0.5)
    torch.testing.assert_close(two.log_prob_dims(torch.cat([1 - z, z], 1).log()), bit)


@pytest.mark.parametrize("temperature", [0.3, 1.0])
def test_samples_have_the_density_they_are_given(temperature):
    """A histogram of relaxed samples against the integral of the density over each bin."""
    torch.manual_seed(0)
    logits = torch.tensor([[0.8, -0.4]], dtype=torch.float64)
    edges = torch.linspace(0, 1, 11, dtype=torch.float64)
    logit = torch.linspace(-30, 30, 20_001, dtype=torch.float64)[:, None]
    concrete = ConcretePosterior(logits, temperature)
    bit = BernoulliPosterior(logits[:, :1], temperature)
    densities = {
        "concrete": (concrete, to_simplex, F.logsigmoid(torch.cat([logit, -logit], 1))),
        "bit": (bit, to_unit, logit),
    }
    for part, to_z, u in densities.values():
        weights = part.log_prob_dims(u)[:, 0].exp() * (logit[1] - logit[0])
        mass = torch.histogram(to_z(u)[:, 0], edges, weight=weights).hist
        torch.testing.assert_close(mass.sum(), torch.ones_like(mass[0]), atol=1e-3, rtol=0)
        drawn = to_z(part.map(lambda t: t.expand(200_000, -1)).rsample())[:, 0]
        shares = torch.histogram(drawn, edges).hist / len(drawn)
        torch.testing.assert_close(shares, mass, atol=4e-3, rtol=0)


def test_pairs_are_the_broadcast_form_and_their_diagonal_the_density():
    q = posterior()
    z = q.rsample()
    pairs = log_pairs(q.paired_with(z))
    assert pairs.shape == (MIXED.dims, 6, 6)
    torch.testing.assert_close(pairs, q.log_prob_dims(z[:, None]).permute(2, 0, 1))
    torch.testing.assert_close(pairs.diagonal(dim1=1, dim2=2).T, q.log_prob_dims(z))
    torch.testing.assert_close(q.log_prob_dims(z).sum(-1), q.log_prob(z))


def test_fewer_samples_than_posteriors_and_gradients_of_pairs():
    q = posterior()
    z = q.rsample()[:2].requires_grad_()
    assert log_pairs(q.paired_with(z)).shape == (MIXED.dims, 2, 6)
    (ours,) = torch.autograd.grad(log_pairs(q.paired_with(z)).sum(), z)
    (theirs,) = torch.autograd.grad(q.log_prob_dims(z[:, None]).sum(), z)
    torch.testing.assert_close(ours, theirs)


def test_pairs_stay_exact_in_single_precision_for_narrow_posteriors_far_from_zero():
    torch.manual_seed(0)
    mu = 100 + torch.randn(64, 3)
    part = GaussianPosterior(mu, torch.full_like(mu, -7.0))
    z = part.rsample()
    exact = part.map(torch.Tensor.double).log_prob_dims(z.double())
    torch.testing.assert_close(
        part.log_prob_pairs(z).diagonal(dim1=1, dim2=2).T.double(), exact, atol=5e-3, rtol=0
    )


def test_pairs_are_computed_in_single_precision_under_autocast():
    q = posterior(dtype=torch.float32)
    z = q.rsample()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        pairs = log_pairs(q.paired_with(z))
    torch.testing.assert_close(pairs, log_pairs(q.paired_with(z)))


def test_half_precision_outputs_give_single_precision_posteriors():
    q = MIXED.posterior(torch.randn(2, MIXED.parameters, dtype=torch.bfloat16))
    assert q.rsample().dtype == torch.float32


def test_map_applies_to_every_parameter():
    q = posterior()
    z = q.rsample()
    rows = torch.tensor([4, 1])
    torch.testing.assert_close(q.map(lambda t: t[rows]).log_prob(z[rows]), q.log_prob(z)[rows])


@pytest.mark.parametrize("temperature", [0.05, 0.66])
@pytest.mark.parametrize("scale", [1.0, 50.0])
def test_densities_and_gradients_stay_finite(temperature, scale):
    torch.manual_seed(0)
    space = LatentSpace.parse("digit=concrete:4,smile=bernoulli:2")
    parameters = (scale * torch.randn(2000, space.parameters)).requires_grad_()
    q = space.posterior(parameters, temperature)
    u = q.rsample()
    z = space.squash(u)
    assert z.min() > torch.finfo(z.dtype).tiny
    assert z.max() <= 1
    total = q.log_prob(u).sum() + log_pairs(q.paired_with(u[:20])).sum() + z.sum()
    (gradient,) = torch.autograd.grad(total, parameters)
    assert torch.isfinite(total)
    assert torch.isfinite(gradient).all()


@pytest.mark.parametrize("kind", [ConcretePosterior, BernoulliPosterior])
def test_a_saturated_sample_pulls_its_logits_back_towards_the_prior(kind):
    """Were its gradient cut off, log q − log p would push confident logits further out."""
    torch.manual_seed(0)
    logits = torch.tensor([[40.0, -40.0]]).expand(500, -1).clone().requires_grad_()
    q, p = kind(logits, 0.2), kind(torch.zeros(500, 2), 0.2)
    z = q.rsample()
    (q.log_prob_dims(z) - p.log_prob_dims(z)).sum().backward()
    assert (logits.grad[:, 0] > 0.1).all()
    assert (logits.grad[:, 1] < -0.1).all()


def test_the_mode_is_hard():
    q = posterior()
    z = q.mode()
    torch.testing.assert_close(z[:, :3], q.parts["style"].mu)
    digit = z[:, 3:7]
    assert torch.equal(digit.sum(1), torch.ones(6, dtype=torch.float64))
    assert torch.equal(digit.argmax(1), q.parts["digit"].logits.argmax(1))
    assert torch.equal(z[:, 7:9], (q.parts["smile"].probabilities > 0.5).double())
    assert torch.equal(MIXED.hard(z), z)


@pytest.mark.parametrize("temperature", [0.1, 0.66, 1.5, 8.0])
def test_pairs_of_saturated_classes_do_not_underflow(temperature):
    """Logits so far apart that products of the two factors span all that samples can."""
    q = ConcretePosterior(torch.randn(40, 6, generator=torch.Generator().manual_seed(0)) * 80, temperature)
    z = q.rsample()
    wide = ConcretePosterior(q.logits.double(), temperature)
    reference = wide.log_prob_dims(z.double()[:, None]).permute(2, 0, 1)
    torch.testing.assert_close(q.log_prob_pairs(z).double(), reference, rtol=1e-5, atol=1e-3)


def test_pairs_stay_finite_beyond_what_float64_holds():
    """Two classes 2,000 nats apart, each under the other's posterior: the product of the factors is 0."""
    logits = torch.tensor([[0.0, -2000.0], [-2000.0, 0.0]], requires_grad=True)
    pairs = ConcretePosterior(logits, 0.5).log_prob_pairs(ConcretePosterior(logits, 0.5).rsample())
    (gradient,) = torch.autograd.grad(pairs.sum(), logits)
    assert torch.isfinite(pairs).all()
    assert torch.isfinite(gradient).all()
