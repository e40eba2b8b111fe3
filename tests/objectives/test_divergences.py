"""Each divergence against sums over pairs by hand and against closed-form Gaussians."""

import math
from functools import partial

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from distaff.foundation.errors import DistaffError
from distaff.models.groups import Posterior
from distaff.models.latents import LatentSpace
from distaff.models.priors.discrete import Relaxed
from distaff.models.priors.real import Anisotropic, FullCovariance
from distaff.models.relaxed import BernoulliPosterior
from distaff.models.vae import Prior
from distaff.objectives import recipes
from distaff.objectives.densities import batch, weighted
from distaff.objectives.divergences import (
    DIVERGENCES,
    SCALES,
    Divergence,
    exclusive_kl,
    inclusive_kl,
    mmd,
    mmd_by_dimension,
    mmd_joint,
    mmd_of_norms,
    mmd_of_squares,
    mmd_printed,
)
from distaff.objectives.step import Step
from tests.objectives import worlds


def by_dimension(a, b):
    return sum(2 * s / (2 * s + (a_d - b_d) ** 2) for s in SCALES for a_d, b_d in zip(a, b, strict=True))


def of_norms(a, b):
    return sum(2 * s / (2 * s + np.linalg.norm(a - b)) for s in SCALES)


def of_squares(a, b):
    return sum(2 * len(a) * s / (2 * len(a) * s + np.linalg.norm(a - b) ** 2) for s in (*SCALES, 10))


def by_hand(x, y, kernel):
    n, m = len(x), len(y)
    xx = sum(kernel(x[i], x[j]) for i in range(n) for j in range(n) if i != j) / (n * (n - 1))
    yy = sum(kernel(y[i], y[j]) for i in range(m) for j in range(m) if i != j) / (m * (m - 1))
    return xx + yy - 2 * sum(kernel(a, b) for a in x for b in y) / (n * m)


@pytest.mark.parametrize(
    ("ours", "kernel"),
    [(mmd_by_dimension, by_dimension), (mmd_of_norms, of_norms), (mmd_of_squares, of_squares)],
)
@pytest.mark.parametrize("spread", [0.3, 2.0, 300.0])
def test_mmd_is_the_sum_over_pairs(ours, kernel, spread):
    """The widest spread is more than the frequencies of the fast form reach: pairs are summed there."""
    rng = np.random.default_rng(0)
    x, y = spread * rng.normal(size=(30, 3)), rng.normal(size=(26, 3)) + 0.5
    expected = by_hand(x, y, kernel)
    assert float(ours(torch.tensor(x), torch.tensor(y))) == pytest.approx(expected, abs=2e-4)
    single = ours(torch.tensor(x).float(), torch.tensor(y).float())
    assert float(single) == pytest.approx(expected, abs=5e-4)


def test_the_fast_form_has_the_gradient_of_the_pairs():
    torch.manual_seed(0)
    x, y = (2 * torch.randn(40, 3)).double().requires_grad_(), torch.randn(40, 3).double()
    (fast,) = torch.autograd.grad(mmd_by_dimension(x, y), x)
    squares = [(a[:, None] - b).square() for a, b in ((x, x), (y, y), (x, y))]
    xx, yy, xy = (sum(2 * s / (2 * s + v) for s in SCALES).sum() for v in squares)
    (slow,) = torch.autograd.grad((xx + yy) / (40 * 39) - 2 * xy / 1600, x)
    torch.testing.assert_close(fast, slow, rtol=1e-3, atol=1e-5)


def test_coinciding_samples_have_finite_gradients():
    x = torch.zeros(4, 2, requires_grad=True)
    for distance in (mmd_by_dimension, mmd_of_norms, mmd_of_squares):
        (gradient,) = torch.autograd.grad(distance(x, torch.zeros(4, 2)), x)
        assert gradient.isfinite().all()


