"""The best hand-written training loops, without a library; distaff should take no longer."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from distaff.data.dataset import Dataset
from distaff.models.critic import critic
from distaff.models.networks import kim_mnih
from distaff.models.networks.halving import Networks


class HandWritten:
    """β-VAE, or FactorVAE if ``gamma`` is given, with the Kim–Mnih networks on distaff's data."""

    def __init__(self, data: Dataset, batch: int, gamma: float | None = None, latents: int = 10) -> None:
        self.data, self.batch, self.gamma, self.latents = data, batch, gamma, latents
        encoder, decoder = kim_mnih(data.shape, 2 * latents, latents)
        self.encoder = encoder.to(memory_format=torch.channels_last)
        self.decoder = decoder.to(memory_format=torch.channels_last)
        parameters = [*encoder.parameters(), *decoder.parameters()]
        self.adam = torch.optim.Adam(parameters, 1e-4, fused=True)
        self.critic = critic(latents)
        self.critic_adam = torch.optim.Adam(self.critic.parameters(), 1e-4, betas=(0.5, 0.9), fused=True)

    def images(self) -> Tensor:
        return self.data.images[torch.randint(len(self.data), (self.batch,))]

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mu, logvar = self.encoder(x).chunk(2, dim=1)
        return mu, logvar, mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)

    def step(self) -> Tensor:
        x = self.images()
        mu, logvar, z = self.encode(x)
        loss = F.binary_cross_entropy_with_logits(self.decoder(z), x, reduction="sum") / len(x)
        loss = loss + 4 * 0.5 * (mu**2 + logvar.exp() - logvar - 1).sum(1).mean()
        if self.gamma is not None:
            self.critic.requires_grad_(False)
            logits = self.critic(z)
            loss = loss + self.gamma * (logits[:, 0] - logits[:, 1]).mean()
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        if self.gamma is not None:
            self.teach(z.detach())
        return loss.detach()

    def teach(self, z: Tensor) -> None:
        with torch.no_grad():
            other = self.encode(self.images())[2]
        permuted = other.gather(0, torch.rand(other.shape).argsort(dim=0))
        self.critic.requires_grad_(True)
        labels = torch.arange(2).repeat_interleave(self.batch)
        loss = F.cross_entropy(self.critic(torch.cat([z, permuted])), labels)
        self.critic_adam.zero_grad()
        loss.backward()
        self.critic_adam.step()


def plain_networks(latents: int = 10) -> Networks:
    """The Kim–Mnih networks with PyTorch's own layers and defaults, as written by hand."""
    encoder, decoder = kim_mnih((1, 64, 64), 2 * latents, latents)
    assert isinstance(decoder, nn.Sequential)
    for index, layer in enumerate(decoder):
        if isinstance(layer, nn.ConvTranspose2d):
            channels = layer.in_channels, layer.out_channels
            decoder[index] = nn.ConvTranspose2d(*channels, 4, stride=2, padding=1)
    for layer in (*encoder.modules(), *decoder.modules()):
        if isinstance(layer, nn.ReLU):
            layer.inplace = False
    return Networks(encoder, decoder)
