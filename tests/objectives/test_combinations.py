"""Every recipe on every mixture of latents under every kind of prior: one step, or one clear sentence."""

import inspect
import math
from types import SimpleNamespace

import pytest
import torch

from distaff.foundation.binding import public_functions
from distaff.foundation.errors import DistaffError
from distaff.models.groups import GaussianPosterior
from distaff.models.latents import LatentSpace
from distaff.models.priors.parsing import parse_prior
from distaff.models.vae import VAE
from distaff.objectives import recipes
from distaff.objectives.critics import CriticSettings, DensityRatio
from distaff.objectives.objective import Objective
from distaff.objectives.step import Processes, Step
from distaff.objectives.terms import class_balance, discrete_kl, kl, real_kl
from tests import toys

DATA = toys.tiny_images(64)
LATENTS = [
    "style=gaussian:2,digit=concrete:3",
    "smile=bernoulli:2,style=gaussian:2",
    "style=gaussian:2,digit=concrete:3,smile=bernoulli:1,place=gaussian:3",
]
PRIORS = [
    "normal",
    "student_t:3",
    "mixture:0.03",
    "sparse:0.9:0.05",
    "anisotropic",
    "learned_anisotropic,learned_classes",
    "full_covariance,learned_classes",
]
VAES = [
    name
    for name, recipe in public_functions(recipes).items()
    if inspect.signature(recipe).return_annotation is Objective
]
WITHOUT_A_PRIOR = ("info_dropout", "ae", "qlae")
"""Recipes in which no term is a function of p(z): a learned prior stays where it is."""

WITH_MARGINALS_ONLY = ("beta_tcvae", "batch_tc_vae")
"""Recipes of a factorised prior (HFVAE Table 1, Ⓐ*): they know its marginals, not its correlations."""


def gradients(name: str, latents: str, prior: str) -> dict[str, torch.Tensor | None]:
    """The gradient of each of the model's parameters after one step of a recipe."""
    torch.manual_seed(0)
    recipe = public_functions(recipes)[name]
    small = {"critic": CriticSettings(hidden=16, layers=1)}
    objective = recipe(**(small if "critic" in inspect.signature(recipe).parameters else {}))
    space = LatentSpace.parse(latents)
    networks = toys.mlp(DATA.shape, space.parameters, space.width)
    model = VAE(networks, space, parse_prior(prior, space))
    model.prior.start_from(DATA.images)
    ratios = [w.term for w in objective.terms if isinstance(w.term, DensityRatio)]
    critics = {ratio.name: ratio.network(space) for ratio in ratios}
    step = Step(model, model(DATA.images[:]), 0, len(DATA), critics, objective.density)
    values = objective(step)
    assert all(value.isfinite() for value in values.values()), values
    values["loss"].backward()
    return {place: parameter.grad for place, parameter in model.named_parameters()}


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("latents", LATENTS)
@pytest.mark.parametrize("name", VAES)
def test_one_step_gives_finite_gradients_to_all_that_is_learned(name, latents, prior):
    for place, gradient in gradients(name, latents, prior).items():
        if gradient is None and name in WITHOUT_A_PRIOR and place.startswith("prior."):
            continue
        assert gradient is not None, f"{place} is out of reach"
        assert gradient.isfinite().all(), place
        assert gradient.any() or (name in WITH_MARGINALS_ONLY and place.endswith("below")), place


@pytest.mark.parametrize("latents", ["digit=concrete:3", "smile=bernoulli:2"])
@pytest.mark.parametrize("name", VAES)
def test_discrete_latents_alone_take_a_step_or_say_why_not(name, latents):
    if name in ("dip_vae_i", "dip_vae_ii", "max_entropy_vae"):
        with pytest.raises(DistaffError, match="at least one Gaussian group"):
            gradients(name, latents, "learned_classes")
    else:
        found = gradients(name, latents, "learned_classes")
        assert all(g.isfinite().all() for g in found.values() if g is not None)


@torch.no_grad()
@pytest.mark.parametrize("latents", LATENTS)
def test_the_kl_is_that_of_the_real_and_of_the_discrete_groups(latents):
    torch.manual_seed(0)
    model = toys.model(DATA, latents)
    step = Step(model, model(DATA.images[:]), 0, len(DATA))
    torch.testing.assert_close(real_kl(step) + discrete_kl(step), kl(step))
    closed = sum(_closed(part) for part in step.output.posterior.parts.values())
    assert float(real_kl(step)) == pytest.approx(closed, rel=1e-4)
    weighted = recipes.hfvae(real=3.0, discrete=-0.5)(step)["loss"] - recipes.hfvae()(step)["loss"]
    torch.testing.assert_close(weighted, 3 * real_kl(step) - 0.5 * discrete_kl(step), rtol=1e-3, atol=1e-3)


@torch.no_grad()
def test_classes_are_balanced_where_all_occur_equally_often():
    """log k − H of the batch's mean probabilities: of a class of four and two bits, once even, once not."""
    space = LatentSpace.parse("style=gaussian:2,kind=concrete:4,bits=bernoulli:2")
    even = torch.tensor([[9.0, 0, 0, 0], [0, 9.0, 0, 0], [0, 0, 9.0, 0], [0, 0, 0, 9.0]])
    flips = torch.tensor([[5.0, -5], [-5, 5], [5.0, -5], [-5, 5]])
    for logits, bits, wanted in (
        (even, flips, 0.0),
        (100 * even[[0, 0, 1, 1]], flips, math.log(2)),
        (100 * even[[0, 0, 0, 0]], 100 * flips[[0, 0, 0, 0]], math.log(4) + 2 * math.log(2)),
    ):
        posterior = space.posterior(torch.cat([torch.zeros(4, 4), logits, bits], 1))
        assert _balance(posterior) == pytest.approx(wanted, abs=1e-4)
    assert _balance(LatentSpace.parse(3).posterior(torch.zeros(4, 6))) == 0


def _balance(posterior) -> float:
    output = SimpleNamespace(posterior=posterior)
    return float(class_balance(SimpleNamespace(output=output, processes=Processes(), z=torch.zeros(4, 1))))


def _closed(part) -> float:
    """KL(N(mu, sigma²) ‖ N(0, 1)) of a Gaussian group, 0 of a discrete one."""
    if not isinstance(part, GaussianPosterior):
        return 0.0
    return 0.5 * float((part.mu**2 + part.logvar.exp() - part.logvar - 1).sum(1).mean())
