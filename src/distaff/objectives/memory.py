"""Posteriors of earlier steps, used beside those of the batch to estimate q(z)."""

import torch
from torch import Tensor, nn

from distaff.models.groups import Posterior
from distaff.models.latents import LatentSpace


class PosteriorMemory(nn.Module):
    """The parameters of recent posteriors, newest first: a mixture far larger than a batch at almost no cost.

    A batch of B posteriors says little about log q(z) once I(x;z) exceeds log B nats. Posteriors of recent
    steps are slightly out of date, but encoders change slowly; they are kept without gradient. The memory is
    saved with the run, so that a resumed run has the same one.

    >>> memory = PosteriorMemory(4, LatentSpace.parse("gaussian:2"))
    >>> posterior = LatentSpace.parse("gaussian:2").posterior(torch.zeros(3, 4))
    >>> memory.remember(posterior)
    >>> len(memory.beside(posterior, seen=3).mode())  # three of the batch, three of the step before
    6
    """

    rows: Tensor

    def __init__(self, size: int, latents: LatentSpace) -> None:
        super().__init__()
        example = latents.posterior(torch.zeros(1, latents.parameters))
        self.register_buffer("rows", torch.zeros(size, sum(p.shape[1] for p in example.parameters())))

    def beside(self, posterior: Posterior, seen: int) -> Posterior:
        """The posteriors of a batch, with gradient, followed by those remembered.

        Args:
            posterior: posteriors of the batch of all processes.
            seen: number of posteriors in all earlier steps, which may be fewer than ``size``.
        """
        widths = [parameter.shape[1] for parameter in posterior.parameters()]
        remembered = iter(torch.split(self.rows[:seen], widths, dim=1))
        return posterior.map(lambda own: torch.cat([own, next(remembered).to(own.dtype)]))

    @torch.no_grad()
    def remember(self, posterior: Posterior) -> None:
        """Add the posteriors of a batch at the front and drop the oldest."""
        new = torch.cat(posterior.parameters(), dim=1).to(self.rows.dtype)
        self.rows.copy_(torch.cat([new, self.rows])[: len(self.rows)])
