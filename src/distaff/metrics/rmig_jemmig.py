"""Gaps between the two latents most informative about a factor: RMIG and JEMMIG (Do & Tran 2020, §3.3).

Both use the matrix I(z_i; y_k). I* and I° are its highest and second highest values over latents, clipped to
[0, H(y_k)], since sampled estimates can lie outside.
"""

from collections.abc import Callable

import numpy as np

from distaff.codes import Codes
from distaff.metrics.informativeness import Estimation
from distaff.metrics.inputs import Float64Array
from distaff.metrics.labels import Labels, entropy, gap_details, highest_two, one_latent_note
from distaff.metrics.metric import metric
from distaff.metrics.quantized import MASSES_OF_BINS, posterior_tables
from distaff.metrics.result import Result
from distaff.metrics.sampled import samples_of


@metric(
    paper="Do & Tran 2020",
    protocols={"do20": Estimation()},
    posterior="yes",
    by_factor=True,
    says="compactness",
    idle=lambda s, _: ("samples",) if s.estimate == "quantized" else ("bins", "low", "high"),
    widest=MASSES_OF_BINS,
)
def rmig(codes: Codes, labels: Labels, settings: Estimation, seed: int) -> Result:
    """Robust MIG: mean over factors of I* − I° in nats, from q(z|x) and p(y|x).

    Do & Tran 2020, Eq. 10. On a full factor grid it is nearly the MIG of Chen et al. before normalisation.

    Args:
        protocol: ``"do20"``: 100 bins over [−4, 4], closed-form Gaussian masses renormalised over the range.
        normalize: whether to divide by H(y_k), which favours rare attributes.

    Examples:
        >>> import numpy as np
        >>> from distaff import Codes
        >>> from distaff.metrics import rmig
        >>> factors = np.indices((2, 2)).reshape(2, -1).T
        >>> certain = Codes(factors - 0.5, np.full((4, 2), -10.0))  # one latent per factor, with little noise
        >>> round(rmig(certain, factors).value, 4)  # log 2
        0.6931

    See Also:
        ``jemmig``, which also asks that the best latent encodes nothing else; ``mig``.
    """
    heights = labels.entropies
    units = heights if settings.normalize else np.ones(len(heights))

    def gaps(_entropies: Float64Array, information: Float64Array) -> Float64Array:
        best, second = highest_two(np.clip(information, 0, heights))
        return np.asarray((best - second) / units)

    return _estimated(gaps, codes, labels, settings, seed)


@metric(
    paper="Do & Tran 2020",
    protocols={"do20": Estimation()},
    direction="lower",
    posterior="yes",
    by_factor=True,
    says="both",
    idle=lambda s, _: () if s.estimate == "sampled" and s.normalize else s.idle,
    widest=MASSES_OF_BINS,
)
def jemmig(codes: Codes, labels: Labels, settings: Estimation, seed: int) -> Result:
    """Joint entropy minus the gap: mean over factors of H(z*, y_k) − I* + I°, in nats; lower is better.

    Do & Tran 2020, §3.3 and A.12. z* is the latent with the highest I(z_i; y_k): it should determine the
    factor and encode nothing else. Normalised, the score is [H(z*) + H(y) − 2I* + I°] / [log(bins) + H(y)],
    within [0, 1] for the quantized estimate. The sampled H(z*) is that of a density, so the sampled value is
    lower by −log(bin width), which the normalised form corrects (Eq. 17).

    Args:
        protocol: ``"do20"``: 100 bins over [−4, 4], closed-form Gaussian masses renormalised over the range.
        normalize: whether to divide by log(bins) + H(y_k).

    Examples:
        >>> import numpy as np
        >>> from distaff.metrics import jemmig
        >>> factors = np.indices((4, 5)).reshape(2, -1).T
        >>> abs(round(jemmig(factors - 2.0, factors).value, 6))  # each latent encodes its factor only
        0.0

    See Also:
        ``rmig``, only the gap; ``misjed``, which needs no labels.
    """
    heights = labels.entropies
    continuous = np.arange(len(codes.names)) < codes.means.shape[1]
    log_bins = np.log([settings.bins] * continuous.sum() + [p.shape[1] for p in codes.categories.values()])
    shift = 0.0
    if settings.estimate == "sampled" and settings.normalize:
        shift = -np.log((settings.high - settings.low) / settings.bins)

    def joint_less_gap(entropies: Float64Array, information: Float64Array) -> Float64Array:
        best, second = highest_two(np.clip(information, 0, heights))
        star = information.argmax(axis=-2)
        own = np.take_along_axis(entropies + shift * continuous, star, axis=-1)
        raw = own + heights - 2 * best + second
        return np.asarray(raw / (log_bins[star] + heights) if settings.normalize else raw)

    return _estimated(joint_less_gap, codes, labels, settings, seed)


def _estimated(
    per_factor: Callable[[Float64Array, Float64Array], Float64Array],
    codes: Codes,
    labels: Labels,
    settings: Estimation,
    seed: int,
) -> Result:
    """The result, from the function that computes the (K,) values from H(z_i) (L,) and I(z_i; y_k) (L, K)."""
    notes = one_latent_note(codes)
    if settings.estimate == "quantized":
        tables = posterior_tables(codes, settings.grid, labels)
        entropies, information = entropy(tables.masses), tables.information(labels)
        notes += tables.note(codes, settings.grid)
    else:
        entropies = -samples_of(codes, settings.samples, seed).log_qz_dims.mean(axis=0)
        information = sampled_information(codes, labels, settings.samples, seed).mean(axis=0)
    breakdown = per_factor(entropies, information)
    return Result(
        breakdown.mean(),
        per_factor=breakdown,
        details=gap_details(codes, labels, information),
        notes=notes,
        settings={"labels": "hard" if labels.classes is not None else "soft"},
        rows=settings.rows(len(codes)),
        bounds=(0.0 if settings.estimate == "quantized" else -np.inf, 1.0 if settings.normalize else np.inf),
    )


def sampled_information(codes: Codes, labels: Labels, count: int, seed: int) -> Float64Array:
    """(M, L, K) log q(z_i|y_k) − log q(z_i), whose mean is I(z_i; y_k)."""
    drawn = samples_of(codes, count, seed)
    return drawn.log_qz_y(labels) - drawn.log_qz_dims[:, :, None]
