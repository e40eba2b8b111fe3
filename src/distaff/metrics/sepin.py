"""Information about x that only one latent has: SEPIN, WSEPIN, INDIN, WINDIN (Do & Tran 2020, §3.2)."""

from dataclasses import dataclass

import numpy as np

from distaff.codes import Codes
from distaff.foundation.errors import DistaffError
from distaff.metrics.binned_means import Bins
from distaff.metrics.inputs import Float64Array
from distaff.metrics.labels import entropy
from distaff.metrics.metric import metric
from distaff.metrics.options import BinCount, Count, SampleCount
from distaff.metrics.quantized import posterior_tables
from distaff.metrics.result import Result
from distaff.metrics.sampled import EACH_LEFT_OUT, Samples, samples_of


@dataclass(frozen=True)
class Weighting:
    """The unit of each latent's value: nats, or a share of its own entropy.

    Args:
        samples: number of draws.
        normalize: whether to divide each latent's value by the quantized H(z_i).
        bins: number of bins of H(z_i).
        low: lower end of the range of the bins.
        high: upper end of the range of the bins.
    """

    samples: SampleCount = 10_000
    normalize: bool = False
    bins: BinCount = 100
    low: float = -4.0
    high: float = 4.0


@dataclass(frozen=True)
class Ranking(Weighting):
    """The best latents, in nats or as shares of their own entropies.

    Args:
        k: how many latents to average.
    """

    k: Count = 3


def _idle(settings: Weighting, _: Codes) -> tuple[str, ...]:
    return () if settings.normalize else ("bins", "low", "high")


@metric(
    paper="Do & Tran 2020",
    protocols={"do20": Ranking()},
    posterior="yes",
    idle=_idle,
    says="independence",
    widest=EACH_LEFT_OUT,
)
def sepin(codes: Codes, settings: Ranking, seed: int) -> Result:
    """SEPIN@k: mean of the k highest I(x; z_i|z_≠i), the information on x that only z_i has, in nats.

    I(x; z_i|z_≠i) = I(x; z) − I(x; z_≠i).

    Args:
        protocol: ``"do20"``: k = 3 (or the number of latents, if there are fewer), 10,000 samples.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import sepin
        >>> mu = np.indices((2, 4)).reshape(2, -1).T  # latents of log 2 and log 4 nats
        >>> round(sepin(mu, np.full((8, 2), -10.0), k=1, samples=800).value, 2)  # log 4
        1.39

    See Also:
        ``wsepin``, over all latents; ``indin``; ``informativeness``.
    """
    drawn = samples_of(codes, settings.samples, seed)
    return _best(codes, drawn, drawn.alone, settings)


@metric(
    paper="Do & Tran 2020",
    protocols={"do20": Weighting()},
    posterior="yes",
    idle=_idle,
    says="independence",
    widest=EACH_LEFT_OUT,
)
def wsepin(codes: Codes, settings: Weighting, seed: int) -> Result:
    """WSEPIN: Σ_i ρ_i I(x; z_i|z_≠i) with ρ_i = I(x; z_i) / Σ_j I(x; z_j), in nats.

    Latents without information have no weight, so adding them changes nothing.

    Args:
        protocol: ``"do20"``: 10,000 samples.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import wsepin
        >>> mu = np.indices((2, 2)).reshape(2, -1).T  # two latents of log 2 nats
        >>> round(wsepin(mu, np.full((4, 2), -10.0), samples=400).value, 2)
        0.69

    See Also:
        ``sepin``, over the best latents; ``windin``.
    """
    drawn = samples_of(codes, settings.samples, seed)
    return _weighted(codes, drawn, drawn.alone, settings)


@metric(
    paper="Do & Tran 2020",
    protocols={"do20": Ranking()},
    bounds=(-np.inf, np.inf),
    posterior="yes",
    idle=_idle,
    says="independence",
    widest=EACH_LEFT_OUT,
)
def indin(codes: Codes, settings: Ranking, seed: int) -> Result:
    """INDIN@k: mean of the k highest I(x; z_i) − I(z_i; z_≠i), informative and independent, in nats.

    For a factorised encoder, such as any given by means and log-variances, it equals SEPIN@k.

    Args:
        protocol: ``"do20"``: k = 3 (or the number of latents, if there are fewer), 10,000 samples.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import indin
        >>> mu = np.array([[-1.0, -1.0], [1.0, 1.0]])  # two latents that encode the same bit
        >>> abs(round(indin(mu, np.full((2, 2), -10.0), samples=400).value, 2))
        0.0

    See Also:
        ``sepin``; ``windin``, over all latents.
    """
    drawn = samples_of(codes, settings.samples, seed)
    return _best(codes, drawn, drawn.informative - drawn.shared, settings)


@metric(
    paper="Do & Tran 2020",
    protocols={"do20": Weighting()},
    bounds=(-np.inf, np.inf),
    posterior="yes",
    idle=_idle,
    says="independence",
    widest=EACH_LEFT_OUT,
)
def windin(codes: Codes, settings: Weighting, seed: int) -> Result:
    """WINDIN: Σ_i ρ_i [I(x; z_i) − I(z_i; z_≠i)] with ρ_i = I(x; z_i) / Σ_j I(x; z_j), in nats.

    Equal to WSEPIN for a factorised encoder.

    Args:
        protocol: ``"do20"``: 10,000 samples.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import windin
        >>> mu = np.indices((2, 2)).reshape(2, -1).T  # two independent latents of log 2 nats
        >>> round(windin(mu, np.full((4, 2), -10.0), samples=400).value, 2)
        0.69

    See Also:
        ``wsepin``; ``indin``, over the best latents.
    """
    drawn = samples_of(codes, settings.samples, seed)
    return _weighted(codes, drawn, drawn.informative - drawn.shared, settings)


def _best(codes: Codes, drawn: Samples, terms: Float64Array, settings: Ranking) -> Result:
    """The mean over the k best latents of terms (M, L), whose means over samples are the latents' values."""
    count = len(codes.names)
    if settings.k > count and settings.k != Ranking.k:
        raise DistaffError(f"k={settings.k} for {count} latents: use 1 to {count}.")
    per_latent, notes = _per_latent(codes, terms, settings)
    value = np.sort(per_latent)[-settings.k :].mean()
    return Result(value, per_latent=per_latent, notes=notes, rows=min(drawn.count, len(codes)))


def _weighted(codes: Codes, drawn: Samples, terms: Float64Array, settings: Weighting) -> Result:
    """The mean over latents weighted by their informativeness, of terms (M, L) as in ``_best``."""
    per_latent, notes = _per_latent(codes, terms, settings)
    weights = np.maximum(drawn.informative.mean(axis=0), 0)
    value = (weights * per_latent).sum() / np.maximum(weights.sum(), 1e-12)
    return Result(value, per_latent=per_latent, notes=notes, rows=min(drawn.count, len(codes)))


def _per_latent(
    codes: Codes, terms: Float64Array, settings: Weighting
) -> tuple[Float64Array, tuple[str, ...]]:
    """(L,) means over samples, optionally divided by H(z_i), and notes on what the bins of H(z_i) miss."""
    means = terms.mean(axis=0)
    if not settings.normalize:
        return means, ()
    grid = Bins(settings.bins, settings.low, settings.high)
    tables = posterior_tables(codes, grid)
    return means / np.maximum(entropy(tables.masses), 1e-12), tables.note(codes, grid)
