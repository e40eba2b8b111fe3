"""Relaxed variables at any confidence: logits up to ±50, temperatures from 0.1 to 1.

The KL of two relaxed densities and the evidence of a model whose decoder sees only the classes are known
without sampling; ``hypothesis`` looks for logits and temperatures at which samples disagree.
"""

import math

import numpy as np
import pytest
import scipy.special
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from torch import Tensor, nn

from distaff.models.groups import Posterior
from distaff.models.latents import LatentSpace
from distaff.models.likelihoods import UnitGaussian
from distaff.models.networks.halving import Networks
from distaff.models.vae import VAE
from distaff.objectives.evidence import iwae_bound
from distaff.objectives.step import Step
from distaff.objectives.terms import kl, sampled_kl

COUNT = 5_000
LOGIT = st.floats(-50, 50, width=32)
TEMPERATURE = st.floats(0.1, 1)
EXAMPLES = settings(max_examples=25, deadline=None, derandomize=True)


def kl_of_bits(a: float, b: float) -> float:
    """KL of two logistic densities by quadrature; u = (logit + noise)/τ scales both alike."""

    def integrand(v: float) -> float:
        log_q, log_p = (-abs(v - c) - 2 * math.log1p(math.exp(-abs(v - c))) for c in (a, b))
        return math.exp(log_q) * (log_q - log_p)

    return quad(integrand, a - 40, a + 40, points=sorted({a, min(max(b, a - 40), a + 40)}), limit=200)[0]


def kl_of_classes(a: np.ndarray, b: np.ndarray) -> float:
    """KL of two Concrete densities: Σ(a − b) + k (E log Σ_c w_c E_c − ψ(k)), w = exp(b − a), E_c ~ Exp(1).

    log q − log p = Σ(a − b) − k [log Σ e^(a−τu) − log Σ e^(b−τu)] with τu = a + g − const, e^−g = E; the
    expectations are E log S = ∫_0^∞ (e^−t − E e^−tS)/t dt with E e^−tS = ∏_c 1/(1 + w_c t), in t = e^v.
    """

    def log_of_sum(w: np.ndarray) -> float:
        scale = float(w.max())
        v = np.linspace(-120, 120, 48_001)
        laplace = np.exp(-np.logaddexp(0, np.log(w / scale)[:, None] + v).sum(0))
        return math.log(scale) + float(np.trapezoid(np.exp(-np.exp(np.minimum(v, 50))) - laplace, v))

    k = len(a)
    return float((a - b).sum()) + k * (log_of_sum(np.exp(b - a)) - log_of_sum(np.ones(k)))


def samples_of(latents: str, logits: Tensor, tau: float) -> tuple[VAE, Posterior, Tensor]:
    """A model with equal classes, one posterior many times over, and its samples u."""
    space = LatentSpace.parse(latents)
    model = VAE(Networks(nn.Identity(), nn.Linear(space.width, 1)), space)
    model.temperature = tau
    posterior = space.posterior(logits.expand(COUNT, -1), tau)
    torch.manual_seed(0)
    return model, posterior, posterior.rsample()


def sampled(latents: str, logits: Tensor, tau: float) -> tuple[float, float, Step]:
    """The mean of log q(u|x) − log p(u), its standard error, and the step it came from."""
    model, posterior, u = samples_of(latents, logits, tau)
    step = Step(model, model.output(logits.expand(COUNT, -1), posterior, u), 0, COUNT)
    differences = (step.log_qz_x - step.log_pz).double()
    return float(differences.mean()), float(differences.std()) / math.sqrt(COUNT), step


@given(LOGIT, TEMPERATURE)
@EXAMPLES
def test_the_sampled_kl_of_bits_is_the_closed_one(logit, tau):
    mean, error, step = sampled("b=bernoulli:1", torch.tensor([logit]), tau)
    truth = kl_of_bits(logit, 0.0)
    assert mean == pytest.approx(truth, abs=5 * error + 1e-4)
    assert float(kl(step)) == pytest.approx(truth, rel=1e-5, abs=1e-5)
    assert float(sampled_kl(step)) == pytest.approx(mean, abs=1e-3)
    assert mean > -5 * error - 1e-6


@given(st.lists(LOGIT, min_size=2, max_size=6), TEMPERATURE)
@EXAMPLES
def test_the_sampled_kl_of_classes_is_the_closed_one(logits, tau):
    mean, error, step = sampled(f"d=concrete:{len(logits)}", torch.tensor(logits), tau)
    truth = kl_of_classes(np.array(logits), np.zeros(len(logits)))
    assert mean == pytest.approx(truth, abs=5 * error + 1e-3)
    assert float(kl(step)) == pytest.approx(mean, abs=1e-3)
    assert mean > -5 * error - 1e-4


@given(st.lists(LOGIT, min_size=2, max_size=6), TEMPERATURE)
@EXAMPLES
def test_the_sampled_kl_of_a_rounded_latent_is_that_of_its_classes(logits, tau):
    mean, error, step = sampled(f"d=rounded:{len(logits)}", torch.tensor(logits), tau)
    q = np.exp(np.array(logits) - np.logaddexp.reduce(logits))
    truth = float(scipy.special.rel_entr(q, 1 / len(q)).sum())
    # Unlikely classes that no sample met are not in the mean.
    assert mean == pytest.approx(truth, abs=5 * error + 60 * 5 / COUNT)
    assert float(kl(step)) == pytest.approx(mean, abs=1e-3)


