"""Gaps between the two latents that know most of a factor: RMIG and JEMMIG (Do & Tran 2020, §3.3).

Both start from the matrix I(z_i; y_k). I* and I° are its highest and second highest values over latents, kept
between 0 and H(y_k), which sampled values may miss by their error.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict

import numpy as np
from numpy.typing import ArrayLike

from distaff.codes import Codes
from distaff.metrics.declare import metric, settle
from distaff.metrics.entropies import entropy, highest_two, one_latent_note
from distaff.metrics.informativeness import Estimate, Estimation
from distaff.metrics.inputs import CodesLike, FactorsLike, Float64Array
from distaff.metrics.labels import Labels, read_labels
from distaff.metrics.quantized import posterior_tables
from distaff.metrics.sampled import means_only_note, samples_of
from distaff.metrics.score import Basis, Score

PROTOCOLS = {"do20": Estimation()}


@metric(paper="Do & Tran 2020", protocols=PROTOCOLS, posterior="yes")
def rmig(
    codes: CodesLike,
    factors: FactorsLike | None = None,
    *,
    probabilities: Mapping[str, ArrayLike] | None = None,
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
    """Robust MIG: mean over factors of I* − I° in nats, from q(z|x) and p(y|x).

    Do & Tran 2020, Eq. 10. On a full factor grid it is nearly the MIG of Chen et al. before its division.

    Args:
        codes: (N, D) means, or ``Codes``.
        factors: (N, K) classes.
        probabilities: soft labels p(y_k|x_n) instead of factors: name → (N, classes).
        protocol: ``"do20"``: 100 bins over [−4, 4], closed-form Gaussian masses renormalised over the range.
        estimate: ``"quantized"`` or ``"sampled"``.
        bins: number of bins.
        low: lower end of the range.
        high: upper end of the range.
        samples: draws of the sampled estimate.
        normalize: whether to divide by H(y_k), which favours rare attributes.
        bootstrap: halves of the rows to score for the interval, 0 for none.
        seed: of the draws.
    """
    settings, protocol = settle(
        PROTOCOLS,
        protocol,
        idle=lambda s: ("samples",) if s.estimate == "quantized" else ("bins", "low", "high"),
        estimate=estimate,
        bins=bins,
        low=low,
        high=high,
        samples=samples,
        normalize=normalize,
    )
    codes, labels = read_labels(codes, factors, probabilities)
    heights = labels.entropies
    units = heights if settings.normalize else np.ones(len(heights))

    def gaps(_entropies: Float64Array, information: Float64Array) -> Float64Array:
        best, second = highest_two(np.clip(information, 0, heights))
        return np.asarray((best - second) / units)

    return _estimated("rmig", gaps, codes, labels, settings, protocol, seed)


@metric(paper="Do & Tran 2020", protocols=PROTOCOLS, direction="lower", posterior="yes")
def jemmig(
    codes: CodesLike,
    factors: FactorsLike | None = None,
    *,
    probabilities: Mapping[str, ArrayLike] | None = None,
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
    """Joint entropy minus the gap: mean over factors of H(z*, y_k) − I* + I°, in nats; lower is better.

    Do & Tran 2020, §3.3 and A.12. z* is the latent with the highest I(z_i; y_k): it should know the factor
    and nothing else. Normalised, it is [H(z*) + H(y) − 2I* + I°] / [log(bins) + H(y)], within [0, 1] for the
    quantized estimate. The sampled H(z*) is a density's, so that value lies lower by −log(bin width), and the
    normalised form moves it back (Eq. 17).

    Args:
        codes: (N, D) means, or ``Codes``.
        factors: (N, K) classes.
        probabilities: soft labels p(y_k|x_n) instead of factors: name → (N, classes).
        protocol: ``"do20"``: 100 bins over [−4, 4], closed-form Gaussian masses renormalised over the range.
        estimate: ``"quantized"`` or ``"sampled"``.
        bins: number of bins.
        low: lower end of the range.
        high: upper end of the range.
        samples: draws of the sampled estimate.
        normalize: whether to divide by log(bins) + H(y_k).
        bootstrap: halves of the rows to score for the interval, 0 for none.
        seed: of the draws.
    """
    settings, protocol = settle(
        PROTOCOLS,
        protocol,
        idle=lambda s: () if s.estimate == "sampled" and s.normalize else s.idle,
        estimate=estimate,
        bins=bins,
        low=low,
        high=high,
        samples=samples,
        normalize=normalize,
    )
    codes, labels = read_labels(codes, factors, probabilities)
    heights = labels.entropies
    continuous = np.arange(len(codes.names)) < codes.means.shape[1]
    sizes = [settings.bins] * continuous.sum() + [p.shape[1] for p in codes.categories.values()]
    log_bins = np.log(sizes)
    shift = 0.0
    if settings.estimate == "sampled" and settings.normalize:
        shift = -np.log((settings.high - settings.low) / settings.bins)

    def joint_less_gap(entropies: Float64Array, information: Float64Array) -> Float64Array:
        best, second = highest_two(np.clip(information, 0, heights))
        star = information.argmax(axis=-2)
        own = np.take_along_axis(entropies + shift * continuous, star, axis=-1)
        raw = own + heights - 2 * best + second
        return np.asarray(raw / (log_bins[star] + heights) if settings.normalize else raw)

    return _estimated("jemmig", joint_less_gap, codes, labels, settings, protocol, seed)


def _estimated(
    name: str,
    per_factor: Callable[[Float64Array, Float64Array], Float64Array],
    codes: Codes,
    labels: Labels,
    settings: Estimation,
    protocol: str,
    seed: int,
) -> Score:
    """The score whose (K,) parts follow from H(z_i) (L,) and I(z_i; y_k) (L, K)."""
    bounds = (0.0 if settings.estimate == "quantized" else -np.inf, 1.0 if settings.normalize else np.inf)
    notes = labels.notes + means_only_note(codes) + one_latent_note(codes)
    if settings.estimate == "quantized":
        tables = posterior_tables(codes, settings.grid, labels)
        entropies, information = entropy(tables.masses), tables.information(labels)
        notes += tables.note(codes, settings.grid)
    else:
        entropies = -samples_of(codes, settings.samples, seed).log_qz_dims.mean(axis=0)
        information = sampled_information(codes, labels, settings.samples, seed).mean(axis=0)
    breakdown = per_factor(entropies, information)
    stored = {**asdict(settings), "seed": seed, "labels": "hard" if labels.classes is not None else "soft"}
    return Score(
        name=name,
        value=float(breakdown.mean()),
        protocol=protocol,
        direction="lower" if name == "jemmig" else "higher",
        settings=stored,
        per_factor=dict(zip(labels.names, breakdown.tolist(), strict=True)),
        details=gap_details(codes, labels, information),
        notes=notes,
        basis=Basis(settings.rows(len(codes)), bounds=bounds),
    )


def sampled_information(codes: Codes, labels: Labels, count: int, seed: int) -> Float64Array:
    """(M, L, K) log q(z_i|y_k) − log q(z_i), whose mean is I(z_i; y_k)."""
    drawn = samples_of(codes, count, seed)
    return drawn.log_qz_y(labels) - drawn.log_qz_dims[:, :, None]


def gap_details(codes: Codes, labels: Labels, information: Float64Array) -> dict[str, object]:
    """What lies behind a gap: the matrix I(z_i; y_k) (L, K), and which latent is the best for each factor."""
    star = information.argmax(axis=0)
    return {
        "mutual_information": information,
        "latents": codes.names,
        "best_latent": {name: codes.names[i] for name, i in zip(labels.names, star, strict=True)},
        "factor_entropies": labels.entropies,
    }
