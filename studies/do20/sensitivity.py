"""Sensitivity of RMIG, JEMMIG and related metrics to bins, samples and spare latents (Fig. 17 to 19).

Each figure uses the codes of the study's runs, or, in a study without runs, synthetic codes of 2D Shapes.
"""

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.figure import Figure

from distaff import Codes, figures
from distaff.metrics import (
    Factors,
    informativeness,
    jemmig,
    rmig,
    separability,
    total_information,
    wsepin,
)
from distaff.studies import Results, Settings, Where, chosen, grouped, one_each
from studies.fixed_codes import KINDS, Pair, codes_and_factors, over_seeds, synthetic_codes


def bins_sensitivity(
    results: Results,
    *,
    bins: Sequence[int] = (20, 50, 100, 200, 500),
    curve: Settings = "recipe",
    where: Where = None,
    observations: int = 20_000,
) -> Figure:
    """RMIG, JEMMIG and H(z*, y) against the number of bins in [−4, 4]: Fig. 17."""
    quantities: dict[str, Callable[[Codes, Factors, int], float]] = {
        "RMIG, normalised": lambda c, f, n: rmig(c, f, bins=n, normalize=True).value,
        "JEMMIG, normalised": lambda c, f, n: jemmig(c, f, bins=n, normalize=True).value,
        # JEMMIG is H(z*, y) − RMIG.
        "H(z*, y) (nats)": lambda c, f, n: jemmig(c, f, bins=n).value + rmig(c, f, bins=n).value,
    }
    pairs = _each(results, curve, where, observations)
    scores = {
        text: {name: [measure(*pair, n) for n in bins] for name, pair in pairs.items()}
        for text, measure in quantities.items()
    }
    return figures.metric_sensitivity(bins, scores, x_label="bins", series="codes")


def samples_sensitivity(
    results: Results,
    *,
    samples: Sequence[int] = (500, 1000, 2000, 5000, 10_000),
    seeds: int = 3,
    curve: Settings = "recipe",
    where: Where = None,
    observations: int = 10_000,
) -> Figure:
    """JEMMIG and WSEPIN against the number of samples they are estimated from: Fig. 18.

    Args:
        results: results of the study.
        samples: numbers of draws of (x, z).
        seeds: number of seeds of the draws; the figure shows mean and standard deviation over them.
        curve: settings that distinguish lines.
        where: settings that the runs must have.
        observations: number of random observations that represent the data.
    """
    scores: dict[str, dict[str, np.ndarray]] = {"JEMMIG, sampled (nats)": {}, "WSEPIN (nats)": {}}
    for name, (codes, factors) in _each(results, curve, where, observations).items():

        def joint(seed: int, count: int, c: Codes = codes, f: Factors = factors) -> float:
            return jemmig(c, f, estimate="sampled", samples=count, seed=seed).value

        def alone(seed: int, count: int, c: Codes = codes) -> float:
            return wsepin(c, samples=count, seed=seed).value

        for lines, measure in zip(scores.values(), (joint, alone), strict=True):
            lines[name] = over_seeds(seeds, samples, measure)
    return figures.metric_sensitivity(samples, scores, x_label="samples", series="codes")


def latents_sensitivity(
    results: Results,
    *,
    latents: Sequence[int] = (5, 10, 15, 20),
    curve: Settings = "recipe",
    where: Where = None,
    samples: int = 10_000,
    observations: int = 10_000,
) -> Figure:
    """Information, separability and gaps against the number of latents: Fig. 19.

    Args:
        results: results of a study whose runs differ in ``latents``, the first run for each number; synthetic
            codes get spare latents of noise.
        latents: numbers of latents of synthetic codes.
        curve: settings that distinguish lines.
        where: settings that the runs must have.
        samples: number of draws of (x, z).
        observations: number of random observations that represent the data.
    """
    several: dict[str, dict[int, Pair]] = {}
    if results.study.runs:
        for name, runs in grouped(chosen(results, where), curve).items():
            of_name = several.setdefault(str(name), {})
            for run in runs:
                codes, factors = codes_and_factors(run, observations)
                of_name.setdefault(len(codes.names), (codes, factors))
    else:
        several = {kind: {n: synthetic_codes(kind, observations, n) for n in latents} for kind in KINDS}
    quantities: dict[str, Callable[[Codes, Factors], float]] = {
        r"mean of $I(x; z_i)$ (nats)": lambda c, f: (
            informativeness(c, estimate="sampled", samples=samples, normalize=False).value
        ),
        r"$I(x; z)$ (nats)": lambda c, f: total_information(c, samples=samples).value,
        r"mean of $I(z_i; z_{\neq i})$ (nats)": lambda c, f: separability(c, samples=samples).value,
        "WSEPIN (nats)": lambda c, f: wsepin(c, samples=samples).value,
        "RMIG, sampled (nats)": lambda c, f: rmig(c, f, estimate="sampled", samples=samples).value,
        "JEMMIG, sampled (nats)": lambda c, f: jemmig(c, f, estimate="sampled", samples=samples).value,
    }
    counts = sorted({count for pairs in several.values() for count in pairs})
    scores = {
        text: {
            name: [measure(*pairs[count]) if count in pairs else np.nan for count in counts]
            for name, pairs in several.items()
        }
        for text, measure in quantities.items()
    }
    return figures.metric_sensitivity(counts, scores, x_label="latents", series="codes", logarithmic=False)


def _each(results: Results, curve: Settings, where: Where, observations: int) -> dict[str, Pair]:
    """Codes and factors of one run for each value of the settings, or every kind of synthetic codes."""
    if not results.study.runs:
        return {kind: synthetic_codes(kind, observations) for kind in KINDS}
    picked = one_each(results, curve, None, where)
    return {name: codes_and_factors(run, observations) for name, run in picked.items()}
