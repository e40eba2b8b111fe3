"""Terms measured by a trained critic: the density-ratio trick (FactorVAE §3, Eq. 3, Algorithms 1 and 2)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from distaff.foundation.binding import ADDED_LATER
from distaff.foundation.errors import DistaffError
from distaff.models.critic import critic as critic_network
from distaff.models.groups import single
from distaff.models.latents import LatentSpace
from distaff.models.vae import VAE
from distaff.objectives.objective import Term
from distaff.objectives.step import Step

Critic = Callable[[Tensor], Tensor]
"""z (B, width) → logits (B, 1 or 2)."""


@dataclass(frozen=True)
class CriticSettings:
    """Settings of the critic and its Adam optimiser; the defaults are those of FactorVAE's appendix A.

    Do & Tran 2020 (Tables 3, 4) use ``CriticSettings(layers=5, betas=(0.5, 0.99), logits=1)``.

    Args:
        hidden: units per hidden layer.
        layers: number of hidden layers.
        learning_rate: Adam's learning rate; in the paper 1e-4 for 2D Shapes and 3D Faces, 1e-5 for 3D Shapes,
            Chairs and CelebA.
        betas: Adam's decay rates.
        logits: 2, of q(z) and of the reference, under a softmax; or 1, of their ratio, under a sigmoid.
    """

    hidden: int = 1000
    layers: int = 6
    learning_rate: float = 1e-4
    betas: tuple[float, float] = (0.5, 0.9)
    logits: int = field(default=2, metadata=ADDED_LATER)

    def __post_init__(self) -> None:
        if self.logits not in (1, 2):
            raise DistaffError(f"a critic has 1 logit or 2, not {self.logits}.")


def permute_dims(z: Tensor, latents: LatentSpace) -> Tensor:
    """Shuffle each variable of z (B, width) independently in the batch: samples of ∏ q(z_j) (Algorithm 1)."""
    if latents.width == latents.dims:
        order = torch.rand(z.shape, device=z.device).argsort(dim=0)
        return z.gather(0, order)
    return _shuffle_each(z, [column.stop - column.start for column in latents.columns])


def permute_groups(z: Tensor, latents: LatentSpace) -> Tensor:
    """Shuffle each group of z (B, width), as a whole, over the batch: samples of ∏ q(z_g)."""
    return _shuffle_each(z, [group.width for group in latents.groups.values()])


def _shuffle_each(z: Tensor, widths: Sequence[int]) -> Tensor:
    parts = torch.split(z, list(widths), dim=1)
    return torch.cat([part[torch.randperm(len(z), device=z.device)] for part in parts], dim=1)


def _samples(model: VAE, x: Tensor) -> Tensor:
    """z (B, width) ~ q(z|x), as critics see it."""
    return model.latents.squash(model.encode(x).rsample())


def permuted_dims(model: VAE, x: Tensor) -> Tensor:
    """Samples of ∏_j q(z_j) from the batch x."""
    return permute_dims(_samples(model, x), model.latents)


def permuted_groups(model: VAE, x: Tensor) -> Tensor:
    """Samples of ∏_g q(z_g) from the batch x."""
    return permute_groups(_samples(model, x), model.latents)


def prior_samples(model: VAE, x: Tensor) -> Tensor:
    """Samples of p(z), one per observation of the batch x."""
    return model.latents.squash(model.prior.sample(len(x), x))


def log_ratio(logits: Tensor) -> Tensor:
    """The critic's log q(z)/r(z) (B,): the difference of two logits (FactorVAE Eq. 3), or its only logit."""
    return logits[:, 0] - logits[:, 1] if logits.shape[1] == 2 else logits[:, 0]


def non_saturating(logits: Tensor) -> Tensor:
    """−log D(z) (B,), with D the critic's probability that z is from the reference (WAE-GAN, Algorithm 1)."""
    return F.softplus(log_ratio(logits))


