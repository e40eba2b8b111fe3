"""Divergences D(q(z), p(z)) of the aggregate posterior from the prior, by name: ``--divergence mmd``.

MMD² with an inverse multiquadratic kernel is E k(z,z') + E k(p,p') − 2 E k(z,p). The estimate is unbiased
(pairs of a sample with itself are left out) and uses the batch of all processes and as many prior samples.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from distaff.mixtures.pairs import log_joint
from distaff.models.by_name import find, values_of
from distaff.models.groups import single
from distaff.objectives.objective import FunctionTerm
from distaff.objectives.step import Step
from distaff.objectives.terms import marginal_kl

SCALES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
HIGHEST_FREQUENCY = 25.0
"""Beyond this frequency, the kernel of the smallest scale has 1e-5 of its Fourier mass."""


@dataclass(frozen=True)
class Divergence(FunctionTerm):
    """A term that measures how far q(z) is from p(z); selected by its name, or as ``module:name``.

    Args:
        name: name of the divergence, also in logs.
        compute: function from a ``Step`` to the divergence, a scalar.
        place: ``module:name`` of a divergence defined outside distaff.
    """

    place: str = ""

    @classmethod
    def parse(cls, text: str) -> "Divergence":
        """The divergence with that name, or the one defined at ``module:name``."""
        found = find("divergence", text, DIVERGENCES)
        return replace(found, place=text) if ":" in text else found

    def __str__(self) -> str:
        return self.place or self.name


def mmd_by_dimension(x: Tensor, y: Tensor) -> Tensor:
    """MMD² of x (n, D) and y (m, D) with k = Σ_d Σ_s C_s/(C_s + (x_d − y_d)²), C = 2·SCALES.

    The kernel of one dimension is ∫ Σ_s √C_s exp(−√C_s ω) cos(ω r) dω, so that sums over all pairs are
    squares of sums over the samples at a few frequencies: n·D·Q work instead of n²·D. The number Q of
    Gauss–Legendre nodes grows with the largest distance; if it exceeds 4n, all pairs are summed directly.
    """
    both = torch.cat([x, y]).detach()
    widest = float((both.amax(0) - both.amin(0)).max())
    nodes = 16 * math.ceil((HIGHEST_FREQUENCY * widest / 4 + 16) / 16) if math.isfinite(widest) else 0
    if not 0 < nodes <= 4 * len(x):
        return _unbiased(x, y, _sum_of_dimensions)
    frequencies, weights = (v.to(x) for v in _quadrature(nodes))
    (cos_x, sin_x), (cos_y, sin_y) = (_waves(v, frequencies) for v in (x, y))
    n, m, itself = len(x), len(y), weights.sum()
    within_x = (n * (cos_x**2 + sin_x**2) @ weights - itself) / (n - 1)
    within_y = (m * (cos_y**2 + sin_y**2) @ weights - itself) / (m - 1)
    across = (cos_x * cos_y + sin_x * sin_y) @ weights
    return (within_x + within_y - 2 * across).sum()


def mmd_of_norms(x: Tensor, y: Tensor) -> Tensor:
    """MMD² with k = Σ_s C_s/(C_s + ‖x − y‖), C = 2·SCALES: the kernel printed in Mathieu et al."""
    return _unbiased(x, y, lambda a, b: _sum_of_scales(_distances(a, b), 2.0, SCALES))


def mmd_of_squares(x: Tensor, y: Tensor) -> Tensor:
    """MMD² with k = Σ_s C_s/(C_s + ‖x − y‖²), C = 2·D·{SCALES, 10}: the kernel of the WAE (Tolstikhin)."""
    size = 2.0 * x.shape[1]
    return _unbiased(x, y, lambda a, b: _sum_of_scales(_squared_distances(a, b), size, (*SCALES, 10.0)))


def _to_prior(distance: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Step], Tensor]:
    def compute(s: Step) -> Tensor:
        with torch.autocast(s.z.device.type, enabled=False):
            return distance(s.all_z, s.all_prior_z)

    return compute


def _inclusive(s: Step) -> Tensor:
    count = len(s.posteriors.mode())
    log_weights = single(s.prior_u).new_full((len(s.prior_u), count), -math.log(count))
    log_qz = log_joint(s.posteriors.paired_with(s.prior_u), log_weights)
    return (s.output.prior.log_prob(s.prior_u) - log_qz).mean()


mmd = Divergence("mmd", _to_prior(mmd_by_dimension))
"""As in the code of Mathieu et al. 2019: squared distances, one dimension at a time, so of marginals only."""

mmd_printed = Divergence("mmd_printed", _to_prior(mmd_of_norms))
"""As printed in Mathieu et al. 2019, App. B: distances in all dimensions, not squared."""

mmd_joint = Divergence("mmd_joint", _to_prior(mmd_of_squares))
"""As in Tolstikhin et al. 2018: squared distances in all dimensions."""

inclusive_kl = Divergence("inclusive_kl", _inclusive)
"""KL(p(z) ‖ q(z)): the mean over z_j ~ p(z) of log p(z_j) − log 1/M Σ_i q(z_j|x_i) (Mathieu, App. B).

