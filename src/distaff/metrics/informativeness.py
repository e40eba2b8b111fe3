"""How much information a latent has about x: I(x; z_i) (Do & Tran 2020, §3.1, A.10)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from distaff.codes import Codes
from distaff.metrics.binned_means import Bins
from distaff.metrics.labels import entropy
from distaff.metrics.metric import metric
from distaff.metrics.options import BinCount, SampleCount
from distaff.metrics.quantized import MASSES_OF_BINS, posterior_tables
from distaff.metrics.result import Result
from distaff.metrics.sampled import samples_of


@dataclass(frozen=True)
class Estimation:
    """How information is estimated.

    Args:
        estimate: ``"quantized"`` or ``"sampled"``.
        bins: number of bins of the quantized estimate.
        low: lower end of the range of the bins.
        high: upper end of the range of the bins.
        samples: number of draws of the sampled estimate.
        normalize: whether to divide by log(bins).
    """

    estimate: Literal["quantized", "sampled"] = "quantized"
    bins: BinCount = 100
    low: float = -4.0
    high: float = 4.0
    samples: SampleCount = 10_000
    normalize: bool = False

    @property
    def idle(self) -> tuple[str, ...]:
        """The settings of the other estimate; normalised values need the number of bins in any case."""
        if self.estimate == "quantized":
            return ("samples",)
        return ("low", "high") if self.normalize else ("bins", "low", "high")

    @property
    def grid(self) -> Bins:
        """The bins of the quantized terms."""
        return Bins(self.bins, self.low, self.high)

    def rows(self, count: int) -> int:
        """How many of ``count`` observations the estimate averages over."""
        return count if self.estimate == "quantized" else min(self.samples, count)


@metric(
    paper="Do & Tran 2020",
    protocols={"do20": Estimation(normalize=True)},
    bounds=(0, 1),
    posterior="yes",
    idle=lambda settings, _: settings.idle,
    says="information",
    widest=MASSES_OF_BINS,
)
def informativeness(codes: Codes, settings: Estimation, seed: int) -> Result:
    """Mean over latents of I(x; z_i), the information a latent has about its observation.

    I(x; z_i) = H(z_i) − H(z_i|x), by default quantized and divided by log(bins) (by the log of the number of
    classes for a categorical latent), as the paper advises. A latent that ignores x has 0. Sampled and
    quantized values agree for narrow bins, except that quantized ones miss anything finer than a bin.

    Args:
        protocol: ``"do20"``: 100 bins over [−4, 4], closed-form Gaussian masses renormalised over the range.

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import informativeness
        >>> mu = np.array([[-1.0, 0.0], [1.0, 0.0]]).repeat(10, axis=0)
        >>> logvar = np.array([[-10.0, 0.0]]).repeat(20, axis=0)  # the second latent ignores x
        >>> score = informativeness(mu, logvar, normalize=False)
        >>> {name: abs(round(value, 4)) for name, value in score.per_latent.items()}  # log 2 and 0
        {'z0': 0.6931, 'z1': 0.0}

    See Also:
        ``total_information``, for all latents together; ``separability``; ``sepin``.
    """
    sizes = [settings.bins] * codes.means.shape[1] + [p.shape[1] for p in codes.categories.values()]
    units = np.log(sizes) if settings.normalize else np.ones(len(sizes))
    notes: tuple[str, ...] = ()
    if settings.estimate == "quantized":
        tables = posterior_tables(codes, settings.grid)
        per_latent = np.maximum(entropy(tables.masses) - tables.conditional, 0) / units
        notes = tables.note(codes, settings.grid)
    else:
        per_latent = samples_of(codes, settings.samples, seed).informative.mean(axis=0) / units
    return Result(
        per_latent.mean(),
        per_latent=per_latent,
        notes=notes,
        rows=settings.rows(len(codes)),
        bounds=(0.0, 1.0 if settings.normalize else np.inf),
    )
