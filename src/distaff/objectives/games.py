"""Games between generator, discriminator and Q: min over G, Q max over D of V(D, G) − λ L(G, Q)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from distaff.foundation.errors import DistaffError
from distaff.models.latent_kinds import Uniform
from distaff.objectives.adversarial import (
    critic_loss,
    discriminator_loss,
    generator_loss,
    wasserstein_generator_loss,
)
from distaff.objectives.schedules import Weight, weight_at
from distaff.objectives.usual import Usual


@dataclass(frozen=True)
class DiscriminatorSettings:
    """Settings of the discriminator's Adam, by default as in FactorVAE's appendix H.

    G and Q use the optimiser of the run.

    Args:
        learning_rate: Adam's step size.
        betas: Adam's decay rates.
        steps: discriminator steps per generator step, each on new images.
        reads: weight of the code log-likelihood in D's own loss. If positive, the trunk shared by D and Q
            also learns to read codes, as in Chen et al.'s code; at 0 it learns from D's loss alone.
    """

    learning_rate: float = 1e-4
    betas: tuple[float, float] = (0.5, 0.999)
    steps: int = 1
    reads: float = 0.0

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise DistaffError(f"discriminator.steps must be at least 1, not {self.steps}.")
        if not self.learning_rate > 0:
            raise DistaffError(f"discriminator.learning_rate must be positive, not {self.learning_rate}.")
        if not self.reads >= 0:
            raise DistaffError(f"discriminator.reads must not be negative, not {self.reads}.")


@dataclass(frozen=True)
class Rules:
    """The value function V(D, G), as two losses.

    Args:
        discriminator: function from the scores of real and of generated images, (B,) each, to D's loss.
        generator: function from the scores of generated images (B,) to G's loss.
        boundary: function from the scores of real and of generated images to the score above which D judges
            an image real.
    """

    discriminator: Callable[[Tensor, Tensor], Tensor]
    generator: Callable[[Tensor], Tensor]
    boundary: Callable[[Tensor, Tensor], Tensor]

    def accuracies(self, real: Tensor, fake: Tensor) -> dict[str, Tensor]:
        """The proportions of real and of generated images that D judges correctly; ½ each by chance."""
        boundary = self.boundary(real, fake)
        return {
            "accuracy_real": (real > boundary).float().mean(),
            "accuracy_fake": (fake < boundary).float().mean(),
        }


def _even(real: Tensor, fake: Tensor) -> Tensor:
    """D(x) = ½, the logit 0."""
    return torch.zeros((), device=real.device)


def _halfway(real: Tensor, fake: Tensor) -> Tensor:
    """Half-way between the mean scores: the zero of a critic's scores is arbitrary."""
    return (real.mean() + fake.mean()) / 2


JENSEN_SHANNON = Rules(discriminator_loss, generator_loss, _even)
"""Goodfellow et al. 2014: log D(x) + log(1 − D(G(z))), with the non-saturating generator loss."""

WASSERSTEIN = Rules(critic_loss, wasserstein_generator_loss, _halfway)
"""Arjovsky et al. 2017: the critic's scores are unbounded, and their difference is a distance."""


@dataclass(frozen=True)
class Game:
    """The objective of a GAN with codes.

    Args:
        rules: V(D, G).
        lam: λ, weight of the code log-likelihood L in the loss of G and Q.
        penalty: η, weight of the gradient penalty in D's loss; 0 for none.
        discriminator: D's optimiser.
    """

    rules: Rules
    lam: Weight
    penalty: float = 0.0
    discriminator: DiscriminatorSettings = field(default_factory=DiscriminatorSettings)

    def __post_init__(self) -> None:
        if self.penalty < 0:
            raise DistaffError(f"the gradient penalty's weight must not be negative, not {self.penalty}.")

    @property
    def usual(self) -> Usual:
        """Default training settings of G and Q."""
        return Usual(1e-3, (0.5, 0.999), latents=Uniform)

    @property
    def norm(self) -> Literal["batch", "layer"]:
        """The discriminator's normalisation; no batch norm under the penalty, which is per image."""
        return "layer" if self.penalty else "batch"

    def takes_part(self, name: str, index: int) -> bool:
        """Whether a value logged at step ``index`` is part of a loss; values of weight 0 are only logged."""
        weights = weight_at(self.lam, index), self.discriminator.reads
        return name != "code_log_likelihood" or any(weights)

    def __str__(self) -> str:
        lam = "" if self.lam == 1 else f"{self.lam} "
        penalty = f" + {self.penalty} gradient_penalty" if self.penalty else ""
        return f"generator_loss − {lam}code_log_likelihood against discriminator_loss{penalty}"
