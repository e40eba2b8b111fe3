"""InfoGAN: a generator of images from codes and noise, a discriminator, and Q, which reads the codes back."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from distaff.models.groups import Posterior, single
from distaff.models.latents import LatentSpace


class Players(NamedTuple):
    """The networks of the game.

    Args:
        generator: z = (c, ε) (B, width + noise) → x (B, *shape).
        trunk: x (B, *shape) → features (B, F), shared by ``verdict`` and ``reader``.
        verdict: features → (B, 1), the discriminator's logit or the critic's score.
        reader: features → (B, parameters) of Q(c|x).
    """

    generator: nn.Module
    trunk: nn.Module
    verdict: nn.Module
    reader: nn.Module


@dataclass(frozen=True)
class Generated:
    """A generator's output: the images themselves, without a noise model."""

    mean: Tensor


class InfoGAN(nn.Module):
    """z = (c, ε) with codes c ~ p(c) and noise ε ~ N(0, I), x = G(z), and Q(c|x) (FactorVAE App. G).

    ``usual_noise`` (1, noise) is one draw of ε, kept with the weights. ``decode`` uses it for images without
    noise of their own, so that they differ by their codes alone.

    Args:
        players: the networks.
        latents: the codes and the number of noise inputs.
    """

    usual_noise: Tensor

    def __init__(self, players: Players, latents: LatentSpace) -> None:
        super().__init__()
        self.generator, self.reader, self.latents = players.generator, players.reader, latents
        self.discriminator = nn.ModuleDict({"trunk": players.trunk, "verdict": players.verdict})
        self.register_buffer("usual_noise", torch.randn(1, latents.noise))

    def generate(self, c: Tensor) -> Tensor:
        """x (B, *shape) from codes c (B, width) and new noise."""
        noise = torch.randn(len(c), self.latents.noise, device=c.device, dtype=c.dtype)
        images: Tensor = self.generator(torch.cat([c, noise], dim=1))
        return images

    def features(self, x: Tensor) -> Tensor:
        """(B, F) the trunk's features of images, for ``verdict`` and ``read``."""
        found: Tensor = self.discriminator["trunk"](x)
        return found

    def verdict(self, features: Tensor) -> Tensor:
        """The discriminator's logits, or the critic's scores, (B,); higher means more real."""
        return single(self.discriminator["verdict"](features))[:, 0]

    def read(self, features: Tensor) -> Posterior:
        """Q(c|x)."""
        return self.latents.posterior(self.reader(features))

    def score(self, x: Tensor) -> Tensor:
        """The verdict (B,) on images."""
        return self.verdict(self.features(x))

    def judge(self, x: Tensor) -> tuple[Tensor, Posterior]:
        """The scores (B,) and Q(c|x), from one pass through the shared trunk."""
        features = self.features(x)
        return self.verdict(features), self.read(features)

    def encode(self, x: Tensor) -> Posterior:
        """Q(c|x)."""
        return self.read(self.features(x))

    def decode(self, z: Tensor) -> Generated:
        """G(c, ε) of z (B, width) with the usual noise, or of z (B, width + noise) with its own."""
        if z.shape[1] == self.latents.width:
            noise = self.usual_noise.to(z.dtype).expand(z.shape[0], -1)  # len() would fix it in exports
            z = torch.cat([z, noise], dim=1)
        return Generated(self.generator(z))

    def measure(self, x: Tensor) -> tuple[Posterior, dict[str, Tensor]]:
        """Q(c|x) and no measures: a GAN has no likelihood of x."""
        return self.encode(x), {}

    def draw_latents(self, count: int) -> Tensor:
        """c (count, width) drawn from p(c)."""
        return self.latents.draw(count, self.usual_noise)

    @torch.no_grad()
    def draw(self, count: int) -> Tensor:
        """``count`` images from codes drawn from p(c), with new noise."""
        return self.generate(self.draw_latents(count))
