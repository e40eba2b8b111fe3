"""The mathematical contracts that every recipe must keep."""

import inspect

import pytest
import torch
from torch import Tensor

from distaff.foundation.binding import public_functions
from distaff.foundation.errors import DistaffError
from distaff.models.latents import LatentSpace
from distaff.objectives import recipes
from distaff.objectives.critics import CriticSettings, DensityRatio, density_ratio_tc, permute_dims
from distaff.objectives.objective import Objective
from distaff.objectives.step import Step
from distaff.objectives.terms import kl, nll
from distaff.training.train import train
from tests import toys

VAE = recipes.vae()
OBJECTIVES = [
    name
    for name, recipe in public_functions(recipes).items()
    if inspect.signature(recipe).return_annotation is Objective
]
SMALL_CRITIC = CriticSettings(hidden=64, layers=2, learning_rate=1e-3)


def a_step(objective: Objective = VAE) -> Step:
    """The same batch through the same model, with new networks for the terms that own one."""
    data = toys.ring(200)
    model = toys.model(data)
    output = model(data.images[:64])
    owners = [w.term for w in objective.terms if isinstance(w.term, DensityRatio)]
    networks = {term.name: term.network(model.latents) for term in owners}
    return Step(model, output, 0, len(data), networks, objective.density)


@pytest.mark.parametrize(
    "recipe",
    [
        recipes.beta_vae(beta=1),
        recipes.structured_beta_vae(beta=1),
        recipes.factor_vae(gamma=0, critic=SMALL_CRITIC),
        recipes.factor_vae_prior(gamma=0, critic=SMALL_CRITIC),
        recipes.dip_vae_i(0, 0),
        recipes.dip_vae_ii(0, 0),
        recipes.info_vae(alpha=0, lam=1),
        recipes.anchor_vae(lam=0),
        recipes.alpha_beta_vae(alpha=0, beta=1),
        recipes.max_entropy_vae(beta=1),
    ],
    ids=str,
)
def test_reduces_to_the_vae(recipe):
    step = a_step(recipe)
    torch.testing.assert_close(recipe(step)["loss"], recipes.vae()(step)["loss"])


@pytest.mark.parametrize("name", public_functions(recipes))
def test_every_recipe_is_documented_and_says_what_it_trains_for(name):
    recipe = public_functions(recipes)[name]
    assert inspect.getdoc(recipe)
    assert isinstance(recipe(), inspect.signature(recipe).return_annotation)
    assert str(recipe())


@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_loss_of_every_objective_is_the_weighted_sum_of_its_terms(name):
    objective = public_functions(recipes)[name]()
    values = objective(a_step(objective))
    total = sum(float(w.weight) * values[w.term.name] for w in objective.terms)
    torch.testing.assert_close(values["loss"], total)


def test_the_elbo_is_summed_over_pixels_and_latents_and_averaged_over_the_batch():
    step = a_step()
    x, logits = step.output.x, step.output.likelihood.logits
    p = logits.sigmoid()
    by_hand = -(x * p.log() + (1 - x) * (1 - p).log()).sum() / len(x)
    torch.testing.assert_close(nll(step), by_hand, rtol=1e-4, atol=1e-4)
    (part,) = step.output.posterior.parts.values()
    q = torch.distributions.Normal(part.mu, torch.exp(0.5 * part.logvar))
    expected = torch.distributions.kl_divergence(q, torch.distributions.Normal(0.0, 1.0)).sum() / len(x)
    torch.testing.assert_close(kl(step), expected, rtol=1e-4, atol=1e-4)


def test_adding_a_term_twice_is_an_error():
    with pytest.raises(DistaffError, match="'kl' is in the sum twice"):
        nll + kl + 2.0 * kl


def correlated_gaussians(count: int, correlation: float) -> Tensor:
    z = torch.randn(count, 2)
    return torch.stack([z[:, 0], correlation * z[:, 0] + (1 - correlation**2) ** 0.5 * z[:, 1]], dim=1)


@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_the_critic_approaches_the_closed_form_of_total_correlation(correlation):
    torch.manual_seed(0)
    latents = LatentSpace.parse(2)
    term = density_ratio_tc(CriticSettings(hidden=64, layers=2))
    critic = term.network(latents)
    adam = torch.optim.Adam(critic.parameters(), 2e-3, betas=(0.5, 0.9))
    for _ in range(400):
        z, second = correlated_gaussians(512, correlation), correlated_gaussians(512, correlation)
        loss, _ = term.critic_loss(critic, z, permute_dims(second, latents))
        adam.zero_grad()
        loss.backward()
        adam.step()
    logits = critic(correlated_gaussians(20_000, correlation))
    expected = -0.5 * torch.log(torch.tensor(1 - correlation**2))
    torch.testing.assert_close((logits[:, 0] - logits[:, 1]).mean(), expected, rtol=0.1, atol=0.05)


def test_permute_dims_keeps_each_marginal_and_breaks_dependence():
    torch.manual_seed(0)
    z = correlated_gaussians(5000, 0.95)
    permuted = permute_dims(z, LatentSpace.parse(2))
    torch.testing.assert_close(permuted.sort(dim=0).values, z.sort(dim=0).values)
    assert torch.corrcoef(z.T)[0, 1] > 0.9
    assert torch.corrcoef(permuted.T)[0, 1].abs() < 0.05


def test_factor_vae_lowers_the_total_correlation_of_q_z():
    data = toys.ring()
    settings = {"latents": 2, "network": "tests.toys:mlp", "steps": 400, "batch_size": 128}
    found = {}
    for gamma in (0.0, 20.0):
        trained = train(
            "factor_vae",
            data,
            gamma=gamma,
            critic=SMALL_CRITIC,
            learning_rate=3e-3,
            progress=False,
            **settings,
        )
        codes = trained.encode(data.images)
        assert codes.means.var(axis=0).max() > 0.3, "a collapsed code has no total correlation to lower"
        found[gamma] = toys.exact_tc(codes)
    assert found[0.0] > 0.1
    assert found[20.0] < 0.5 * found[0.0]
