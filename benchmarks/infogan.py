"""Speed of an InfoGAN step against the best hand-written loop, as ratios measured in one run."""

import distaff.training  # noqa: F401  # isort: skip  (keeps freed memory, as the command line does: before torch)

from collections.abc import Callable

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor
from torch.nn import functional as F

from benchmarks.timing import seconds, show
from benchmarks.training import going_on
from distaff.data.arrays import from_array
from distaff.data.dataset import Dataset
from distaff.models.infogan import InfoGAN
from distaff.models.infogan_networks import infogan_mnist
from distaff.models.latents import LatentSpace
from distaff.models.networks.halving import channels_last
from distaff.objectives import recipes
from distaff.objectives.games import Game
from distaff.training.batches import Batches
from distaff.training.gan_learner import InfoGANLearner, generator_parameters
from distaff.training.learner import make_adam

STEPS = 5
BATCH = 64
CLASSES, REAL, NOISE = 10, 2, 62


class ByHand:
    """InfoGAN, or InfoWGAN-GP if ``eta`` is given, with Table 4's networks on distaff's data."""

    def __init__(self, data: Dataset, eta: float | None = None) -> None:
        self.data, self.eta = data, eta
        norm = "batch" if eta is None else "layer"
        players = infogan_mnist(data.shape, 2 * REAL + CLASSES, CLASSES + REAL + NOISE, norm)
        self.generator, self.trunk, self.verdict, self.reader = (
            network.to(memory_format=torch.channels_last) for network in players
        )
        self.judges = [*self.trunk.parameters(), *self.verdict.parameters()]
        authors = [*self.generator.parameters(), *self.reader.parameters()]
        self.adam = torch.optim.Adam(authors, 1e-3, betas=(0.5, 0.999), fused=True)
        self.judge_adam = torch.optim.Adam(self.judges, 1e-4, betas=(0.5, 0.999), fused=True)

    def step(self) -> Tensor:
        x = self.data.images[torch.randint(len(self.data), (BATCH,))]
        x = x.contiguous(memory_format=torch.channels_last)
        digit = torch.randint(CLASSES, (BATCH,))
        style = 2 * torch.rand(BATCH, REAL) - 1
        z = torch.cat([F.one_hot(digit, CLASSES).float(), style, torch.randn(BATCH, NOISE)], 1)
        fake = self.generator(z)
        self.teach(x, fake.detach())
        features = self.trunk(fake)
        score, codes = self.verdict(features), self.reader(features)
        loss = F.softplus(-score).mean() if self.eta is None else -score.mean()
        logits, mu, logvar = codes.split([CLASSES, REAL, REAL], 1)
        loss = loss + F.cross_entropy(logits, digit)
        loss = loss + F.gaussian_nll_loss(mu, style, logvar.exp(), reduction="sum") / BATCH
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        return loss.detach()

    def teach(self, x: Tensor, fake: Tensor) -> None:
        for parameter in self.judges:
            parameter.requires_grad_(True)
        if self.eta is None:
            real_score, fake_score = self.verdict(self.trunk(x)), self.verdict(self.trunk(fake))
            loss = F.softplus(-real_score).mean() + F.softplus(fake_score).mean()
        else:
            real_score, fake_score = self.verdict(self.trunk(torch.cat([x, fake]))).chunk(2)
            pi = torch.rand(BATCH, 1, 1, 1)
            between = (pi * x + (1 - pi) * fake).requires_grad_(True)
            scores = self.verdict(self.trunk(between)).sum()
            (gradient,) = torch.autograd.grad(scores, between, create_graph=True)
            penalty = (gradient.flatten(1).norm(dim=1) - 1).square().mean()
            loss = fake_score.mean() - real_score.mean() + self.eta * penalty
        self.judge_adam.zero_grad()
        loss.backward()
        self.judge_adam.step()
        for parameter in self.judges:
            parameter.requires_grad_(False)


def loop_of(game: Game, data: Dataset) -> Callable[[], None]:
    """``fit`` as called by ``train``, but without a folder; each call continues for ``STEPS`` steps."""
    fabric = Fabric(accelerator="cpu", devices=1)
    latents = LatentSpace.parse(f"digit=concrete:{CLASSES},style=uniform:{REAL},noise:{NOISE}")
    width = latents.width + latents.noise
    players = infogan_mnist(data.shape, latents.parameters, width, game.norm)
    model = channels_last(InfoGAN(players, latents))
    adam = make_adam(generator_parameters(model), 1e-3, (0.5, 0.999))
    learner = InfoGANLearner(model, game, adam, fabric)
    return going_on(learner, Batches(data, BATCH, 0, fabric.device), fabric, STEPS)


def main() -> None:
    images = np.random.default_rng(0).integers(0, 256, (10_000, 28, 28), np.uint8)
    data = from_array(images)
    print(f"{torch.get_num_threads()} threads, torch {torch.__version__}")
    for name, game, eta in (
        ("infogan", recipes.infogan(), None),
        ("infowgan_gp", recipes.infowgan_gp(), 10.0),
    ):
        hand = ByHand(data, eta)
        candidates = {
            "distaff": loop_of(game, data),
            "by hand": lambda hand=hand: [hand.step() for _ in range(STEPS)],
        }
        taken = seconds(candidates)
        ratio = taken["distaff"] / taken["by hand"]
        show(f"{name}: time of distaff / best loop by hand, batch {BATCH}", ratio, "≤ 1.05")
        print(f"    {1000 * taken['distaff'] / STEPS:.1f} ms a step here, now")


if __name__ == "__main__":
    main()
