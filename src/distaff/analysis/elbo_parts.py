"""The decomposition of an ELBO, and its table for display."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from distaff.codes import FloatArray


@dataclass(frozen=True)
class Decomposition:
    """The terms of the ELBO over a data set or a random sample of it, in nats.

    Undefined values are None, and ``undefined`` says why: without noise in the encoder (σ = 0, ``point``
    latents) q(z|x) has no density. I(x; z) and total correlations are then limits for σ → 0, as in metrics.

    Args:
        nll: −E log p(x|z).
        kl: E KL(q(z|x) ‖ p(z)).
        kl_per_latent: E KL(q(z_d|x) ‖ p(z_d)) of each latent; they add up to ``kl`` if latents are
            independent under the prior, which they are not under ``full_covariance``.
        exact: terms with q(z) summed over the whole data set. ``mutual_information`` and
            ``total_correlation`` of Gaussian latents equal ``metrics.total_information`` and
            ``metrics.total_correlation`` with the same number of samples and the same seed; discrete latents
            are relaxed here and at a class there. On a sample of the data set, they are estimates: q(z) of
            the whole data set is estimated without bias (``WholeSet``), but its logarithm is a little too
            low, so that I(x; z) is a little too high and the total correlation too low.
        minibatch: the same terms as estimated by the run's batches, over the whole data set, with
            ``density``.
        density: estimator of q(z) in the minibatch column.
        log_px: importance-weighted bound on E log p(x): −nll − kl, plus the mean distance of the bound from
            the ELBO over ``bounded`` observations.
        particles: number of particles of that bound.
        critic: the same terms as estimated by the run's own critics.
        undefined: why some values are None; empty if none is.
        observations: number of observations for ``nll``, ``kl`` and ``exact``.
        data_size: number of observations in the data set.
        samples: number of z over which ``exact`` is averaged.
        bounded: number of observations over which the bound's distance from the ELBO is averaged.
        seed: seed of the sample and of every draw.
        standard_errors: of ``nll``, ``kl``, ``elbo`` and ``log_px``. On a sample they are s/√N; on the whole
            data set they are due to the single draw of z per observation, so a closed-form ``kl`` has none.
    """

    nll: float
    kl: float | None
    kl_per_latent: Mapping[str, float | None]
    exact: Mapping[str, float | None]
    minibatch: Mapping[str, float | None]
    density: str
    log_px: float | None
    particles: int
    critic: Mapping[str, float] = field(default_factory=dict)
    undefined: str = ""
    observations: int = 0
    data_size: int = 0
    samples: int = 0
    bounded: int = 0
    seed: int = 0
    standard_errors: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        by_batch, by_critic = f"by {self.density}", "by critic" if self.critic else ""
        of_all = "exact" if self.observations == self.data_size else "by sample"
        lines = [f"{'term (nats)':24}{of_all:>10}{by_batch:>22}{by_critic:>12}"]
        lines += [self._row("nll", self.nll, "nll"), self._row("kl", self.kl, "kl")]
        for name, value in self.exact.items():
            critic = _number(self.critic[name], 12) if name in self.critic else ""
            lines.append(f"{name:24}{_number(value)}{_number(self.minibatch[name], 22)}{critic}")
        lines += [self._row(f"kl of {name}", value) for name, value in self.kl_per_latent.items()]
        lines.append(self._row("ELBO", None if self.kl is None else -self.nll - self.kl, "elbo"))
        lines.append(self._row(f"log p(x) ≥, IWAE {self.particles}", self.log_px, "log_px"))
        return "\n".join([*lines, *self._notes()])

    def _row(self, title: str, value: float | None, known_as: str = "") -> str:
        error = self.standard_errors.get(known_as)
        return f"{title:24}{_number(value)}" + ("" if error is None else f" ± {error:.2g}")

    def _notes(self) -> list[str]:
        notes = [f"–: {self.undefined}"] if self.undefined else []
        if self.standard_errors:
            notes.append("±: standard error.")
        if self.observations < self.data_size:
            notes.append(
                f"by sample: over {self.observations:,} of the {self.data_size:,} observations, chosen at "
                "random, with q(z) of all estimated from these; --observations all makes it exact."
            )
        return notes


def standard_error(values: FloatArray) -> float:
    """The standard error of the mean; NaN for a single value or infinite ones."""
    if len(values) < 2 or not np.isfinite(values).all():
        return math.nan
    return float(values.std(ddof=1, dtype=np.float64) / np.sqrt(len(values)))


def _number(value: float | None, width: int = 10) -> str:
    return f"{'–':>{width}}" if value is None else f"{value:{width}.3f}"
