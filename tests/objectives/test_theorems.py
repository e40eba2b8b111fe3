"""The theorems of Mathieu et al. 2019 about β-VAE, on our own losses."""

import math

import pytest
import torch
from torch import nn

from distaff.models.groups import GaussianPosterior, Posterior
from distaff.models.networks.halving import Networks
from distaff.models.vae import VAE, Prior
from distaff.objectives import recipes
from distaff.objectives.step import Step
from distaff.objectives.terms import nll
from tests.objectives import worlds

DIMS = 3


class Linear(nn.Module):
    """A decoder z ↦ W z with nothing else, so that its weights can be given."""

    def __init__(self, weight: torch.Tensor) -> None:
        super().__init__()
        self.weight = weight

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return z @ self.weight.T


def step_at(mu, logvar, weight, x, noise):
    """A step with posteriors N(mu, exp(logvar)), decoder W z, and given noise."""
    model = VAE(Networks(nn.Identity(), Linear(weight)), worlds.space(DIMS), likelihood=worlds.UnitGaussian)
    posterior = Posterior({"g0": GaussianPosterior(mu, logvar)})
    z = mu + (0.5 * logvar).exp() * noise
    return Step(model, model.output(x, posterior, z), 0, len(x))


@pytest.fixture
def setting():
    torch.manual_seed(0)
    mu, logvar = torch.randn(20, DIMS).double(), torch.randn(20, DIMS).double() - 1
    return mu, logvar, torch.randn(5, DIMS).double(), torch.randn(20, 5).double(), torch.randn_like(mu)


def log_annealed_constant(beta: float) -> float:
    """log F_β = log ∫ p(z)^β dz by quadrature of the prior itself."""
    grid = torch.linspace(-12, 12, 20_001).double()[:, None]
    log_p = Prior.standard(worlds.space(1)).log_prob(grid)
    return DIMS * math.log(float(torch.trapezoid((beta * log_p).exp(), grid[:, 0])))


@pytest.mark.parametrize("beta", [0.5, 1.0, 4.0])
def test_theorem_1_beta_vae_is_an_elbo_with_an_annealed_prior_and_an_entropy(setting, beta):
    s = step_at(*setting)
    q = torch.distributions.Normal(setting[0], (0.5 * setting[1]).exp())
    annealed = torch.distributions.Normal(torch.zeros(DIMS).double(), 1 / math.sqrt(beta))
    elbo = -nll(s) - torch.distributions.kl_divergence(q, annealed).sum(1).mean()
    entropy = q.entropy().sum(1).mean()
    expected = elbo + (beta - 1) * entropy + log_annealed_constant(beta)
    torch.testing.assert_close(-recipes.beta_vae(beta)(s)["loss"], expected, rtol=1e-6, atol=1e-6)


def rescaled(beta, mu, logvar, weight, x, noise):
    root = math.sqrt(beta)
    return root * mu, logvar + math.log(beta), weight / root, x, noise


@pytest.mark.parametrize("beta", [0.5, 4.0])
def test_corollary_1_max_entropy_is_beta_vae_with_rescaled_networks(setting, beta):
    ours = recipes.beta_vae(beta)(step_at(*setting))["loss"]
    theirs = recipes.max_entropy_vae(beta)(step_at(*rescaled(beta, *setting)))["loss"]
    constant = DIMS * (beta - 1) / 2 * (1 + math.log(2 * math.pi / beta)) + log_annealed_constant(beta)
    torch.testing.assert_close(-ours, -theirs + constant, rtol=1e-6, atol=1e-6)


def test_corollary_2_stationary_points_are_shared(setting):
    """Descend β-VAE to a stationary point; rescaled, it is one of Eq. 5, and other points are not."""
    beta = 4.0
    mu, logvar, weight, x, noise = setting
    parameters = [v.clone().requires_grad_() for v in (mu, logvar, weight)]
    descent = torch.optim.LBFGS(
        parameters,
        max_iter=1000,
        history_size=50,
        tolerance_grad=1e-9,
        tolerance_change=0,
        line_search_fn="strong_wolfe",
    )

    def loss():
        descent.zero_grad()
        value = recipes.beta_vae(beta)(step_at(*parameters, x, noise))["loss"]
        value.backward()
        return value

    def gradient_of_eq_5(*at):
        moved = [v.detach().requires_grad_() for v in rescaled(beta, *at, x, noise)[:3]]
        value = recipes.max_entropy_vae(beta)(step_at(*moved, x, noise))["loss"]
        return max(float(g.abs().max()) for g in torch.autograd.grad(value, moved))

    before = gradient_of_eq_5(*parameters)
    descent.step(loss)
    assert gradient_of_eq_5(*parameters) < 1e-6 < before


class Anisotropic(Prior):
    def log_prob(self, z):
        scales = torch.tensor([2.0, 1.0, 0.5]).double()
        return torch.distributions.Normal(0.0, scales).log_prob(z).sum(-1)


class StudentT(Prior):
    def log_prob(self, z):
        return torch.distributions.StudentT(torch.tensor(3.0).double()).log_prob(z).sum(-1)


@pytest.mark.parametrize(("kind", "invariant"), [(Prior, True), (Anisotropic, False), (StudentT, False)])
def test_theorem_2_rotations_leave_beta_vae_alone_under_an_isotropic_prior_only(setting, kind, invariant):
    """Posteriors N(Rμ, RSRᵀ) and decoder p(x|Rᵀz), the KL sampled at Rz."""
    beta = 4.0
    mu, logvar, weight, x, noise = setting
    prior = kind(Prior.standard(worlds.space(DIMS)).groups)
    rotation = torch.linalg.qr(torch.randn(DIMS, DIMS).double()).Q
    z = mu + (0.5 * logvar).exp() * noise

    def loss(z, mu, cov, weight):
        log_q = torch.distributions.MultivariateNormal(mu, cov).log_prob(z)
        log_px_z = worlds.UnitGaussian(Linear(weight)(z)).log_prob(x)
        return (-log_px_z + beta * (log_q - prior.log_prob(z))).mean()

    cov = torch.diag_embed(logvar.exp())
    plain = loss(z, mu, cov, weight)
    rotated = loss(z @ rotation.T, mu @ rotation.T, rotation @ cov @ rotation.T, weight @ rotation.T)
    if invariant:
        s = step_at(*setting)
        sampled = nll(s) + beta * (s.log_qz_x - s.log_pz).mean()
        torch.testing.assert_close(plain, sampled)
        torch.testing.assert_close(rotated, plain)
    else:
        assert abs(float(rotated - plain)) > 0.05