def towards_samples(s: Step, critic: Critic) -> Tensor:
    """−log p(z) (B,) at z ~ q(z): KL(q(z) ‖ p(z)) as a function of a learned prior, up to a constant."""
    return -s.output.prior.log_prob(s.u.detach())


def towards_deceit(s: Step, critic: Critic) -> Tensor:
    """−log (1 − D(z)) (B,) at z ~ p(z): a learned prior's loss in the game of ``non_saturating``."""
    return F.softplus(-log_ratio(single(critic(s.prior_z))))


@dataclass(frozen=True)
class DensityRatio(Term):
    """A term read from a critic that distinguishes q(z) from a reference r(z); by default KL(q(z) ‖ r(z)).

    Args:
        name: name of the divergence in logs.
        reference: function from the model and a second, independent batch to samples of r(z).
        settings: the critic and its optimiser.
        reading: function from the critic's logits (B, 1 or 2) to values (B,), averaged over the batch.
        learning: for r = p(z), which may be learned: function to values (B,) whose mean gives the gradient
            with respect to the prior's own parameters. The critic's estimate at z does not depend on them.
    """

    name: str
    reference: Callable[[VAE, Tensor], Tensor]
    settings: CriticSettings = field(default_factory=CriticSettings)
    reading: Callable[[Tensor], Tensor] = log_ratio
    learning: Callable[[Step, Critic], Tensor] | None = None

    def __call__(self, s: Step) -> Tensor:
        """The critic's estimate on the batch, with gradient with respect to z."""
        critic = s.networks[self.name]
        estimate = self.reading(single(critic(s.z))).mean()
        if self.learning is None or not any(p.requires_grad for p in s.output.prior.parameters()):
            return estimate
        own = self.learning(s, critic).mean()
        return estimate + (own - own.detach())

    def network(self, latents: LatentSpace) -> nn.Module:
        """A new critic for a latent space."""
        settings = self.settings
        return critic_network(latents.width, settings.hidden, settings.layers, outputs=settings.logits)

    def critic_loss(self, network: nn.Module, z: Tensor, r: Tensor) -> tuple[Tensor, Tensor]:
        """Cross-entropy of classifying z (B, width) ~ q against r (B, width), and the accuracy.

        Both inputs are detached: the critic's loss never reaches the encoder.
        """
        logits = single(network(torch.cat([z.detach(), r.detach()])))
        labels = torch.arange(2, device=z.device).repeat_interleave(
            torch.tensor([len(z), len(r)], device=z.device)
        )
        ratio = log_ratio(logits)
        with torch.no_grad():
            accuracy = ((ratio < 0) == (labels == 1)).float().mean()
        if self.settings.logits == 1:
            return F.binary_cross_entropy_with_logits(ratio, (labels == 0).to(ratio.dtype)), accuracy
        return F.cross_entropy(logits, labels), accuracy


def density_ratio_tc(settings: CriticSettings) -> DensityRatio:
    """The total correlation KL(q(z) ‖ ∏ q(z_j)) by density ratio."""
    return DensityRatio("total_correlation", permuted_dims, settings)


def density_ratio_groups(settings: CriticSettings) -> DensityRatio:
    """The total correlation between groups, KL(q(z) ‖ ∏ q(z_g)), by density ratio."""
    return DensityRatio("tc_between_groups", permuted_groups, settings)


def density_ratio_prior(settings: CriticSettings) -> DensityRatio:
    """KL(q(z) ‖ p(z)) by density ratio against samples of the prior."""
    return DensityRatio("marginal_kl", prior_samples, settings, learning=towards_samples)


def adversarial_prior(settings: CriticSettings) -> DensityRatio:
    """The encoder's loss, −E log D(z), in the game against a critic that distinguishes q(z) from p(z).

    A learned prior is on the encoder's side, and deceives the critic about its own samples.
    """
    return DensityRatio("adversarial_loss", prior_samples, settings, non_saturating, towards_deceit)