@pytest.mark.parametrize(("mean", "scale"), [(0.0, 1.0), (1.0, 1.0), (0.0, 0.3)])
def test_mmd_is_unbiased_for_that_of_the_distributions(mean, scale):
    """By characteristic functions: MMD² = ∫ spectrum(ω) |φ_q(ω) − φ_p(ω)|² dω a dimension."""

    def integrand(w):
        spectrum = sum(math.sqrt(2 * s) * math.exp(-math.sqrt(2 * s) * w) for s in SCALES)
        q, p = math.exp(-0.5 * (scale * w) ** 2), math.exp(-0.5 * w**2)
        return spectrum * (q**2 + p**2 - 2 * q * p * math.cos(w * mean))

    expected = 2 * quad(integrand, 0, 60)[0]
    torch.manual_seed(0)
    draws = torch.stack(
        [
            mmd_by_dimension(mean + scale * torch.randn(64, 2).double(), torch.randn(64, 2).double())
            for _ in range(400)
        ]
    )
    assert float(draws.mean()) == pytest.approx(expected, abs=4 * float(draws.std()) / 20)


def test_mmd_by_dimension_sees_marginals_only_and_the_joint_one_sees_dependence():
    torch.manual_seed(0)
    first = torch.randn(2000, 1)
    dependent = torch.cat([first, first], 1)
    assert abs(float(mmd_by_dimension(dependent, torch.randn(2000, 2)))) < 0.01
    assert float(mmd_of_squares(dependent, torch.randn(2000, 2))) > 0.02


MEAN_COV = torch.tensor([[0.8, 0.4], [0.4, 1.2]]).double()
VARIANCES = torch.tensor([0.6, 0.5]).double()


def averages(divergence):
    world = worlds.GaussianWorld(1000, MEAN_COV, VARIANCES)
    torch.manual_seed(0)
    steps = [worlds.step_of(world.mu, world.logvar, worlds.space(2), 1000, batch) for _ in range(8)]
    return float(torch.stack([divergence(s) for s in steps]).mean()), world


def test_inclusive_kl_is_that_of_the_prior_to_q_z():
    found, world = averages(inclusive_kl)
    inverse = torch.linalg.inv(world.cov)
    expected = 0.5 * float(torch.trace(inverse) - 2 + torch.logdet(world.cov))
    assert expected > 0.08
    assert found == pytest.approx(expected, abs=0.02)


def test_exclusive_kl_is_that_of_q_z_to_the_prior():
    found, world = averages(exclusive_kl)
    assert found == pytest.approx(world.kl_to(torch.eye(2).double()), abs=0.04)


@pytest.mark.parametrize("recipe", [recipes.alpha_beta_vae, recipes.info_vae, recipes.wae])
def test_the_exclusive_kl_takes_the_recipes_density(recipe):
    """E log q̂(z) − log p(z) with Chen's w_ij = 1/(NB), by hand, for B = 20 of N = 10,000."""
    objective = recipe(divergence=exclusive_kl, density=weighted)
    torch.manual_seed(0)
    mu, logvar = torch.randn(20, 2).double(), torch.full((20, 2), -1.0).double()
    s = worlds.step_of(mu, logvar, worlds.space(2), 10_000, objective.density)
    (found,) = [w.term(s) for w in objective.terms if w.term.name == "exclusive_kl"]
    normal = torch.distributions.Normal(mu, (logvar / 2).exp())
    log_q = normal.log_prob(s.z[:, None]).sum(-1).logsumexp(1) - math.log(10_000 * 20)
    log_p = torch.distributions.Normal(0, 1).log_prob(s.z).sum(-1)
    torch.testing.assert_close(found, (log_q - log_p).mean())


def pull_on_prior(divergence, prior, parameter, mu, logvar, repeats=60):
    """The mean gradient of a divergence to a parameter of the prior, and its standard error."""
    torch.manual_seed(0)
    found = []
    for _ in range(repeats):
        s = worlds.step_of(mu, logvar, worlds.space(2), len(mu), batch, Prior({"g0": prior}))
        found += torch.autograd.grad(divergence(s), parameter)
    found = torch.stack(found)
    return found.mean(0), found.std(0) / math.sqrt(repeats)


