"""Run by test_shared_batches.py in two real processes: one step of every recipe, each with half of the batch.

The halves differ: a mean, a covariance, a mixture or a BatchNorm of one half is not that of the whole. Noise
is drawn for the whole batch by every process, which takes its own rows, so that one process and two see the
same. Steps are down plain gradients: what a weight has moved by is its gradient.
"""

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from unittest.mock import patch

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from distaff.foundation.binding import public_functions
from distaff.models.infogan import InfoGAN
from distaff.models.infogan_networks import infogan_mlp
from distaff.models.latent_kinds import Quantized
from distaff.models.latents import LatentSpace
from distaff.models.likelihoods import UnitGaussian
from distaff.models.priors.parsing import parse_prior
from distaff.models.vae import VAE
from distaff.objectives import recipes
from distaff.objectives.critics import CriticSettings, prior_samples
from distaff.objectives.densities import DENSITIES
from distaff.objectives.divergences import DIVERGENCES
from distaff.objectives.evidence import Evidence
from distaff.objectives.games import DiscriminatorSettings, Game
from distaff.objectives.labels import LOSSES
from distaff.objectives.objective import Term
from distaff.objectives.step import Labelled
from distaff.runs.calls import Goal
from distaff.training.gan_learner import InfoGANLearner, generator_parameters
from distaff.training.learner import Learner, VAELearner
from tests import toys

SIZE, DATA_SIZE, SHAPE = 12, 50, (6,)
LATENTS = LatentSpace.parse("style=gaussian:3,digit=concrete:3,smile=bernoulli:2,place=gaussian:1")
QUANTIZED = LatentSpace.parse("quantized:4:5")
CODES = LatentSpace.parse("kind=concrete:3,style=uniform:2,noise:4")
CAPACITY = 1.7
RATE = 1e-4
SMALL = {"critic": CriticSettings(hidden=8, layers=1), "evidence": Evidence("iwae", 3)}
READING = DiscriminatorSettings(reads=0.5)


def _goals() -> dict[str, Callable[[], Goal]]:
    found: dict[str, Callable[[], Goal]] = {}
    for name, recipe in public_functions(recipes).items():
        takes = inspect.signature(recipe).parameters
        found[name] = partial(recipe, **{key: value for key, value in SMALL.items() if key in takes})
    found["annealed_vae"] = partial(recipes.annealed_vae, capacity=CAPACITY)
    found["info_dropout with TC"] = partial(recipes.info_dropout, gamma=2.0)
    found["anchor_vae of two"] = partial(recipes.anchor_vae, anchors=(1, 4))
    found["hfvae with extras"] = partial(recipes.hfvae, real=2.0, discrete=-0.5, balance=3.0)
    for without in (1, 2, 3, 4):
        found[f"ablated_elbo {without}"] = partial(recipes.ablated_elbo, without, SMALL["evidence"])
    for name, density in DENSITIES.items():
        found[f"hfvae by {name}"] = partial(recipes.hfvae, density=density)
        found[f"beta_tcvae by {name}"] = partial(recipes.beta_tcvae, density=density)
    for name, divergence in DIVERGENCES.items():
        found[f"alpha_beta_vae by {name}"] = partial(recipes.alpha_beta_vae, 3.0, divergence=divergence)
    for name, loss in LOSSES.items():
        found[f"beta_vae with labels by {name}"] = partial(_labelled, loss)
    for name in ("infogan", "infowgan_gp"):
        found[f"{name} whose trunk reads"] = partial(getattr(recipes, name), discriminator=READING)
    return found


def _labelled(loss: Term) -> Goal:
    return recipes.beta_vae() + 3.0 * loss


GOALS = _goals()
NORMED = "vae with BatchNorm"
CASES = (*GOALS, NORMED)


