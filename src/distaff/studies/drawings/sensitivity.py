"""How metrics answer to their own settings: votes, iterations, bins, samples, spare latents.

Each takes the codes of the study's runs, or, in a study without runs, synthetic codes of 2D Shapes.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from distaff import figures
from distaff.codes import Codes
from distaff.data.splits import some_rows
from distaff.errors import DistaffError
from distaff.evaluation import varied_factors
from distaff.metrics import Factors
from distaff.metrics.factor_vae import factor_vae_score
from distaff.metrics.gaps import jemmig, rmig
from distaff.metrics.informativeness import informativeness
from distaff.metrics.separability import separability, total_information
from distaff.metrics.sepin import wsepin
from distaff.metrics.z_diff import z_diff
from distaff.studies.drawings.latents import one_each
from distaff.studies.drawings.runs import Settings, Where, chosen, codes_of, data_of, grouped
from distaff.studies.drawings.synthetic import KINDS, synthetic_codes
from distaff.studies.results import Results
from distaff.studies.study_run import StudyRun

Pair = tuple[Codes, Factors]
BATCH = 10
"""Points that Adagrad reads an iteration (FactorVAE, App. B)."""


def z_diff_sensitivity(
    results: Results,
    *,
    iterations: Sequence[int] = (500, 1000, 2000, 5000, 10_000),
    sizes: Sequence[int] = (50, 100, 200),
    seeds: int = 10,
    where: Where = None,
    observations: int = 20_000,
) -> Figure:
    """Higgins' score of fixed codes against Adagrad's iterations and L: the FactorVAE paper's Fig. 16.

    Args:
        results: of the study.
        iterations: of ten points each; 800 fresh points are the test.
        sizes: L, the pairs in a point, a line each.
        seeds: of the metric; mean and standard deviation over them are drawn.
        where: settings that the run must have; the first such run is taken.
        observations: how many random ones stand for the data.
    """
    codes, factors = _one(results, where, observations)

    def measure(size: int, seed: int, steps: int) -> float:
        points = BATCH * steps
        return z_diff(codes, factors, protocol="kim18", points=points, pairs=size, seed=seed).value

    lines = {size: _table(seeds, iterations, partial(measure, size)) for size in sizes}
    return figures.metric_sensitivity(
        iterations, {"Z-diff score": lines}, x_label="Adagrad iterations", series="L"
    )


def factor_vae_sensitivity(
    results: Results,
    *,
    votes: Sequence[int] = (100, 200, 400, 800, 1600),
    sizes: Sequence[int] = (25, 50, 100, 200),
    seeds: int = 10,
    where: Where = None,
    observations: int = 20_000,
) -> Figure:
    """The FactorVAE score of fixed codes against votes and L: the FactorVAE paper's Fig. 17.

    Args:
        results: of the study.
        votes: that make the classifier and test it.
        sizes: L, the observations in a vote, a line each.
        seeds: of the metric; mean and standard deviation over them are drawn.
        where: settings that the run must have; the first such run is taken.
        observations: how many random ones stand for the data.
    """
    codes, factors = _one(results, where, observations)

    def measure(size: int, seed: int, count: int) -> float:
        return factor_vae_score(codes, factors, votes=count, size=size, seed=seed).value

    lines = {size: _table(seeds, votes, partial(measure, size)) for size in sizes}
    return figures.metric_sensitivity(votes, {"FactorVAE score": lines}, x_label="votes", series="L")


def bins_sensitivity(
    results: Results,
    *,
    bins: Sequence[int] = (20, 50, 100, 200, 500),
    curve: Settings = "recipe",
    where: Where = None,
    observations: int = 20_000,
) -> Figure:
    """RMIG, JEMMIG and H(z*, y) against the number of bins in [−4, 4]: Do & Tran's Fig. 17."""
    quantities: dict[str, Callable[[Codes, Factors, int], float]] = {
        "RMIG, normalised": lambda c, f, n: rmig(c, f, bins=n, normalize=True).value,
        "JEMMIG, normalised": lambda c, f, n: jemmig(c, f, bins=n, normalize=True).value,
        # JEMMIG is H(z*, y) less RMIG.
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
    """JEMMIG and WSEPIN against the number of samples they are estimated from: Do & Tran's Fig. 18.

    Args:
        results: of the study.
        samples: draws of (x, z).
        seeds: of the draws; mean and standard deviation over them are drawn.
        curve: the settings that tell lines apart.
        where: settings that the runs must have.
        observations: how many random ones stand for the data.
    """
    scores: dict[str, dict[str, np.ndarray]] = {"JEMMIG, sampled (nats)": {}, "WSEPIN (nats)": {}}
    for name, (codes, factors) in _each(results, curve, where, observations).items():

        def joint(seed: int, count: int, c: Codes = codes, f: Factors = factors) -> float:
            return jemmig(c, f, estimate="sampled", samples=count, seed=seed).value

        def alone(seed: int, count: int, c: Codes = codes) -> float:
            return wsepin(c, samples=count, seed=seed).value

        for lines, measure in zip(scores.values(), (joint, alone), strict=True):
            lines[name] = _table(seeds, samples, measure)
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
    """Information, separability and gaps against the number of latents: Do & Tran's Fig. 19.

    Args:
        results: of a study whose runs differ in ``latents``, of which the first of each is taken; synthetic
            codes get spare ones of noise.
        latents: of synthetic codes.
        curve: the settings that tell lines apart.
        where: settings that the runs must have.
        samples: draws of (x, z).
        observations: how many random ones stand for the data.
    """
    several: dict[str, dict[int, Pair]] = {}
    if results.study.runs:
        for name, runs in grouped(chosen(results, where), curve).items():
            of_name = several.setdefault(str(name), {})
            for run in runs:
                codes, factors = _pair(run, observations)
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


def _one(results: Results, where: Where, observations: int) -> Pair:
    """The codes and factors of the first run, or synthetic ones with some factors apart and some not."""
    if not results.study.runs:
        return synthetic_codes("partly", observations, seed=1)
    return _pair(chosen(results, where)[0], observations)


def _each(results: Results, curve: Settings, where: Where, observations: int) -> dict[str, Pair]:
    """Codes and factors of one run for each value of the settings, or of every kind of synthetic codes."""
    if not results.study.runs:
        return {kind: synthetic_codes(kind, observations) for kind in KINDS}
    picked = one_each(results, curve, None, where)
    return {name: _pair(run, observations) for name, run in picked.items()}


def _pair(run: StudyRun, observations: int) -> Pair:
    data = data_of(run)
    rows = some_rows(len(data), observations)
    factors = varied_factors(data.subset(rows))
    if factors is None:
        raise DistaffError(f"{data.name} has no factors, which this figure is about.")
    return codes_of(run)[rows], factors


def _table(seeds: int, settings: Sequence[int], measure: Callable[[int, int], float]) -> np.ndarray:
    """(seeds, settings) of a measure."""
    return np.array([[measure(seed, setting) for setting in settings] for seed in range(seeds)])
