"""What each latent knows of x that the others do not: SEPIN, WSEPIN, INDIN, WINDIN (Do & Tran 2020, §3.2)."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from distaff.foundation.errors import DistaffError
from distaff.metrics.declare import metric, settle
from distaff.metrics.entropies import entropy
from distaff.metrics.inputs import CodesLike, Float64Array, as_codes
from distaff.metrics.options import BinCount, SampleCount, at_least
from distaff.metrics.quantized import Bins, posterior_tables
from distaff.metrics.sampled import Samples, means_only_note, samples_of
from distaff.metrics.score import Basis, Score


@dataclass(frozen=True)
class Ranking:
    """The best ``k`` latents (all, weighted by informativeness, if 0), divided by quantized H(z_i) or not."""

    samples: SampleCount = 10_000
    k: Annotated[int, at_least(0)] = 0
    normalize: bool = False
    bins: BinCount = 100
    low: float = -4.0
    high: float = 4.0


TOP_PROTOCOLS = {"do20": Ranking(k=3)}
WEIGHTED_PROTOCOLS = {"do20": Ranking()}


@metric(paper="Do & Tran 2020", protocols=TOP_PROTOCOLS, inputs="codes", posterior="yes")
def sepin(
    codes: CodesLike,
    logvar: ArrayLike | None = None,
    *,
    protocol: str = "do20",
    k: int | None = None,
    samples: int | None = None,
    normalize: bool | None = None,
    bins: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score:
    """SEPIN@k: mean of the k highest I(x; z_i|z_≠i), what only z_i knows of x, in nats.

    I(x; z_i|z_≠i) = I(x; z) − I(x; z_≠i).

    Args:
        codes: (N, D) means, or ``Codes``.
        logvar: (N, D) log-variances; −inf is a deterministic latent.
        protocol: ``"do20"``: k = 3 (or the number of latents, if that is less), 10,000 samples.
        k: how many latents to average.
        samples: number of draws.
        normalize: whether to divide each by the quantized H(z_i) over [−4, 4].
        bins: number of bins of H(z_i).
        bootstrap: halves of the rows to score for the interval, 0 for none.
        seed: of the draws.
    """
    settings, protocol = settle(
        TOP_PROTOCOLS, protocol, idle=_idle, k=k, samples=samples, normalize=normalize, bins=bins
    )
    return _ranked("sepin", _alone, codes, logvar, settings, protocol, seed, k)


@metric(paper="Do & Tran 2020", protocols=WEIGHTED_PROTOCOLS, inputs="codes", posterior="yes")
def wsepin(
    codes: CodesLike,
    logvar: ArrayLike | None = None,
    *,
    protocol: str = "do20",
    samples: int | None = None,
    normalize: bool | None = None,
    bins: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score:
    """WSEPIN: Σ_i ρ_i I(x; z_i|z_≠i) with ρ_i = I(x; z_i) / Σ_j I(x; z_j), in nats.

    Latents without information have no weight, so more of them change nothing. Arguments as for
    ``sepin``.
    """
    settings, protocol = settle(
        WEIGHTED_PROTOCOLS, protocol, idle=_idle, samples=samples, normalize=normalize, bins=bins
    )
    return _ranked("wsepin", _alone, codes, logvar, settings, protocol, seed)


@metric(
    paper="Do & Tran 2020",
    protocols=TOP_PROTOCOLS,
    bounds=(-np.inf, np.inf),
    inputs="codes",
    posterior="yes",
)
def indin(
    codes: CodesLike,
    logvar: ArrayLike | None = None,
    *,
    protocol: str = "do20",
    k: int | None = None,
    samples: int | None = None,
    normalize: bool | None = None,
    bins: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score:
    """INDIN@k: mean of the k highest I(x; z_i) − I(z_i; z_≠i), informative and independent, in nats.

    For a factorised encoder, which all codes of means and log-variances have, it equals SEPIN@k. Arguments
    as for ``sepin``.
    """
    settings, protocol = settle(
        TOP_PROTOCOLS, protocol, idle=_idle, k=k, samples=samples, normalize=normalize, bins=bins
    )
    return _ranked("indin", _independent, codes, logvar, settings, protocol, seed, k)


@metric(
    paper="Do & Tran 2020",
    protocols=WEIGHTED_PROTOCOLS,
    bounds=(-np.inf, np.inf),
    inputs="codes",
    posterior="yes",
)
def windin(
    codes: CodesLike,
    logvar: ArrayLike | None = None,
    *,
    protocol: str = "do20",
    samples: int | None = None,
    normalize: bool | None = None,
    bins: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score:
    """WINDIN: Σ_i ρ_i [I(x; z_i) − I(z_i; z_≠i)] with ρ_i = I(x; z_i) / Σ_j I(x; z_j), in nats.

    Equal to WSEPIN for a factorised encoder. Arguments as for ``sepin``.
    """
    settings, protocol = settle(
        WEIGHTED_PROTOCOLS, protocol, idle=_idle, samples=samples, normalize=normalize, bins=bins
    )
    return _ranked("windin", _independent, codes, logvar, settings, protocol, seed)


def _idle(settings: Ranking) -> tuple[str, ...]:
    return () if settings.normalize else ("bins",)


def _alone(drawn: Samples) -> Float64Array:
    """(M, L), whose mean is I(x; z_i|z_≠i)."""
    return drawn.alone


def _independent(drawn: Samples) -> Float64Array:
    """(M, L), whose mean is I(x; z_i) − I(z_i; z_≠i)."""
    return drawn.informative - drawn.shared


def _ranked(
    name: str,
    measure: Callable[[Samples], Float64Array],
    codes: CodesLike,
    logvar: ArrayLike | None,
    settings: Ranking,
    protocol: str,
    seed: int,
    k: int | None = None,
) -> Score:
    """The mean of the k best latents' measure, or of all weighted by informativeness."""
    codes = as_codes(codes, logvar)
    count = len(codes.names)
    if k is not None and not 1 <= k <= count:
        raise DistaffError(f"k={k} for {count} latents: use 1 to {count}.")
    drawn = samples_of(codes, settings.samples, seed)
    units: Float64Array = np.ones(count)
    notes: tuple[str, ...] = ()
    if settings.normalize:
        grid = Bins(settings.bins, settings.low, settings.high)
        tables = posterior_tables(codes, grid)
        units, notes = np.maximum(entropy(tables.masses), 1e-12), tables.note(codes, grid)

    per_latent = measure(drawn).mean(axis=0) / units
    if settings.k:
        value = np.sort(per_latent)[-settings.k :].mean()
    else:
        weights = np.maximum(drawn.informative.mean(axis=0), 0)
        value = (weights * per_latent).sum() / np.maximum(weights.sum(), 1e-12)
    return Score(
        name=name,
        value=float(value),
        protocol=protocol,
        settings={**asdict(settings), "seed": seed},
        per_latent=dict(zip(codes.names, per_latent.tolist(), strict=True)),
        notes=means_only_note(codes) + notes,
        basis=Basis(rows=min(settings.samples, len(codes))),
    )
