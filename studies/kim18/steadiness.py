"""How far Higgins' score and the FactorVAE score move with their own settings: scores for tables of studies.

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
    """Between what the settings of Higgins' score are varied.

    Args:
        few: iterations of Adagrad.
        many: the same, at the other end.
        small: L, the pairs in a point.
        large: the same, at the other end.
        seeds: of the metric, over which the mean is taken.
    """

    few: int = 500
    many: int = 10_000
    small: int = 50
    large: int = 200
    seeds: int = 3


@dataclass(frozen=True)
class Votes:
    """Between what the settings of the FactorVAE score are varied.

    Args:
        few: votes that make the classifier and test it.
        many: the same, at the other end.
        small: L, the observations in a vote.
        large: the same, at the other end.
        seeds: of the metric, over which the mean is taken.
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
    """The highest less the lowest mean of Higgins' score over its settings."""

    def mean(iterations: int, size: int) -> float:
        return _higgins(codes, factors, settings, iterations, size)

    return Result(_range(mean, settings))


@metric(paper="Kim & Mnih 2018", protocols={"kim18": Votes()}, bounds=(0, 1))
def factor_vae_range(codes: Codes, factors: Factors, settings: Votes) -> Result:
    """The highest less the lowest mean of the FactorVAE score over its settings."""

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