class Halves:
    """Batches whose first half is nothing like the second; each process has its share."""

    def __init__(self, fabric: Fabric) -> None:
        size = SIZE // fabric.world_size
        self.share = slice(fabric.global_rank * size, (fabric.global_rank + 1) * size)

    def __call__(self, index: int, stream: int = 0) -> Tensor:
        x = torch.from_numpy(np.random.default_rng((stream, index)).standard_normal((SIZE, *SHAPE)))
        x[: SIZE // 2] = 0.3 * x[: SIZE // 2] - 1
        x[SIZE // 2 :] = 2 * x[SIZE // 2 :] + 1.5
        return x[self.share]

    def pairs(self, index: int, known: bool = False) -> tuple[Tensor, Tensor | None]:
        rng = np.random.default_rng((index, 99))
        same = torch.from_numpy(rng.random((SIZE, 4)) < 0.5)[self.share] if known else None
        return torch.cat([self(index), self(index, stream=5)]), same

    def labelled(self, index: int) -> Labelled:
        y = np.random.default_rng((index, 98)).random((SIZE, 3))
        y[y < 0.3] = np.nan
        return Labelled(self(index, stream=6), torch.from_numpy(y)[self.share])

    def everything(self) -> Tensor:
        return torch.from_numpy(np.random.default_rng(77).standard_normal((DATA_SIZE, *SHAPE)))


@contextmanager
def the_same_noise(fabric: Fabric, members: int = 1) -> Iterator[None]:
    """Draw rows for all processes and keep those of this one, whatever is drawn.

    Rows of pairs are those of all first members and then those of all partners: two ``members``.
    """
    generator = torch.Generator().manual_seed(5)

    def rows(draw: Callable[..., Tensor], size: tuple[int, ...], dtype: torch.dtype | None) -> Tensor:
        whole = draw(size[0] * fabric.world_size, *size[1:], generator=generator, dtype=torch.float64)
        parts = whole.unflatten(0, (members, fabric.world_size, size[0] // members))
        return parts[:, fabric.global_rank].flatten(0, 1).to(dtype or torch.get_default_dtype())

    def sized(draw: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def drawn(*size: int, dtype: torch.dtype | None = None, device: object = None) -> Tensor:
            flat = tuple(size[0]) if isinstance(size[0], tuple | list) else size
            return rows(draw, flat, dtype)

        return drawn

    normal, uniform = torch.randn, torch.rand
    with (
        patch("torch.randn", sized(normal)),
        patch("torch.rand", sized(uniform)),
        patch("torch.randn_like", lambda x: rows(normal, tuple(x.shape), x.dtype)),
        patch.object(Tensor, "exponential_", lambda x: -rows(uniform, tuple(x.shape), x.dtype).log()),
    ):
        yield


def learner(name: str, fabric: Fabric) -> Learner:
    """A new learner of a case, the same in every process, with plain gradient descent."""
    torch.manual_seed(0)
    goal = recipes.vae() if name == NORMED else GOALS[name]()
    made: Learner
    if isinstance(goal, Game):
        width = CODES.width + CODES.noise
        gan = InfoGAN(infogan_mlp(SHAPE, CODES.parameters, width, goal.norm, hidden=8), CODES).double()
        made = InfoGANLearner(gan, goal, _descent(generator_parameters(gan)), fabric)
        judge = _descent(gan.discriminator.parameters())
        made.optimisers = {**made.optimisers, "discriminator": judge}
        return made
    space = QUANTIZED if goal.usual.latents is Quantized else LATENTS
    prior = parse_prior("normal" if space is QUANTIZED else "full_covariance,learned_classes", space)
    networks = toys.mlp(SHAPE, space.parameters, space.width, hidden=8)
    model = VAE(networks, space, prior, UnitGaussian.read).double()
    if name == NORMED:
        model.encoder.insert(1, nn.BatchNorm1d(SHAPE[0]).double())
    with torch.no_grad():
        for parameter in model.prior.parameters():
            parameter += 0.3 * torch.randn(parameter.shape).to(parameter.dtype)
    made = VAELearner(model, goal, _descent(model.parameters()), DATA_SIZE, fabric)
    for critic_name, critic in made.critics.items():
        critic.double()
        made.optimisers[f"critic.{critic_name}"] = _descent(critic.parameters())
    return made


def pulls(fabric: Fabric) -> dict[str, dict[str, Tensor]]:
    """By case and weight, how far one step moves it; what a BatchNorm remembers of the batch likewise."""
    found: dict[str, dict[str, Tensor]] = {}
    for name in CASES:
        made = learner(name, fabric)
        kept = {key: module for key, module in made.modules.items() if key == "model" or _fed_alike(made)}
        before = {key: {n: v.clone() for n, v in m.state_dict().items()} for key, m in kept.items()}
        pairs = isinstance(made, VAELearner) and made.objective.sharing is not None
        with the_same_noise(fabric, members=1 + pairs):
            made.update(Halves(fabric), 0)
        found[name] = {
            f"{key}.{n}": (before[key][n] - v).double() / RATE
            for key, module in kept.items()
            for n, v in module.state_dict().items()
        }
    return found


def _fed_alike(made: Learner) -> bool:
    """Whether critics learn from the prior's samples, and not from a shuffle of each process's own."""
    return isinstance(made, VAELearner) and all(r.reference is prior_samples for r in made.ratios)


def _descent(parameters: Iterator[nn.Parameter]) -> torch.optim.SGD:
    return torch.optim.SGD(parameters, RATE)


def main(out: str) -> None:
    fabric = Fabric(accelerator="cpu", devices=2, strategy="ddp")
    fabric.launch()
    found = pulls(fabric)
    if fabric.is_global_zero:
        torch.save(found, out)


if __name__ == "__main__":
    main(sys.argv[1])