@pytest.mark.parametrize("kind", [partial(Anisotropic, learned=True), FullCovariance])
def test_the_inclusive_kl_pulls_at_a_learned_prior(kind):
    """KL(N(0, P) ‖ N(0, C)) = ½ [tr(C⁻¹ P) − D − log |P| + log |C|], with P = diag exp(2 a)."""
    world = worlds.GaussianWorld(400, MEAN_COV, VARIANCES)
    prior, log_scales = kind(2).double(), torch.tensor([0.4, -0.3]).double()
    full = isinstance(prior, FullCovariance)
    parameter = prior.log_diagonal if full else prior.logvar
    parameter.data.copy_(log_scales if full else 2 * log_scales)
    expected = torch.linalg.inv(world.cov).diagonal() * (2 * log_scales).exp() - 1
    found, error = pull_on_prior(inclusive_kl, prior, parameter, world.mu, world.logvar)
    assert expected.abs().min() > 0.1
    assert ((found if full else 2 * found) - expected).abs().max() < 8 * error.max() + 0.01


def test_mmd_pulls_at_a_learned_prior():
    """By characteristic functions: the derivative of Σ_d ∫ spectrum(ω) (φ_q − φ_p)² dω by log σ_p²."""
    prior = Anisotropic(2, learned=True).double()
    prior.logvar.data.copy_(torch.tensor([0.8, -1.0]))
    mu, logvar = torch.zeros(200, 2).double(), torch.zeros(200, 2).double()

    def derivative(logvar):
        def integrand(w):
            spectrum = sum(math.sqrt(2 * s) * math.exp(-math.sqrt(2 * s) * w) for s in SCALES)
            q, p = math.exp(-0.5 * w**2), math.exp(-0.5 * math.exp(logvar) * w**2)
            return spectrum * 2 * (p - q) * (-0.5 * w**2 * math.exp(logvar)) * p

        return quad(integrand, 0, 60)[0]

    expected = torch.tensor([derivative(value) for value in prior.logvar.tolist()])
    found, error = pull_on_prior(mmd, prior, prior.logvar, mu, logvar, repeats=200)
    assert ((found - expected).abs() < 4 * error).all()
    assert (expected.abs() > 8 * error).all()


def test_the_inclusive_kl_pulls_at_learned_classes():
    """Two relaxed bits whose logits are d apart have the KL d coth(d/2) − 2 at any temperature."""
    latents = LatentSpace.parse("smile=bernoulli:1")
    prior = Prior({"smile": Relaxed(latents.groups["smile"], learned=True)})
    prior.parts[0].logits.data.fill_(1.5)
    posterior = Posterior({"smile": BernoulliPosterior(torch.full((500, 1), -0.5), prior.temperature)})
    model = worlds.model_of(latents, prior).float()
    torch.manual_seed(0)
    found = []
    for _ in range(100):
        output = model.output(torch.zeros(500, 1), posterior, posterior.rsample())
        step = Step(model, output, 0, 500, density=batch)
        found += torch.autograd.grad(inclusive_kl(step), prior.parts[0].logits)
    found = torch.cat(found)
    expected = 1 / math.tanh(1.0) - 1.0 / math.sinh(1.0) ** 2
    assert float(found.mean()) == pytest.approx(expected, abs=4 * float(found.std()) / 10)
    assert expected > 0.4


@pytest.mark.parametrize("divergence", [mmd, mmd_printed, mmd_joint, inclusive_kl, exclusive_kl])
def test_divergences_vanish_where_q_z_is_the_prior(divergence):
    world = worlds.GaussianWorld(1000, torch.eye(2).double() * 0.5, torch.full((2,), 0.5).double())
    torch.manual_seed(0)
    s = worlds.step_of(world.mu, world.logvar, worlds.space(2), 1000, batch)
    far = worlds.step_of(world.mu + 2, world.logvar, worlds.space(2), 1000, batch)
    assert abs(float(divergence(s))) < 0.06
    assert float(divergence(far)) > 0.2


def test_divergences_are_written_by_name():
    for name, divergence in DIVERGENCES.items():
        assert Divergence.parse(name) is divergence
        assert str(divergence) == name
    with pytest.raises(DistaffError, match="did you mean 'mmd"):
        Divergence.parse("mdm")
