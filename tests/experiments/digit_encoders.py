"""HFVAE on MNIST with the encoders and densities that the paper and its authors' code may mean.

``python -m tests.experiments.digit_encoders STEPS SEED…`` trains every one of them and prints how far classes
and digits agree. The library's own encoders say all groups at once; that of the authors' example draws a
class first and gives it to the style, q(z|x) = q(c|x) q(s|x, c).
"""

import sys
from itertools import product
from typing import Literal

import torch
from torch import Tensor, nn

from distaff.codes import Codes
from distaff.data import mnist
from distaff.models.groups import Gaussian, GaussianPosterior, Posterior
from distaff.models.latent_kinds import Concrete, Rounded
from distaff.models.latents import LatentSpace
from distaff.models.networks.building_blocks import dense_pair
from distaff.models.networks.halving import Networks
from distaff.models.relaxed import ConcretePosterior, to_simplex
from distaff.models.vae import VAE, Output
from distaff.objectives.recipes.independence import hfvae
from distaff.objectives.step import Step
from studies.esmaeili18.classes import class_agreement, class_information, informative_latents

Reads = Literal["one layer", "branches", "given the class"]
READS: tuple[Reads, ...] = ("one layer", "branches", "given the class")
KINDS = (Concrete, Rounded)
BATCH = 256


class Encoder(nn.Module):
    """784 → 400, and from there class logits and the style's means and log-deviations.

    Args:
        reads: ``"one layer"`` of 400 for everything, as ``hfvae_mlp``; or ``"branches"``: logits from the
            first layer, means and deviations from 200 units of their own, which ``"given the class"`` see its
            sample.
    """

    def __init__(self, reads: Reads) -> None:
        super().__init__()
        self.reads = reads
        self.first = nn.Sequential(nn.Flatten(), nn.Linear(784, 400), nn.ReLU())
        deep = [nn.Linear(400, 400), nn.ReLU()] if reads == "one layer" else []
        self.shared = nn.Sequential(*deep)
        self.logits = nn.Linear(400, 10)
        self.means, self.deviations = (self._style() for _ in range(2))

    def _style(self) -> nn.Module:
        if self.reads == "one layer":
            return nn.Linear(400, 10)
        seen = 400 + 10 * (self.reads == "given the class")
        return nn.Sequential(nn.Linear(seen, 200), nn.ReLU(), nn.Linear(200, 10))

    def style(self, hidden: Tensor, drawn: Tensor) -> GaussianPosterior:
        """q(s|x), or q(s|x, c) at the class drawn (B, 10)."""
        seen = torch.cat([drawn, hidden], 1) if self.reads == "given the class" else hidden
        return GaussianPosterior(self.means(seen), 2 * self.deviations(seen))


class Digits(VAE):
    """The VAE of Esmaeili et al. 2018, Table 3, with one of these encoders."""

    def __init__(self, reads: Reads, kind: type[Concrete]) -> None:
        latents = LatentSpace({"style": Gaussian(10), "digit": kind(10)})
        decoder = dense_pair((1, 28, 28), 30, 20, None, encoder=[400], decoder=[200, 400]).decoder
        super().__init__(Networks(Encoder(reads), decoder), latents)
        self.kind = kind(10)

    def forward(self, x: Tensor) -> Output:
        """x (B, 1, 28, 28) → q(z|x), z ~ q(z|x), p(x|z)."""
        hidden, classes = self._classes(x)
        u = classes.rsample()
        style = self.encoder.style(hidden, to_simplex(u))
        posterior = Posterior({"style": style, "digit": classes})
        return self.output(x, posterior, torch.cat([style.rsample(), u], 1))

    def encode(self, x: Tensor) -> Posterior:
        """q(z|x), the style at the likeliest class."""
        hidden, classes = self._classes(x)
        return Posterior({"style": self.encoder.style(hidden, classes.mode()), "digit": classes})

    def _classes(self, x: Tensor) -> tuple[Tensor, ConcretePosterior]:
        hidden = self.encoder.shared(self.encoder.first(x))
        return hidden, self.kind.posterior(self.encoder.logits(hidden), self.temperature)


def trained(reads: Reads, kind: type[Concrete], steps: int, seed: int) -> Digits:
    """A model of MNIST's training part, as published but for what is chosen here."""
    torch.manual_seed(seed)
    images = torch.as_tensor(mnist.load().images[:]).float()
    model, objective = Digits(reads, kind), hfvae(beta=4, gamma=3)
    optimiser = torch.optim.Adam(model.parameters(), 1e-3)
    rows = torch.empty(0, dtype=torch.long)
    for index in range(steps):
        if len(rows) < BATCH:
            rows = torch.randperm(len(images))
        batch, rows = rows[:BATCH], rows[BATCH:]
        step = Step(model, model(images[batch]), index, len(images), density=objective.density)
        optimiser.zero_grad()
        objective(step)["loss"].backward()
        optimiser.step()
    return model


@torch.no_grad()
def encoded(model: Digits, images: Tensor) -> Codes:
    """The codes of images."""
    parts = model.encode(images).parts
    style, digit = parts["style"], parts["digit"]
    assert isinstance(style, GaussianPosterior)
    assert isinstance(digit, ConcretePosterior)
    return Codes(style.mu.numpy(), style.logvar.numpy(), {"digit": digit.probabilities.numpy()})


if __name__ == "__main__":
    length, *seeds = map(int, sys.argv[1:])
    test = mnist.load(part="test")
    for chosen, (reads, kind) in product(seeds, product(READS, KINDS)):
        codes = encoded(trained(reads, kind, length, chosen), torch.as_tensor(test.images[:]).float())
        scores = [metric(codes, test.factors).value for metric in (class_agreement, class_information)]
        told = f"{scores[0]:.3f}, information {scores[1]:.3f}, {informative_latents(codes).value:.0f} latents"
        print(f"seed {chosen}, {reads}, {kind.__name__.lower()}: agreement {told}", flush=True)