@pytest.mark.parametrize("tau", [0.2, 0.66])
def test_a_rounded_latent_has_the_probability_of_the_nearest_class(tau):
    logits = torch.tensor([[0.0, 1.0, -2.0], [3.0, 3.0, 0.0]])
    posterior = LatentSpace.parse("d=rounded:3").posterior(logits, tau)
    ((part, u),) = posterior.paired_with(torch.tensor([[-0.1, -2, -4], [-9, -1, -2], [-1.1, -1.2, -1.0]]))
    pairs = part.log_prob_pairs(u)[0]
    torch.testing.assert_close(pairs.exp(), logits.softmax(1).T)
    torch.testing.assert_close(posterior.log_prob_dims(u[:, None])[..., 0], pairs)


def test_what_a_rounded_latent_knows_pulls_at_nothing():
    """E ∇ log q(c|x) = ∇ Σ_c q(c|x) = 0, and E ∇ log q(c) likewise: I(x; c) and KL have no gradient."""
    logits = torch.tensor([[0.0, 1.0, -2.0], [3.0, 2.0, 0.0]], requires_grad=True)
    posterior = LatentSpace.parse("d=rounded:3").posterior(logits, 0.66)
    ((part, corners),) = posterior.paired_with(torch.eye(3, requires_grad=True))
    known = part.log_prob_pairs(corners)[0]
    for log_q in (known, known.exp().mean(1).log()):
        mean = (log_q.detach().exp() * log_q).sum()
        (gradient,) = torch.autograd.grad(mean, logits, retain_graph=True)
        assert gradient.abs().max() < 1e-6


def test_what_a_relaxed_latent_knows_pulls_it_back():
    logits = torch.tensor([3.0, 0.0, 0.0], requires_grad=True)
    model, posterior, u = samples_of("d=concrete:3", logits, 0.66)
    model.prior.kl(posterior, u).mean().backward()
    assert logits.grad is not None
    assert logits.grad[0] > 0.1


def test_the_oracles_agree_where_two_classes_are_a_bit():
    for logit in (0.0, 0.7, -20.0, 50.0):
        assert kl_of_classes(np.array([logit, 0.0]), np.zeros(2)) == pytest.approx(
            kl_of_bits(logit, 0.0), abs=1e-6
        )


class Says(nn.Module):
    """An encoder that says the same of every x."""

    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits = logits

    def forward(self, x: Tensor) -> Tensor:
        return self.logits.expand(len(x), -1)


class SeesClasses(nn.Module):
    """A decoder of the nearest class, or of the nearest setting of two bits: one mean for each of four."""

    def __init__(self, latents: LatentSpace, means: Tensor) -> None:
        super().__init__()
        self.latents, self.means = latents, means

    def forward(self, z: Tensor) -> Tensor:
        hard = self.latents.hard(z)
        which = hard.argmax(1) if hard.shape[1] == 4 else (hard @ torch.tensor([2.0, 1.0])).long()
        return self.means[which, None]


@pytest.mark.parametrize("latents", ["d=concrete:4", "b=bernoulli:2"])
@given(logits=st.lists(LOGIT, min_size=4, max_size=4), tau=TEMPERATURE)
@EXAMPLES
def test_the_importance_weighted_bound_stays_below_log_p_x(latents, logits, tau):
    """The nearest classes of relaxed samples have unrelaxed probabilities: p(x) is a sum over four."""
    space, means = LatentSpace.parse(latents), torch.tensor([-1.0, 0.0, 0.5, 2.0])
    networks = Networks(Says(torch.tensor(logits[: space.parameters])), SeesClasses(space, means))
    model = VAE(networks, space, likelihood=UnitGaussian.read)
    model.temperature = tau
    log_px = float(torch.distributions.Normal(means, 1.0).log_prob(torch.tensor(1.0)).exp().mean().log())
    torch.manual_seed(0)
    found = iwae_bound(model, torch.ones(400, 1), particles=50)
    assert float(found.mean()) <= log_px + 4 * float(found.std()) / math.sqrt(len(found)) + 1e-4


@pytest.mark.parametrize("latents", ["d=concrete:4", "b=bernoulli:2"])
def test_the_bound_reaches_log_p_x_where_the_posterior_is_the_prior(latents):
    space, means = LatentSpace.parse(latents), torch.tensor([-1.0, 0.0, 0.5, 2.0])
    networks = Networks(Says(torch.zeros(space.parameters)), SeesClasses(space, means))
    model = VAE(networks, space, likelihood=UnitGaussian.read)
    log_px = float(torch.distributions.Normal(means, 1.0).log_prob(torch.tensor(1.0)).exp().mean().log())
    torch.manual_seed(0)
    assert float(iwae_bound(model, torch.ones(1, 1), 40_000)) == pytest.approx(log_px, abs=0.01)
