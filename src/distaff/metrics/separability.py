"""What latents share and what each knows alone: I(z_i; z_≠i), TC, SEPIN, INDIN (Do & Tran 2020, §3.2, A.10).

All are means over samples of q(z, x) of log-densities under the mixture of all N posteriors.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike

from distaff.codes import Codes
from distaff.errors import DistaffError
from distaff.metrics.declare import metric, settle
from distaff.metrics.entropies import entropy
from distaff.metrics.inputs import CodesLike, Float64Array, as_codes
from distaff.metrics.quantized import Bins, posterior_tables
from distaff.metrics.sampled import Samples, means_only_note, sampled_value, samples_of
from distaff.metrics.score import Score


@dataclass(frozen=True)
class Sampling:
    """``samples`` of q(z, x)."""

    samples: int = 10_000


@dataclass(frozen=True)
class Ranking(Sampling):
    """The best ``k`` latents (all, weighted by informativeness, if 0), divided by quantized H(z_i) or not."""

    k: int = 0
    normalize: bool = False
    bins: int = 100
    low: float = -4.0
    high: float = 4.0


PROTOCOLS = {"do20": Sampling()}
TOP_PROTOCOLS = {"do20": Ranking(k=3)}
WEIGHTED_PROTOCOLS = {"do20": Ranking()}


@metric(paper="Do & Tran 2020", protocols=PROTOCOLS, direction="lower", inputs="codes", posterior="yes")
def separability(
    codes: CodesLike,
    logvar: ArrayLike | None = None,
    *,
    protocol: str = "do20",
    samples: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score:
    """Mean over latents of I(z_i; z_≠i), what a latent shares with all others, in nats.

    I(z_i; z_≠i) = H(z_i) + H(z_≠i) − H(z); 0 for independent latents.

    Args:
        codes: (N, D) means, or ``Codes``.
        logvar: (N, D) log-variances; −inf is a deterministic latent.
        protocol: ``"do20"``: 10,000 samples.
        samples: number of draws.
        bootstrap: number of resamples of the draws for the interval.
        seed: of the draws.
    """
    settings, protocol = settle(PROTOCOLS, protocol, samples=samples)
    codes = as_codes(codes, logvar)
    shared = _shared(samples_of(codes, settings.samples, seed))
    value, around = sampled_value(shared, lambda means: means.mean(-1), (0, np.inf), bootstrap, seed)
    return _score("separability", value, protocol, settings, seed, codes, shared.mean(axis=0), around)


@metric(
    paper="Watanabe 1960; Chen et al. 2018",
    protocols=PROTOCOLS,
    direction="lower",
    inputs="codes",
    posterior="yes",
)
def total_correlation(
    codes: CodesLike,
    logvar: ArrayLike | None = None,
    *,
    protocol: str = "do20",
    samples: int | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score:
    """TC = KL(q(z) ‖ Π_i q(z_i)), in nats; 0 for independent latents.

    The mean of log q(z) − Σ_i log q(z_i) over samples of q(z). ``details`` hold I(x; z) of the same samples.

    Args:
        codes: (N, D) means, or ``Codes``.
        logvar: (N, D) log-variances; −inf is a deterministic latent.
        protocol: ``"do20"``: 10,000 samples.
        samples: number of draws.
        bootstrap: number of resamples of the draws for the interval.
        seed: of the draws.
    """
    settings, protocol = settle(PROTOCOLS, protocol, samples=samples)
    codes = as_codes(codes, logvar)
    drawn = samples_of(codes, settings.samples, seed)
    ratios = drawn.log_qz - drawn.log_qz_dims.sum(axis=1)
    value, around = sampled_value(ratios, lambda means: means, (0, np.inf), bootstrap, seed)
    information = float((drawn.log_qz_x_dims.sum(axis=1) - drawn.log_qz).mean())
    return Score(
        name="total_correlation",
        value=value,
        protocol=protocol,
        direction="lower",
        settings={**asdict(settings), "seed": seed},
        interval=around,
        details={"total_information": information},
        notes=means_only_note(codes),
    )


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
        bootstrap: number of resamples of the draws for the interval.
        seed: of the draws.
    """
    settings, protocol = settle(TOP_PROTOCOLS, protocol, k=k, samples=samples, normalize=normalize, bins=bins)
    return _ranked("sepin", _alone, codes, logvar, settings, protocol, bootstrap, seed, k)


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
    :func:`sepin`.
    """
    settings, protocol = settle(WEIGHTED_PROTOCOLS, protocol, samples=samples, normalize=normalize, bins=bins)
    return _ranked("wsepin", _alone, codes, logvar, settings, protocol, bootstrap, seed)


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
    as for :func:`sepin`.
    """
    settings, protocol = settle(TOP_PROTOCOLS, protocol, k=k, samples=samples, normalize=normalize, bins=bins)
    return _ranked("indin", _independent, codes, logvar, settings, protocol, bootstrap, seed, k)


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

    Equal to WSEPIN for a factorised encoder. Arguments as for :func:`sepin`.
    """
    settings, protocol = settle(WEIGHTED_PROTOCOLS, protocol, samples=samples, normalize=normalize, bins=bins)
    return _ranked("windin", _independent, codes, logvar, settings, protocol, bootstrap, seed)


def _informative(drawn: Samples) -> Float64Array:
    """(M, L) whose mean is I(x; z_i)."""
    return drawn.log_qz_x_dims - drawn.log_qz_dims


def _shared(drawn: Samples) -> Float64Array:
    """(M, L) whose mean is I(z_i; z_≠i)."""
    return drawn.log_qz[:, None] - drawn.log_qz_dims - drawn.log_qz_without


def _alone(drawn: Samples) -> Float64Array:
    """(M, L) whose mean is I(x; z_i|z_≠i) = I(x; z) − I(x; z_≠i)."""
    log_qz_x = drawn.log_qz_x_dims.sum(axis=1, keepdims=True)
    of_all = log_qz_x - drawn.log_qz[:, None]
    of_others = log_qz_x - drawn.log_qz_x_dims - drawn.log_qz_without
    return np.asarray(of_all - of_others)


def _independent(drawn: Samples) -> Float64Array:
    """(M, L) whose mean is I(x; z_i) − I(z_i; z_≠i)."""
    return _informative(drawn) - _shared(drawn)


def _ranked(
    name: str,
    measure: Callable[[Samples], Float64Array],
    codes: CodesLike,
    logvar: ArrayLike | None,
    settings: Ranking,
    protocol: str,
    bootstrap: int,
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
        units, notes = np.maximum(entropy(tables.masses[0]), 1e-12), tables.note(codes, grid)

    def value(means: Float64Array) -> Float64Array:
        information, measured = means[..., 0, :], means[..., 1, :] / units
        if settings.k:
            return np.asarray(np.sort(measured, axis=-1)[..., -settings.k :].mean(axis=-1))
        weights = np.maximum(information, 0)
        return np.asarray((weights * measured).sum(-1) / np.maximum(weights.sum(-1), 1e-12))

    statistics = np.stack([_informative(drawn), measure(drawn)], axis=1)
    bounds = (0.0 if measure is _alone else -np.inf, np.inf)
    point, around = sampled_value(statistics, value, bounds, bootstrap, seed)
    per_latent = statistics[:, 1].mean(axis=0) / units
    return _score(name, point, protocol, settings, seed, codes, per_latent, around, notes)


def _score(
    name: str,
    value: float,
    protocol: str,
    settings: Sampling,
    seed: int,
    codes: Codes,
    per_latent: Float64Array,
    around: tuple[float, float] | None,
    notes: tuple[str, ...] = (),
) -> Score:
    return Score(
        name=name,
        value=value,
        protocol=protocol,
        direction="lower" if name == "separability" else "higher",
        settings={**asdict(settings), "seed": seed},
        per_latent=dict(zip(codes.names, per_latent.tolist(), strict=True)),
        interval=around,
        notes=means_only_note(codes) + notes,
    )
