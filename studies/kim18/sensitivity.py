"""Sensitivity of Higgins' score and the FactorVAE score to their own settings (Fig. 16, 17).

Both use the codes of the study's first run, or, in a study without runs, synthetic codes of 2D Shapes.
"""

from collections.abc import Sequence
from functools import partial

from matplotlib.figure import Figure

from distaff import figures
from distaff.metrics import factor_vae_score, z_diff
from distaff.studies import Results, Where, chosen
from studies.fixed_codes import Pair, codes_and_factors, over_seeds, synthetic_codes

BATCH = 10
"""Number of points per iteration of Adagrad (App. B)."""


def z_diff_sensitivity(
    results: Results,
    *,
    iterations: Sequence[int] = (500, 1000, 2000, 5000, 10_000),
    sizes: Sequence[int] = (50, 100, 200),
    seeds: int = 10,
    where: Where = None,
    observations: int = 20_000,
) -> Figure:
    """Higgins' score of fixed codes against Adagrad's iterations and L: Fig. 16.

    Args:
        results: results of the study.
        iterations: numbers of iterations, of ten points each; the test uses 800 new points.
        sizes: L, numbers of pairs in a point, one line each.
        seeds: number of seeds of the metric; the figure shows mean and standard deviation over them.
        where: settings that the run must have; the first such run is used.
        observations: number of random observations that represent the data.
    """
    codes, factors = _fixed(results, where, observations)

    def measure(size: int, seed: int, steps: int) -> float:
        points = BATCH * steps
        return z_diff(codes, factors, protocol="kim18", points=points, pairs=size, seed=seed).value

    lines = {size: over_seeds(seeds, iterations, partial(measure, size)) for size in sizes}
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
    """The FactorVAE score of fixed codes against votes and L: Fig. 17.

    Args:
        results: results of the study.
        votes: numbers of votes that train the classifier and test it.
        sizes: L, numbers of observations in a vote, one line each.
        seeds: number of seeds of the metric; the figure shows mean and standard deviation over them.
        where: settings that the run must have; the first such run is used.
        observations: number of random observations that represent the data.
    """
    codes, factors = _fixed(results, where, observations)

    def measure(size: int, seed: int, count: int) -> float:
        return factor_vae_score(codes, factors, votes=count, size=size, seed=seed).value

    lines = {size: over_seeds(seeds, votes, partial(measure, size)) for size in sizes}
    return figures.metric_sensitivity(votes, {"FactorVAE score": lines}, x_label="votes", series="L")


def _fixed(results: Results, where: Where, observations: int) -> Pair:
    """The codes and factors of the first run, or synthetic ones with some factors separate and some not."""
    if not results.study.runs:
        return synthetic_codes("partly", observations, seed=1)
    return codes_and_factors(chosen(results, where)[0], observations)
