"""q(z|x) in bins: closed-form masses, and their tables with factors.

Do & Tran 2020, A.10 and A.14: Q(s|x) is the Gaussian's mass in bin s of [low, high], renormalised over the
range. Categorical latents take part with their classes as bins, which is exact.
"""

import numpy as np
import torch
from torch import Tensor

from distaff.codes import Codes, remember
from distaff.foundation.parallel import side_by_side
from distaff.metrics.binned_means import Bins, Tables, index_tables
from distaff.metrics.inputs import Float64Array, IntArray
from distaff.metrics.labels import Labels
from distaff.metrics.pieces import BUDGET

ROWS = 1024
"""Rows per batch: their masses fit in a core's cache; fewer for wide codes."""

SLAB = 1 << 16
"""Rows per task of one core."""

MASSES_OF_BINS = (4096, "integrates every posterior over every bin")
"""The limit on latents of metrics that do this, see ``distaff.metrics.card.Card``."""

OUTSIDE = 1e-2
"""With less of a posterior's mass inside the range, its bins are differences too small for float32."""


def posterior_tables(codes: Codes, bins: Bins, labels: Labels | None = None) -> Tables:
    """``Tables`` of q(z|x); without log-variances the codes are deterministic."""
    hard = labels is None or labels.classes is not None
    if codes.logvars is None and not codes.categories and hard:
        outside = ((codes.means < bins.low) | (codes.means >= bins.high)).mean(axis=0)
        sizes = [bins.count] * codes.means.shape[1]
        return index_tables(map(bins.index, codes.means.T), sizes, len(codes), labels, outside)
    if not hard:
        return _posterior_tables(codes, bins, labels)
    key = ("tables", bins, None if labels is None else labels.contents)
    return remember(codes, key, lambda: _posterior_tables(codes, bins, labels))


def _posterior_tables(codes: Codes, bins: Bins, labels: Labels | None) -> Tables:
    sizes = [bins.count] * codes.means.shape[1] + [p.shape[1] for p in codes.categories.values()]
    slabs = np.array_split(np.arange(len(codes)), 1 + len(codes) // SLAB)
    sums = list(side_by_side(lambda slab: _slab_sums(codes, slab, bins, max(sizes), labels), slabs))
    masses, conditional, joint, outside = (sum(parts) / len(codes) for parts in zip(*sums, strict=True))
    return Tables(masses, conditional, joint, outside, np.log(sizes))


def _slab_sums(
    codes: Codes, rows: IntArray, bins: Bins, width: int, labels: Labels | None
) -> tuple[Float64Array, Float64Array, Float64Array, Float64Array]:
    """Sums over ``rows`` of what ``Tables`` averages: masses, conditional, joint and outside."""
    latents, columns = len(codes.names), 0 if labels is None else sum(labels.sizes)
    masses, joint = np.zeros((latents, width)), np.zeros((latents, width, columns))
    conditional = np.full(latents, 0.0 if labels is None else np.nan)
    outside = np.zeros(latents)
    step = min(ROWS, max(1, BUDGET // (latents * width)))
    for start in range(0, len(rows), step):
        some = rows[start : start + step]
        mass, beyond = _row_masses(codes, some, bins, width)
        outside[: len(beyond)] += beyond
        if labels is not None:
            table = torch.from_numpy(labels.table(some))
            joint += (mass.flatten(1).T @ table).numpy().reshape(joint.shape)
        else:
            masses += mass.sum(0).numpy()
            conditional -= torch.log(mass.clamp(min=1e-30)).mul_(mass).sum(dim=(0, 2)).numpy()
    if labels is not None:
        masses = joint[..., labels.columns[0]].sum(axis=-1)
    return masses, conditional, joint, outside


def _row_masses(codes: Codes, rows: IntArray, bins: Bins, width: int) -> tuple[Tensor, Float64Array]:
    """(n, L, width) float32: Q(z_i = s|x_n); and (D,) the mass outside the range, summed over rows."""
    means = codes.means[rows]
    mu = torch.from_numpy(np.ascontiguousarray(means, dtype=np.float32))
    count, dims = mu.shape
    logvar = torch.full_like(mu, -torch.inf)
    if codes.logvars is not None:
        logvar = torch.from_numpy(np.ascontiguousarray(codes.logvars[rows], dtype=np.float32))
    inverse = torch.exp(-0.5 * logvar).div_(2**0.5).clamp_(max=1e30)  # as steep as float32 allows
    distance = torch.from_numpy(bins.edges).float() - mu[:, :, None]
    levels = distance.mul_(inverse[:, :, None]).erf_()
    inside = (levels[:, :, -1] - levels[:, :, 0]) / 2
    mass = torch.zeros(count, dims + len(codes.categories), width)
    gaussian = mass[:, :dims, : bins.count]
    torch.sub(levels[:, :, 1:], levels[:, :, :-1], out=gaussian)
    gaussian.div_(2 * inside.clamp(min=OUTSIDE)[:, :, None])
    sharp = torch.isneginf(logvar)
    if sharp.any():
        place = torch.from_numpy(bins.index(means[sharp.numpy()]))
        gaussian[sharp] = torch.nn.functional.one_hot(place, bins.count).float()
        within = torch.from_numpy((bins.low <= means) & (means < bins.high)).float()
        inside = torch.where(sharp, within, inside)
    far = ~sharp & (inside < OUTSIDE)
    if far.any():
        gaussian[far] = _shares_of_tail(mu[far].double(), logvar[far].double(), bins).float()
    for g, probabilities in enumerate(codes.categories.values()):
        mass[:, dims + g, : probabilities.shape[1]] = torch.from_numpy(
            np.asarray(probabilities[rows], dtype=np.float32)
        )
    return mass, (1 - inside).sum(0, dtype=torch.float64).numpy()


def _shares_of_tail(mu: Tensor, logvar: Tensor, bins: Bins) -> Tensor:
    """(m, count) the share of each bin in the mass that m posteriors have inside the range, however small.

    Uses logarithms of Φ(b) − Φ(a) in the lower tail, to which bins above the mean are mirrored; for bins much
    narrower than σ, those of a density that falls evenly. If the mass falls by more than e^100 from bin to
    bin, the nearest bin has all of it.
    """
    inverse = torch.exp(-0.5 * logvar)[:, None].clamp(max=1e30)
    middles = torch.from_numpy((bins.edges[1:] + bins.edges[:-1]) / 2)
    half = (bins.high - bins.low) / bins.count / 2 * inverse
    centres = (middles - mu[:, None]) * inverse
    below = -centres.abs()
    upper, lower = torch.special.log_ndtr(below + half), torch.special.log_ndtr(below - half)
    exact = upper + torch.log(-torch.expm1(lower - upper))
    fall = (2 * half * below.abs()).clamp(min=1e-9)
    even = (
        middles * (mu[:, None] - middles / 2) * inverse**2 + fall / 2 + torch.log(-torch.expm1(-fall) / fall)
    )
    shares = torch.softmax(torch.where(half < 1e-3, even, exact), dim=1)
    steep = fall.amin(dim=1) > 100
    nearest = torch.from_numpy(bins.index(mu[steep].numpy()))
    shares[steep] = torch.nn.functional.one_hot(nearest, bins.count).double()
    return shares