The M posteriors come from the objective's density: those of the batch, or of the whole data set (``exact``).
"""

exclusive_kl = Divergence("exclusive_kl", marginal_kl.compute)
"""KL(q(z) ‖ p(z)) = E [log q(z) − log p(z)] with q(z) from the objective's density.

Estimates from a batch are misleading (Mathieu, App. C); ``exact`` is not.
"""

DIVERGENCES = values_of(globals(), Divergence)
"""All divergences defined above."""


def _unbiased(x: Tensor, y: Tensor, kernel: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """E k(x,x') + E k(y,y') − 2 E k(x,y), never pairing a sample with itself."""
    return _off_diagonal_mean(kernel(x, x)) + _off_diagonal_mean(kernel(y, y)) - 2 * kernel(x, y).mean()


def _off_diagonal_mean(values: Tensor) -> Tensor:
    return (values.sum() - values.diagonal().sum()) / (values.numel() - len(values))


def _distances(x: Tensor, y: Tensor) -> Tensor:
    return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")


def _squared_distances(x: Tensor, y: Tensor) -> Tensor:
    centre = y.detach().mean(0)
    x, y = x - centre, y - centre
    squares = x.square().sum(1, keepdim=True) + y.square().sum(1)
    return torch.addmm(squares, x, y.T, alpha=-2).clamp(min=0)


def _sum_of_scales(distances: Tensor, size: float, scales: tuple[float, ...]) -> Tensor:
    total = torch.zeros_like(distances)
    for scale in scales:
        total = total + size * scale / (size * scale + distances)
    return total


def _sum_of_dimensions(x: Tensor, y: Tensor) -> Tensor:
    return _sum_of_scales((x[:, None] - y).square(), 2.0, SCALES).sum(-1)


def _waves(x: Tensor, frequencies: Tensor) -> tuple[Tensor, Tensor]:
    """The means (D, Q) of cos(ω x_d) and sin(ω x_d) over samples x (n, D)."""
    angles = x[..., None] * frequencies
    return angles.cos().mean(0), angles.sin().mean(0)


@lru_cache(maxsize=64)
def _quadrature(nodes: int) -> tuple[Tensor, Tensor]:
    """Frequencies ω (Q,) and weights (Q,): Σ_q w_q cos(ω_q r) = Σ_s C_s/(C_s + r²)."""
    places, weights = np.polynomial.legendre.leggauss(nodes)
    frequencies = torch.from_numpy((places + 1) / 2 * HIGHEST_FREQUENCY)
    decays = torch.tensor(SCALES, dtype=torch.float64).mul(2).sqrt()
    spectrum = (decays * torch.exp(-decays * frequencies[:, None])).sum(1)
    return frequencies, torch.from_numpy(weights / 2 * HIGHEST_FREQUENCY) * spectrum
