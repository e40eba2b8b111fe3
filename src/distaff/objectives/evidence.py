"""log p(x) = log ∫ p(x|z) p(z) dz: by importance sampling, or on a grid where there is a single latent."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from distaff.errors import DistaffError
from distaff.models.vae import VAE
from distaff.objectives.objective import FunctionTerm

GRID_END = 8.0


@dataclass(frozen=True)
class Evidence:
    """An estimator of log p(x) of a batch, written ``iwae:64`` or ``grid:200``.

    It has gradients to the decoder and the prior only: p(x) does not depend on the encoder, and what an
    importance-weighted bound would pass to it is the estimator's, not p(x)'s.

    Args:
        kind: ``iwae`` draws from q(z|x); ``grid`` covers −8 … 8 of a single latent, and is exact.
        points: particles or grid points.
    """

    kind: str
    points: int

    def __call__(self, model: VAE, x: Tensor) -> Tensor:
        """log p(x) (B,)."""
        if self.kind == "iwae":
            return log_importance_weights(model, x, self.points).logsumexp(1) - math.log(self.points)
        if model.latents.width != 1:
            raise DistaffError("the evidence on a grid needs a single latent: use iwae:K.")
        step = 2 * GRID_END / (self.points - 1)
        grid = torch.linspace(-GRID_END, GRID_END, self.points, device=x.device, dtype=x.dtype)
        z = grid.repeat(len(x))[:, None]
        return _log_joint(model, x, z).view(len(x), -1).logsumexp(1) + math.log(step)

    @classmethod
    def parse(cls, text: str) -> "Evidence":
        """Read ``iwae:K`` or ``grid:K``."""
        kind, _, points = text.partition(":")
        if kind not in ("iwae", "grid") or not points.isdigit() or int(points) < 2:
            raise DistaffError(f"the evidence {text!r} is neither iwae:K nor grid:K with K of at least 2.")
        return cls(kind, int(points))

    def __str__(self) -> str:
        return f"{self.kind}:{self.points}"


def log_evidence(evidence: Evidence) -> FunctionTerm:
    """E log p(x), by an estimator."""
    return FunctionTerm("log_evidence", lambda s: evidence(s.model, s.output.x).mean())


def log_importance_weights(model: VAE, x: Tensor, particles: int) -> Tensor:
    """log p(x, u_k) − log q(u_k|x) (B, K) of particles u_k ~ q(u|x)."""
    with torch.no_grad():
        posterior = model.encode(x).map(lambda parameter: parameter.repeat_interleave(particles, 0))
        u = posterior.rsample()
        log_q = posterior.log_prob(u)
    return (_log_joint(model, x, u) - log_q).view(len(x), particles)


@torch.no_grad()
def iwae_bound(model: VAE, x: Tensor, particles: int = 5000, block: int = 500) -> Tensor:
    """The importance-weighted bound on log p(x) (B,) (Burda et al. 2016), ``block`` particles at a time."""
    total = torch.full((len(x),), -math.inf, dtype=torch.float64, device=x.device)
    for start in range(0, particles, block):
        weights = log_importance_weights(model, x, min(block, particles - start))
        total = torch.logaddexp(total, weights.double().logsumexp(1))
    return total - math.log(particles)


def _log_joint(model: VAE, x: Tensor, u: Tensor) -> Tensor:
    """log p(x_i, u) of u (B·K, width), K for each of the B observations in turn."""
    repeated = x.repeat_interleave(len(u) // len(x), 0)
    return model.decode(model.latents.squash(u)).log_prob(repeated) + model.prior.log_prob(u)
