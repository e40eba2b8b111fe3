"""How much a latent knows of x: I(x; z_i) (Do & Tran 2020, §3.1, A.10)."""

from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from distaff.metrics.declare import metric, settle
from distaff.metrics.entropies import entropy
from distaff.metrics.inputs import CodesLike, as_codes
from distaff.metrics.options import BinCount, SampleCount
from distaff.metrics.quantized import Bins, posterior_tables
from distaff.metrics.sampled import means_only_note, samples_of
from distaff.metrics.score import Basis, Score

Estimate = Literal["quantized", "sampled"]


@dataclass(frozen=True)
class Estimation:
    """``bins`` over [low, high] for quantized terms, ``samples`` for sampled ones."""

    estimate: Estimate = "quantized"
    bins: BinCount = 100
    low: float = -4.0
    high: float = 4.0
    samples: SampleCount = 10_000
    normalize: bool = False

    @property
    def idle(self) -> tuple[str, ...]:
        """Settings of the other estimate; normalised values need the number of bins in any case."""
        if self.estimate == "quantized":
            return ("samples",)
        return ("low", "high") if self.normalize else ("bins", "low", "high")

    @property
    def grid(self) -> Bins:
        """The bins of the quantized terms."""
        return Bins(self.bins, self.low, self.high)

    def rows(self, count: int) -> int:
        """Of how many of ``count`` observations the estimate is a mean."""
        return count if self.estimate == "quantized" else min(self.samples, count)


PROTOCOLS = {"do20": Estimation(normalize=True)}


@metric(paper="Do & Tran 2020", protocols=PROTOCOLS, bounds=(0, 1), inputs="codes", posterior="yes")
def informativeness(
    codes: CodesLike,
    logvar: ArrayLike | None = None,
    *,
    protocol: str = "do20",
    estimate: Estimate | None = None,
    bins: int | None = None,
    low: float | None = None,
    high: float | None = None,
    samples: int | None = None,
    normalize: bool | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Score:
    """Mean over latents of I(x; z_i), the information a latent has about its observation.

    I(x; z_i) = H(z_i) − H(z_i|x), by default quantized and divided by log(bins) (by the log of the number of
    classes for a categorical latent), as the paper advises. A latent that ignores x has 0. Sampled and
    quantized values agree for narrow bins, except that quantized ones see nothing finer than a bin.

    Args:
        codes: (N, D) means, or ``Codes``.
        logvar: (N, D) log-variances; −inf is a deterministic latent.
        protocol: ``"do20"``: 100 bins over [−4, 4], closed-form Gaussian masses renormalised over the range.
        estimate: ``"quantized"`` or ``"sampled"``.
        bins: number of bins.
        low: lower end of the range.
        high: upper end of the range.
        samples: draws of the sampled estimate.
        normalize: whether to divide by log(bins).
        bootstrap: halves of the rows to score for the interval, 0 for none.
        seed: of the draws.
    """
    settings, protocol = settle(
        PROTOCOLS,
        protocol,
        idle=lambda s: s.idle,
        estimate=estimate,
        bins=bins,
        low=low,
        high=high,
        samples=samples,
        normalize=normalize,
    )
    codes = as_codes(codes, logvar)
    sizes = [settings.bins] * codes.means.shape[1] + [p.shape[1] for p in codes.categories.values()]
    units = np.log(sizes) if settings.normalize else np.ones(len(sizes))
    notes = means_only_note(codes)
    if settings.estimate == "quantized":
        tables = posterior_tables(codes, settings.grid)
        per_latent = np.maximum(entropy(tables.masses) - tables.conditional, 0) / units
        notes += tables.note(codes, settings.grid)
    else:
        per_latent = samples_of(codes, settings.samples, seed).informative.mean(axis=0) / units
    return Score(
        name="informativeness",
        value=float(per_latent.mean()),
        protocol=protocol,
        settings={**asdict(settings), "seed": seed},
        per_latent=dict(zip(codes.names, per_latent.tolist(), strict=True)),
        notes=notes,
        basis=Basis(settings.rows(len(codes)), bounds=(0.0, 1.0 if settings.normalize else np.inf)),
    )
