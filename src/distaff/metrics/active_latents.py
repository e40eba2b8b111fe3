"""Preparation of latents for metrics: standardisation, and which latents are active."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from distaff.codes import Codes, FloatArray
from distaff.foundation.errors import DistaffError
from distaff.metrics.inputs import Float64Array
from distaff.metrics.pieces import slices

Prune = Literal["auto", "kl", "ratio", "means", "none"]

#: A latent below its threshold counts as collapsed: KL to the nearest prior in nats, share of the variance
#: that is due to x, or standard deviation of the means (the criterion of Locatello et al. 2019).
THRESHOLDS = {"kl": 0.01, "ratio": 0.05, "means": 0.05}
_FEW = 8
"""The first rows almost always show that a latent is not constant, without reading the others."""


def standardised(means: FloatArray) -> Float64Array:
    """(N, D) float64 columns of mean 0 and standard deviation 1; a constant column becomes 0."""
    scaled = np.empty(means.shape)
    for some in slices(means.shape[1], len(means)):
        columns = np.ascontiguousarray(means[:, some].T)  # sums along contiguous memory are much faster
        high, low = columns.max(axis=1), columns.min(axis=1)
        largest = np.maximum(np.abs(high), np.abs(low))
        part = columns / np.where(largest > 0, largest, 1).astype(np.float64)[:, None]
        part -= part.mean(axis=1, keepdims=True)
        deviation = np.sqrt(np.einsum("ij,ij->i", part, part) / len(means))
        scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=high > low)
        np.multiply(part, scale[:, None], out=scaled[:, some].T)
    return scaled


def constant_latents(codes: Codes) -> NDArray[np.bool_]:
    """(D + groups,) mask of Gaussian latents with one mean and categorical latents with one top class."""
    few = codes.means[:_FEW]
    same = [
        bool(alike) and means.max() == means.min()
        for alike, means in zip((few == few[0]).all(axis=0), codes.means.T, strict=True)
    ]
    same += [len(np.unique(p.argmax(axis=1))) == 1 for p in codes.categories.values()]
    return np.array(same, dtype=bool)


def pruning(codes: Codes, prune: Prune) -> Prune:
    """The criterion that ``prune`` selects for these codes; resolves ``"auto"``."""
    known = codes.logvars is not None or not codes.means.shape[1]
    if prune in ("kl", "ratio") and not known:
        raise DistaffError(f"prune={prune!r} needs log-variances: give them, or prune='means' or 'none'.")
    if prune == "auto":
        return "kl" if known else "none"
    return prune


def active_latents(
    codes: Codes, prune: Prune = "auto", threshold: float | None = None
) -> tuple[NDArray[np.bool_], dict[str, str | float], tuple[str, ...]]:
    """Which latents have not collapsed to the prior, the criterion that was used, and notes for the reader.

    - ``"kl"``: E KL(q(z_j|x) ‖ p(z_j)) is at least ``threshold`` nats (0.01), see ``kl_to_nearest_prior``;
    - ``"ratio"``: Var μ_j / (Var μ_j + E σ_j²) is at least ``threshold`` (0.05);
    - ``"means"``: the standard deviation of μ_j is at least ``threshold`` (0.05, as in Locatello et al.
      2019), which depends on the latents' scale; categorical latents are kept;
    - ``"none"``: all latents; ``"auto"``: ``"kl"`` if log-variances are known, otherwise ``"none"``.

    Constant latents cannot be normalised and are never active.
    """
    prune = pruning(codes, prune)
    constant = constant_latents(codes)
    used: dict[str, str | float] = {"prune": prune}
    active = ~constant
    if prune != "none":
        limit = THRESHOLDS[prune] if threshold is None else threshold
        used["threshold"] = limit
        active &= _activity(codes, prune) >= limit
    notes = []
    if constant.any():
        notes.append(f"constant latents left out: {_names(codes, constant)}")
    if (~active & ~constant).any():
        notes.append(f"collapsed latents pruned ({prune}): {_names(codes, ~active & ~constant)}")
    return active, used, tuple(notes)


def kl_to_nearest_prior(codes: Codes) -> Float64Array:
    """(D + groups,) E KL(q(z_j|x) ‖ p(z_j)) in nats for the p that makes it least: codes tell no prior.

    Of Gaussians p is N(m, v) with the mean and variance of q(z_j), of classes their shares in q(z_j). The KL
    to another p, such as N(0, 1), is more by KL(N(m, v) ‖ p), which says nothing of x: a latent at its prior
    of variance 0.3 has 0.25 nats of that. I(x; z_j) is no more than this.
    """
    if codes.logvars is None and codes.means.shape[1]:
        raise DistaffError("the KL to the prior needs log-variances.")
    logvars = codes.means if codes.logvars is None else codes.logvars
    noise = np.exp(logvars).mean(axis=0, dtype=np.float64)
    spread = codes.means.var(axis=0, dtype=np.float64) * (codes.means.max(axis=0) > codes.means.min(axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        gaussian = 0.5 * (np.log(spread + noise) - logvars.mean(axis=0, dtype=np.float64))
    # Without any noise a latent that moves tells everything, and one that does not move nothing.
    gaussian = np.where(spread + noise > 0, gaussian, 0.0)
    categorical = [
        (p * np.log(np.maximum(p, 1e-30) / np.maximum(p.mean(axis=0), 1e-30))).sum(axis=1).mean()
        for p in (p.astype(np.float64) for p in codes.categories.values())
    ]
    return np.asarray(np.maximum(np.append(gaussian, categorical), 0))


def gini_variance(shares: FloatArray) -> Float64Array:
    """Gini's variance ½(1 − Σ_c p_c²) of class shares (..., k); FactorVAE Eq. 4 up to n/(n − 1)."""
    return np.asarray(0.5 * (1 - np.square(shares, dtype=np.float64).sum(axis=-1)))


def _activity(codes: Codes, prune: Prune) -> Float64Array:
    if prune == "kl":
        return kl_to_nearest_prior(codes)
    if prune == "means":
        deviation = codes.means.std(axis=0, ddof=1, dtype=np.float64)
        return np.append(deviation, [np.inf] * len(codes.categories))
    variance = codes.means.var(axis=0, dtype=np.float64)
    noise = 0.0 if codes.logvars is None else np.exp(codes.logvars).mean(axis=0, dtype=np.float64)
    total = variance + noise
    shares = [
        1 - gini_variance(p).mean() / np.maximum(gini_variance(p.mean(axis=0)), 1e-30)
        for p in codes.categories.values()
    ]
    return np.append(np.divide(variance, total, out=np.zeros_like(total), where=total > 0), shares)


def _names(codes: Codes, mask: NDArray[np.bool_]) -> str:
    return ", ".join(name for name, is_in in zip(codes.names, mask, strict=True) if is_in)
