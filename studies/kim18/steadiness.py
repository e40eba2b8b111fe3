"""Variation of Higgins' score and the FactorVAE score with their own settings: scores for tables of studies.

Fig. 16 and 17 as numbers; ``studies.kim18.sensitivity`` draws them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

from distaff import Codes
from distaff.metrics import Factors, Result, factor_vae_score, metric, z_diff
from studies.kim18.sensitivity import BATCH


@dataclass(frozen=True)
class Higgins:
    """The ranges of the settings of Higgins' score.

    Args:
        few: smallest number of iterations of Adagrad.
        many: largest number of iterations.
        small: smallest L, the number of pairs in a point.
        large: largest L.
        seeds: number of seeds of the metric, over which the mean is taken.
    """

    few: int = 500
    many: int = 10_000
    small: int = 50
    large: int = 200
    seeds: int = 3


@dataclass(frozen=True)
class Votes:
    """The ranges of the settings of the FactorVAE score.

    Args:
        few: smallest number of votes that train the classifier and test it.
        many: largest number of votes.
        small: smallest L, the number of observations in a vote.
        large: largest L.
        seeds: number of seeds of the metric, over which the mean is taken.
    """

    few: int = 100
    many: int = 1600
    small: int = 50
    large: int = 200
    seeds: int = 3


@metric(paper="Kim & Mnih 2018", protocols={"kim18": Higgins()}, bounds=(0, 1))
def higgins_after_few(codes: Codes, factors: Factors, settings: Higgins) -> Result:
    """Higgins' score after few iterations of its optimiser."""
    return Result(_higgins(codes, factors, settings, settings.few, settings.large))


@metric(paper="Kim & Mnih 2018", protocols={"kim18": Higgins()}, bounds=(0, 1))
def higgins_after_many(codes: Codes, factors: Factors, settings: Higgins) -> Result:
    """Higgins' score after many iterations of its optimiser."""
    return Result(_higgins(codes, factors, settings, settings.many, settings.large))


@metric(paper="Kim & Mnih 2018", protocols={"kim18": Higgins()}, bounds=(0, 1))
def higgins_range(codes: Codes, factors: Factors, settings: Higgins) -> Result:
    """The highest minus the lowest mean of Higgins' score over its settings."""

    def mean(iterations: int, size: int) -> float:
        return _higgins(codes, factors, settings, iterations, size)

    return Result(_range(mean, settings))


@metric(paper="Kim & Mnih 2018", protocols={"kim18": Votes()}, bounds=(0, 1))
def factor_vae_range(codes: Codes, factors: Factors, settings: Votes) -> Result:
    """The highest minus the lowest mean of the FactorVAE score over its settings."""

    def mean(votes: int, size: int) -> float:
        seeds = range(settings.seeds)
        found = [factor_vae_score(codes, factors, votes=votes, size=size, seed=seed) for seed in seeds]
        return float(np.mean([score.value for score in found]))

    return Result(_range(mean, settings))


def _higgins(codes: Codes, factors: Factors, settings: Higgins, iterations: int, size: int) -> float:
    points = BATCH * iterations
    found = [
        z_diff(codes, factors, protocol="kim18", points=points, pairs=size, seed=seed)
        for seed in range(settings.seeds)
    ]
    return float(np.mean([score.value for score in found]))


def _range(mean: Callable[[int, int], float], ends: Higgins | Votes) -> float:
    values = [mean(*both) for both in product((ends.few, ends.many), (ends.small, ends.large))]
    return max(values) - min(values)
