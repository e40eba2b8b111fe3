"""The variational auto-encoder: a batch goes in, an ``Output`` of distributions comes out."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from distaff.models.latents import LatentSpace
from distaff.models.layers import Networks
from distaff.models.likelihoods import Bernoulli, Likelihood
from distaff.models.posteriors import Posterior, single
from distaff.models.priors import Prior


@dataclass(frozen=True)
class Output:
    """One batch through a VAE.

    Args:
        x: (B, *shape) observations.
        posterior: q(z|x).
        u: (B, width) one posterior sample per observation, in the coordinates used for densities: z itself,
            except log z for classes and log z/(1 − z) for bits, which do not round to 0 or 1.
        z: (B, width) the same sample as decoders and critics see it.
        likelihood: p(x|z) at that sample.
        prior: p(z).
    """

    x: Tensor
    posterior: Posterior
    u: Tensor
    z: Tensor
    likelihood: Likelihood
    prior: Prior


class VAE(nn.Module):
    """Encoder, decoder and prior.

    Args:
        networks: encoder and decoder.
        latents: latent space, which turns encoder outputs into q(z|x).
        prior: p(z); by default N(0, I), or equally likely classes.
        likelihood: function from decoder outputs to p(x|z).

    ``temperature`` is that of relaxed variables in q(z|x) and p(z); training sets it at every step.
    """

    def __init__(
        self,
        networks: Networks,
        latents: LatentSpace,
        prior: Prior | None = None,
        likelihood: Callable[[Tensor], Likelihood] = Bernoulli,
    ) -> None:
        super().__init__()
        self.encoder, self.decoder = networks
        self.latents = latents
        self.prior = prior or Prior.standard(latents)
        self.likelihood = likelihood

    @property
    def temperature(self) -> float:
        """Temperature of relaxed variables, stored in the prior."""
        return self.prior.temperature

    @temperature.setter
    def temperature(self, value: float) -> None:
        self.prior.temperature = value

    def forward(self, x: Tensor) -> Output:
        """x (B, *shape) → q(z|x), z ~ q(z|x), p(x|z)."""
        posterior = self.encode(x)
        return self.output(x, posterior, posterior.rsample())

    def output(self, x: Tensor, posterior: Posterior, u: Tensor) -> Output:
        """The ``Output`` at a given sample u (B, width) of the posteriors."""
        z = self.latents.squash(u)
        return Output(x, posterior, u, z, self.decode(z), self.prior)

    def encode(self, x: Tensor) -> Posterior:
        """q(z|x)."""
        return self.latents.posterior(self.encoder(x), self.temperature, self.prior.codebooks)

    def decode(self, z: Tensor) -> Likelihood:
        """p(x|z) for z (B, width), in single precision or better."""
        return self.likelihood(single(self.decoder(z)))

    def measure(self, x: Tensor) -> tuple[Posterior, dict[str, Tensor]]:
        """q(z|x), and the parts of each observation's ELBO at one sample of it.

        ``nll`` (B,) is −log p(x|z), ``kl`` (B,) is KL(q(z|x) ‖ p(z)), and ``kl_dims`` (B, dims) is the KL of
        each variable, in the order of ``latents.coded``.
        """
        output = self(x)
        places = [variable.place for variable in self.latents.coded]
        return output.posterior, {
            "nll": -output.likelihood.log_prob(x),
            "kl": output.prior.kl(output.posterior, output.u),
            "kl_dims": output.prior.kl_dims(output.posterior, output.u)[:, places],
        }

    @torch.no_grad()
    def draw_latents(self, count: int) -> Tensor:
        """z (count, width) drawn from the prior, with discrete variables at a class."""
        return self.latents.hard(self.latents.squash(self.prior.sample(count, next(self.parameters()))))

    @torch.no_grad()
    def draw(self, count: int) -> Tensor:
        """E[x|z] of ``count`` latents drawn from the prior."""
        return self.decode(self.draw_latents(count)).mean
