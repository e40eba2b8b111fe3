"""Boxes of neighbouring components, and the log-densities of the components of one box."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
import torch
from torch import Tensor

from distaff.mixtures.pairs import LOG_2PI, Part, coefficients

LOG_2 = math.log(2)

ROUNDING = 1e-4
"""Bound on the effect of rounding on the terms of a pair, in nats, by which the precision of a box is chosen.
The errors of log q(z) are several times smaller."""


class OtherPart(Part, Protocol):
    """Variables that are not Gaussian: log-densities of pairs, and selection of rows with ``map``."""

    def map(self, f: Callable[[Tensor], Tensor]) -> Self:
        """The same part with ``f`` applied to the parameters (N, ...)."""


@dataclass(frozen=True)
class Box:
    """Neighbouring components, prepared for the matrix product; log-densities are in bits.

    Args:
        low: (D,) the smallest mean.
        high: (D,) the largest mean.
        centre: (D,) the midpoint of the two, which is the origin of the box.
        least_precision: (D,) the smallest 1/σ².
        variance: (D,) variance of the box's mixture about its centre.
        factor: (2D, n) coefficients of z² and z, relative to the centre, in float32 or float64. If even
            float64 would round too much, the means relative to the centre and −1/2σ².
        direct: whether ``factor`` is of the second kind, and differences are squared pair by pair.
        constants: (n, D) log-density at the centre.
        heights: (n, D) log-density at the component's own mean.
        log_weights: (n,) log-weights.
        others: the parts that are not Gaussian.
    """

    low: Tensor
    high: Tensor
    centre: Tensor
    least_precision: Tensor
    variance: Tensor
    factor: Tensor
    direct: bool
    constants: Tensor
    heights: Tensor
    log_weights: Tensor
    others: Sequence[OtherPart]

    @classmethod
    def of(cls, mu: Tensor, logvar: Tensor, others: Sequence[OtherPart], log_weights: Tensor) -> "Box":
        """The box of n components: means and log-variances (n, D), other parts, log-weights (n,)."""
        mu, logvar = mu.double(), logvar.double()
        low, high = mu.amin(0), mu.amax(0)
        centre = (low + high) / 2
        mu = mu - centre
        quadratic, linear, constant = (c / LOG_2 for c in coefficients(mu, logvar))
        heights = -0.5 * (logvar + LOG_2PI) / LOG_2
        # Terms of about (half the box)² / σ² cancel for a near pair: this decides the precision. If float64
        # is not enough, single components decide a sum, and the errors of three coefficients add up.
        terms = (torch.exp(-logvar).amax(0) * ((high - low) / 2).square()).sum().item()
        direct = not 4 * terms * torch.finfo(torch.float64).eps < ROUNDING
        # The sum over many latents is rounded too, by the size of the heights and squares in it.
        size = heights.abs().sum(1).amax().item() + mu.shape[1]
        single = (terms + size) * torch.finfo(torch.float32).eps < ROUNDING
        factor = torch.cat([mu, quadratic] if direct else [quadratic, linear], 1)
        return cls(
            low=low,
            high=high,
            centre=centre,
            least_precision=torch.exp(-logvar).amin(0),
            variance=(mu.square() + logvar.exp()).mean(0),
            factor=(factor.float() if single else factor).T.contiguous(),
            direct=direct,
            constants=heights if direct else constant,
            heights=heights,
            log_weights=log_weights.double() / LOG_2,
            others=others,
        )

    def bits(self, moved: Tensor, dims: Tensor, constants: Tensor) -> Tensor:
        """(S, m, n) the log-densities of samples under all components, for S choices of dimensions.

        Args:
            moved: (m, D) the samples relative to the centre.
            dims: (S, D) 1 for a dimension that is kept, 0 for one that is left out.
            constants: (S, n) constant to add for each component.
        """
        if not self.direct:
            left = torch.cat([moved.square(), moved], 1).to(self.factor.dtype)
            kept = torch.cat([dims, dims], 1).to(left.dtype)
            if len(dims) == 1:  # the product can add the constants
                return torch.addmm(constants[0], left * kept, self.factor)[None]
            chosen = left * kept[:, None]
            product = chosen.flatten(0, 1) @ self.factor
            return product.view(len(dims), len(moved), self.factor.shape[1]).add_(constants[:, None])
        total = constants[:, None].repeat(1, len(moved), 1)
        means, quadratic = self.factor.chunk(2)
        for d in dims.any(0).nonzero()[:, 0].tolist():
            term = (moved[:, d, None] - means[d]).square_().mul_(quadratic[d])
            total.addcmul_(term, dims[:, d, None, None])
        return total


def log_sum(bits: Tensor) -> Tensor:
    """(..., m) float64: log Σ_n 2^bits_mn of bits (..., m, n), which are overwritten."""
    top = bits.amax(-1, keepdim=True)
    # exp2 is twice as fast as exp; below −126 its results are subnormal and many times slower.
    powers = bits.sub_(top).float().clamp_(min=-126).exp2_()
    return LOG_2 * top[..., 0].double() + powers.sum(-1).double().log()


def neighbours(points: Tensor, size: int) -> list[Tensor]:
    """Group rows of ``points`` into at most ``size`` neighbours, by repeatedly halving the widest side."""
    if points.shape[1] == 0:
        return list(torch.split(torch.arange(len(points), device=points.device), size))
    values, found, stack = points.float().cpu().numpy(), [], [np.arange(len(points))]
    while stack:
        rows = stack.pop()
        if len(rows) <= size:
            found.append(torch.from_numpy(rows).to(points.device))
            continue
        sample = values[rows[:: max(1, len(rows) // 256)]]
        order = np.argpartition(values[rows, sample.std(0).argmax()], len(rows) // 2)
        stack += [rows[order[len(rows) // 2 :]], rows[order[: len(rows) // 2]]]
    return found
