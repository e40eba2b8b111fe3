"""log p(x) = log ∫ p(x|z) p(z) dz, by importance sampling, or by summation if z has few values."""

import math
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from distaff.foundation.errors import DistaffError
from distaff.models.groups import GroupPrior, Real
from distaff.models.latents import LatentSpace
from distaff.models.priors.discrete import Relaxed
from distaff.models.vae import VAE, Prior
from distaff.objectives.objective import FunctionTerm

GRID_END = 8.0
MOST_CLASSES = 1024
"""Largest number of combinations of classes that is summed over."""
MASS_ERROR = 0.01
"""Largest allowed distance from 1 of the prior's mass on the grid."""


@dataclass(frozen=True)
class Evidence:
    """An estimator of log p(x) for a batch, written ``iwae:64`` or ``grid:200``.

    Gradients flow to the decoder and the prior only. p(x) does not depend on the encoder: a gradient of an
    importance-weighted bound with respect to the encoder is a property of the estimator, not of p(x).

    Args:
        kind: ``iwae`` samples from q(z|x). ``grid`` sums p(x|z) p(z) over every combination of the classes of
            discrete latents and, if there is one real latent, of K points between −8 and 8, which must lie
            closer together than about σ of q(z|x). ``grid`` puts discrete latents at a class, as in samples
            from the model, while ``iwae`` uses their relaxed densities: the two agree as the temperature goes
            to 0.
        points: K, number of particles or grid points; unused by ``grid`` if all latents are discrete.
    """

    kind: str
    points: int

    def __call__(self, model: VAE, x: Tensor) -> Tensor:
        """log p(x) (B,)."""
        if self.kind == "iwae":
            return log_importance_weights(model, x, self.points).logsumexp(1) - math.log(self.points)
        z = every_value(model.latents, self.points, like=x)
        log_p = _log_mass(model.latents, model.prior, z, self.points)
        if abs(float(log_p.detach().logsumexp(0))) > MASS_ERROR:
            raise DistaffError(
                f"{self.points} points from {-GRID_END:g} to {GRID_END:g} do not hold the prior's mass: use "
                "more points, or iwae:K."
            )
        log_px_z = model.decode(z.repeat(len(x), 1)).log_prob(x.repeat_interleave(len(z), 0))
        return (log_px_z.view(len(x), -1) + log_p).logsumexp(1)

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
    """A term for E log p(x), estimated by ``evidence``."""
    return FunctionTerm("log_evidence", lambda s: evidence(s.model, s.output.x).mean())


def log_importance_weights(model: VAE, x: Tensor, particles: int) -> Tensor:
    """log p(x, u_k) − log q(u_k|x) (B, K) for particles u_k ~ q(u|x)."""
    with torch.no_grad():
        posterior = model.encode(x).map(lambda parameter: parameter.repeat_interleave(particles, 0))
        u = posterior.rsample()
        log_q = posterior.log_prob(u)
    return (_log_joint(model, x, u) - log_q).view(len(x), particles)


def iwae_bound(model: VAE, x: Tensor, particles: int = 5000, block: int = 500) -> Tensor:
    """The importance-weighted bound on log p(x) (B,) (Burda et al. 2016), ``block`` particles at a time."""
    return evidence_bounds(model, x, particles, block)[0]


@torch.no_grad()
def evidence_bounds(model: VAE, x: Tensor, particles: int = 5000, block: int = 500) -> tuple[Tensor, Tensor]:
    """Two bounds on log p(x), (B,) each, from the same particles: ``iwae_bound`` and the ELBO.

    With log-weights w_k, these are log 1/K Σ exp w_k and 1/K Σ w_k; the second never exceeds the first.
    """
    largest = torch.full((len(x),), -math.inf, dtype=torch.float64, device=x.device)
    total = torch.zeros_like(largest)
    for start in range(0, particles, block):
        weights = log_importance_weights(model, x, min(block, particles - start)).double()
        largest = torch.logaddexp(largest, weights.logsumexp(1))
        total += weights.sum(1)
    return largest - math.log(particles), total / particles


def every_value(latents: LatentSpace, points: int, like: Tensor) -> Tensor:
    """z (K, width): every combination of the classes of discrete variables and a real one's grid points."""
    real = sum(variable.classes == 0 for variable in latents.variables)
    classes = math.prod(variable.classes or 1 for variable in latents.variables)
    if real > 1 or classes > MOST_CLASSES:
        what = f"{real} real latents" if real > 1 else f"{classes:,} combinations of classes"
        raise DistaffError(
            f"the evidence on a grid takes at most one real latent and {MOST_CLASSES:,} combinations of "
            f"classes, and {latents} has {what}: use iwae:K."
        )
    grid = torch.linspace(-GRID_END, GRID_END, points, dtype=like.dtype)[:, None]
    values = [torch.from_numpy(v.corners).to(like.dtype) if v.classes else grid for v in latents.variables]
    picked = torch.cartesian_prod(*(torch.arange(len(value)) for value in values)).view(-1, len(values))
    z = torch.cat([value[rows] for value, rows in zip(values, picked.T, strict=True)], dim=1)
    return z.to(like.device)


def _log_mass(latents: LatentSpace, prior: Prior, z: Tensor, points: int) -> Tensor:
    """log p(z) (K,), plus the logarithm of the grid's spacing if there is a real latent."""
    total = z.new_zeros(len(z))
    for (name, group), part in zip(latents.groups.items(), prior.groups.values(), strict=True):
        columns = z[:, latents.group_columns[name]]
        if isinstance(group, Real):
            total = total + cast(GroupPrior, part).log_prob(columns) + math.log(2 * GRID_END / (points - 1))
        elif isinstance(part, Relaxed):
            total = total + part.log_classes(columns)
        else:
            raise DistaffError(f"the prior of {name} does not say its classes' probabilities: use iwae:K.")
    return total


def _log_joint(model: VAE, x: Tensor, u: Tensor) -> Tensor:
    """log p(x_i, u) for u (B·K, width), K in a row for each of the B observations."""
    repeated = x.repeat_interleave(len(u) // len(x), 0)
    return model.decode(model.latents.squash(u)).log_prob(repeated) + model.prior.log_prob(u)
