"""The posteriors of the steps before, which stand for q(z) beside those of the batch."""

import torch
from torch import Tensor, nn

from distaff.models.latents import LatentSpace
from distaff.models.posteriors import Posterior


class PosteriorMemory(nn.Module):
    """The parameters of the last posteriors, newest first: a mixture far larger than a batch, for nothing.

    A batch of B posteriors says little of log q(z) once z tells more than log B nats of x. Those of the last
    steps are a little old, but encoders move slowly; they are held without gradient. The memory is saved with
    the run, so that a resumed run remembers the same.

    Args:
        size: how many posteriors.
        latents: whose parameters they have.

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
        """The posteriors of a batch, with gradient, and behind them those remembered.

        Args:
            posterior: of the batch of all processes.
            seen: how many posteriors the steps before had, which may be fewer than there is room for.
        """
        widths = [parameter.shape[1] for parameter in posterior.parameters()]
        remembered = iter(torch.split(self.rows[:seen], widths, dim=1))
        return posterior.map(lambda own: torch.cat([own, next(remembered).to(own.dtype)]))

    @torch.no_grad()
    def remember(self, posterior: Posterior) -> None:
        """Put the posteriors of a batch in front; the oldest fall out."""
        new = torch.cat(posterior.parameters(), dim=1).to(self.rows.dtype)
        self.rows.copy_(torch.cat([new, self.rows])[: len(self.rows)])
