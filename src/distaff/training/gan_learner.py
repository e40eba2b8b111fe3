"""The learner of InfoGANs: steps of the discriminator, then one of generator and Q."""

from collections.abc import Iterator, Mapping
from functools import partial

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.optim import Optimizer

from distaff.foundation.errors import DistaffError
from distaff.models.infogan import InfoGAN
from distaff.objectives.adversarial import code_log_likelihood, gradient_penalty
from distaff.objectives.games import Game
from distaff.objectives.schedules import weight_at
from distaff.training.batches import Batches
from distaff.training.learner import Course, descend, make_adam, trainable
from distaff.training.several_processes import gather, share_batch_norms


class InfoGANLearner:
    """A generator, a discriminator with the trunk that Q reads, and Q's head, under any game.

    There are two optimisers: D's trains the trunk and the verdict; G's also trains Q's head. Each loss
    reaches only its optimiser's parameters: the trunk learns to judge, and Q reads its features. Under some
    games, D's loss also rewards the trunk for readable codes (``DiscriminatorSettings.reads``).
    """

    def __init__(
        self, model: InfoGAN, game: Game, optimiser: Optimizer, fabric: Fabric, course: Course = Course()
    ) -> None:
        self.model, self.game, self.fabric, self.course = model, game, fabric, course
        if fabric.world_size > 1:
            share_batch_norms(model, partial(gather, fabric))
        average = {"average": course.average.module} if course.average else {}
        self.modules: Mapping[str, nn.Module] = {"model": model, **average}
        settings = game.discriminator
        adam = make_adam(model.discriminator.parameters(), settings.learning_rate, settings.betas)
        self.optimisers: Mapping[str, Optimizer] = {"generator": optimiser, "discriminator": adam}
        model.discriminator.requires_grad_(False)

    def update(self, batches: Batches, index: int) -> dict[str, Tensor]:
        """The discriminator's steps, each on new images, then one of G and Q on the last generated images."""
        turns = self.game.discriminator.steps
        values: dict[str, Tensor] = {}
        for turn in range(turns):
            real = batches(index * turns + turn)
            c = self.model.latents.draw(len(real), real)
            with self.fabric.autocast(), torch.set_grad_enabled(turn == turns - 1):
                fake = self.model.generate(c)
            values = self._teach(real, fake.detach(), c)
        values |= self._deceive(fake, c, index)
        return {name: value.detach() for name, value in values.items()}

    def measure(self, batches: Batches, number: int, index: int) -> dict[str, Tensor]:
        """Raise an error: a GAN has no likelihood, and its scores have meaning only within the game."""
        raise DistaffError("a GAN has no ELBO to look at: leave --hold-out out.")

    def _teach(self, real: Tensor, fake: Tensor, c: Tensor) -> dict[str, Tensor]:
        """One step of the discriminator."""
        with trainable(self.model.discriminator):
            with self.fabric.autocast():
                features = self._features(real, fake)
                scores = tuple(map(self.model.verdict, features))
            loss = self.game.rules.discriminator(*scores)
            values = {"discriminator_loss": loss}
            if self.game.penalty:
                penalty = values["gradient_penalty"] = gradient_penalty(self.model.score, real, fake)
                loss = loss + self.game.penalty * penalty
            if self.game.discriminator.reads:
                with self.fabric.autocast():
                    q = self.model.read(features[1])
                loss = loss - self.game.discriminator.reads * code_log_likelihood(q, c)
            descend(self.fabric, self.model, self.optimisers["discriminator"], loss)
        with torch.no_grad():
            return values | self.game.rules.accuracies(*scores)

    def _features(self, real: Tensor, fake: Tensor) -> tuple[Tensor, ...]:
        if self.game.norm == "batch":  # Real and generated images are normalised separately.
            return self.model.features(real), self.model.features(fake)
        return self.model.features(torch.cat([real, fake])).chunk(2)

    def _deceive(self, fake: Tensor, c: Tensor, index: int) -> dict[str, Tensor]:
        """One step of generator and Q."""
        with self.fabric.autocast():
            scores, q = self.model.judge(fake)
        loss, likelihood = self.game.rules.generator(scores), code_log_likelihood(q, c)
        whole = loss - weight_at(self.game.lam, index) * likelihood
        rate = self.course.begin(self.optimisers["generator"], index)
        descend(self.fabric, self.model, self.optimisers["generator"], whole, self.course.clip)
        self.course.end(self.model, index)
        return {"generator_loss": loss, "code_log_likelihood": likelihood, **rate}


def generator_parameters(model: InfoGAN) -> Iterator[nn.Parameter]:
    """The parameters of G's optimiser: the generator and Q's head."""
    yield from model.generator.parameters()
    yield from model.reader.parameters()
