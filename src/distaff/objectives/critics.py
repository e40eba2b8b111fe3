"""Terms measured by a trained critic: the density-ratio trick (FactorVAE §3, Eq. 3, Algorithms 1 and 2)."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from distaff.models.critic import critic as critic_network
from distaff.models.latents import LatentSpace
from distaff.models.vae import VAE
from distaff.objectives.objective import Term
from distaff.objectives.step import Step


@dataclass(frozen=True)
class CriticSettings:
    """The critic and its Adam, as in FactorVAE's appendix A.

    Args:
        hidden: units of a hidden layer.
        layers: hidden layers.
        learning_rate: 1e-4 for 2D Shapes and 3D Faces, 1e-5 for 3D Shapes, Chairs and CelebA.
        betas: Adam's decay rates.
    """

    hidden: int = 1000
    layers: int = 6
    learning_rate: float = 1e-4
    betas: tuple[float, float] = (0.5, 0.9)


def permute_dims(z: Tensor, latents: LatentSpace) -> Tensor:
    """Shuffle each variable of z (B, width) over the batch by itself: samples of ∏ q(z_j) (Algorithm 1)."""
    if latents.width == latents.dims:
        order = torch.rand(z.shape, device=z.device).argsort(dim=0)
        return z.gather(0, order)
    return torch.cat([z[torch.randperm(len(z), device=z.device), c] for c in latents.columns], dim=1)


def permuted_dims(model: VAE, x: Tensor) -> Tensor:
    """Samples of ∏_j q(z_j) from the batch x."""
    return permute_dims(model.encode(x).rsample(), model.latents)


@dataclass(frozen=True)
class DensityRatio(Term):
    """KL(q(z) ‖ r(z)) ≈ E_q(z) [logit₀ − logit₁] of a critic that tells q(z) from a reference r(z).

    Args:
        name: what the divergence is called in logs.
        reference: gives samples of r(z) from the model and a second, independent batch.
        settings: the critic and its optimiser.
    """

    name: str
    reference: Callable[[VAE, Tensor], Tensor]
    settings: CriticSettings = field(default_factory=CriticSettings)

    def __call__(self, s: Step) -> Tensor:
        """The critic's estimate on the batch, with gradient to z."""
        logits: Tensor = s.networks[self.name](s.z)
        return (logits[:, 0] - logits[:, 1]).mean()

    def network(self, latents: LatentSpace) -> nn.Module:
        """A new critic for a latent space."""
        return critic_network(latents.width, self.settings.hidden, self.settings.layers)

    def critic_loss(self, network: nn.Module, z: Tensor, r: Tensor) -> tuple[Tensor, Tensor]:
        """Cross-entropy of telling z (B, width) ~ q from r (B, width), and the accuracy.

        Both are detached here: the critic's loss never reaches the encoder.
        """
        logits = network(torch.cat([z.detach(), r.detach()]))
        labels = torch.arange(2, device=z.device).repeat_interleave(
            torch.tensor([len(z), len(r)], device=z.device)
        )
        with torch.no_grad():
            accuracy = (logits.argmax(1) == labels).float().mean()
        return F.cross_entropy(logits, labels), accuracy


def DensityRatioTC(settings: CriticSettings) -> DensityRatio:
    """The total correlation KL(q(z) ‖ ∏ q(z_j)) by density ratio."""
    return DensityRatio("total_correlation", permuted_dims, settings)
