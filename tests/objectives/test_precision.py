"""bf16-mixed is for networks: all that is made of their outputs is what float32 makes of the same outputs."""

from contextlib import AbstractContextManager, nullcontext

import pytest
import torch
from torch import Tensor, nn

from distaff.foundation.binding import public_functions
from distaff.mixtures.pairs import log_pairs
from distaff.models.infogan import InfoGAN, Players
from distaff.models.latents import LatentSpace
from distaff.models.networks.halving import Networks
from distaff.models.priors import named as kinds
from distaff.models.priors.parsing import parse_prior
from distaff.models.vae import VAE
from distaff.objectives.adversarial import code_log_likelihood
from distaff.objectives.critics import DensityRatio
from distaff.objectives.densities import Source
from distaff.objectives.games import Game
from distaff.objectives.objective import Objective
from distaff.objectives.step import Labelled, Step
from tests.training.shared_batches import GOALS

SHAPE, SIZE = (7,), 24
LATENTS = LatentSpace.parse("style=gaussian:4,digit=concrete:3,smile=bernoulli:2,place=gaussian:1")
GAMES = [name for name, make in GOALS.items() if isinstance(make(), Game)]
PRIORS = ["normal", "full_covariance,learned_classes", "style=student_t:4,place=sparse", "mixture"]


class Rounded(nn.Module):
    """A network of waves whose outputs are bfloat16 under autocast, and the same numbers as float32 else."""

    def __init__(self, outputs: int, seed: int = 0, spread: float = 1.5) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.rates, self.starts = spread * torch.randn(2, outputs, generator=generator)
        self.spread = spread

    def forward(self, x: Tensor) -> Tensor:
        columns = torch.arange(len(self.rates)) % x.shape[1]
        values = (self.spread * torch.sin(x[:, columns] * self.rates + self.starts)).bfloat16()
        return values if torch.is_autocast_enabled("cpu") else values.float()


def half() -> torch.autocast:
    return torch.autocast("cpu", dtype=torch.bfloat16)


def model_under(prior: str) -> VAE:
    networks = Networks(Rounded(LATENTS.parameters, 1), Rounded(SHAPE[0], 2))
    model = VAE(networks, LATENTS, parse_prior(prior, LATENTS))
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.prior.parameters():
            parameter += 0.4 * torch.randn(parameter.shape, generator=generator)
    return model


def measured(
    goal: Objective, prior: str, precision: AbstractContextManager[None]
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The values of an objective's terms, and the loss's gradients to what the prior has learned."""
    torch.manual_seed(0)
    model, x = model_under(prior), torch.rand(SIZE, *SHAPE)
    more = {Source.SECOND_BATCH: torch.rand(SIZE, *SHAPE), Source.DATA_SET: torch.rand(3 * SIZE, *SHAPE)}
    labels = torch.rand(SIZE, 2)
    ratios = [w.term for w in goal.terms if isinstance(w.term, DensityRatio)]
    critics = {ratio.name: Rounded(ratio.settings.logits, 4, spread=30.0) for ratio in ratios}
    with precision:
        step = Step(
            model,
            model(x),
            0,
            5 * SIZE,
            critics,
            goal.density,
            images=more.__getitem__,
            labelled=lambda: Labelled(x, labels),
        )
        values = goal(step)
        for ratio in ratios:
            reference = ratio.reference(model, more[Source.SECOND_BATCH])
            values[f"{ratio.name}.critic_loss"], _ = ratio.critic_loss(critics[ratio.name], step.z, reference)
    learned = {name: p for name, p in model.prior.named_parameters() if p.requires_grad}
    if not learned or not values["loss"].requires_grad:
        return values, {}
    pulls = torch.autograd.grad(values["loss"], list(learned.values()), allow_unused=True)
    return values, {name: pull for name, pull in zip(learned, pulls, strict=True) if pull is not None}


def assert_alike(found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name].dtype == torch.float32, name
        torch.testing.assert_close(
            found[name], value, rtol=1e-5, atol=1e-6, msg=lambda m, name=name: f"{name}: {m}"
        )


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("name", [name for name in GOALS if name not in GAMES])
def test_every_recipe_makes_the_same_of_its_networks_outputs(name, prior):
    goal = GOALS[name]()
    assert isinstance(goal, Objective)
    found, found_pulls = measured(goal, prior, half())
    expected, expected_pulls = measured(goal, prior, nullcontext())
    assert_alike(found, expected)
    assert_alike(found_pulls, expected_pulls)


@pytest.mark.parametrize("name", GAMES)
def test_every_game_makes_the_same_of_its_networks_outputs(name):
    game = GOALS[name]()
    assert isinstance(game, Game)
    codes = LatentSpace.parse("kind=concrete:3,style=uniform:2,noise:4")

    def played() -> dict[str, Tensor]:
        torch.manual_seed(0)
        parts = Rounded(SHAPE[0], 1), Rounded(9, 2), Rounded(1, 3, spread=30.0), Rounded(codes.parameters, 4)
        model = InfoGAN(Players(*parts), codes)
        real, c = torch.rand(SIZE, *SHAPE), codes.draw(SIZE, torch.zeros(1))
        fake = model.generate(c).float()
        scores, (said, q) = model.score(real), model.judge(fake)
        return {
            "discriminator": game.rules.discriminator(scores, said),
            "generator": game.rules.generator(said),
            "code_log_likelihood": code_log_likelihood(q, c),
            **game.rules.accuracies(scores, said),
        }

    with half():
        found = played()
    assert_alike(found, played())


@pytest.mark.parametrize("kind", public_functions(kinds))
def test_every_prior_is_sampled_and_measured_in_single_precision(kind):
    discrete = kind in ("uniform", "learned_classes")
    space = LatentSpace.parse("d=concrete:3,b=bernoulli:2" if discrete else "z=gaussian:4")

    def taken() -> dict[str, Tensor]:
        torch.manual_seed(0)
        prior = parse_prior(kind, space)
        with torch.no_grad():
            for parameter in prior.parameters():
                parameter += 0.4 * torch.randn(parameter.shape)
        q = space.posterior(torch.randn(SIZE, space.parameters))
        u = q.rsample()
        return {
            "samples": prior.sample(SIZE, u),
            "log_prob": prior.log_prob(u),
            "log_prob_dims": prior.log_prob_dims(u),
            "kl": prior.kl(q, u),
            "kl_dims": prior.kl_dims(q, u),
            "log_pairs": log_pairs(q.paired_with(u)),
        }

    with half():
        found = taken()
    assert_alike(found, taken())
