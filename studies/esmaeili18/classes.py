"""Agreement of discrete latents with the classes of the data, and the number of informative real latents.

Scores for tables of studies, named as in ``studies.esmaeili18.classes:class_agreement``.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from distaff import Codes
from distaff.metrics import Factors, Result, informativeness, metric


@dataclass(frozen=True)
class Likeliest:
    """No settings: the most likely class of each discrete latent is used."""


@dataclass(frozen=True)
class Threshold:
    """The threshold for informative latents.

    Args:
        nats: smallest I(x; z_d) in nats.
    """

    nats: float = 0.1


@metric(
    paper="Esmaeili et al. 2018", protocols={"esmaeili18": Likeliest()}, bounds=(0, 1), says="information"
)
def class_agreement(codes: Codes, factors: Factors, settings: Likeliest) -> Result:
    """The fraction of observations whose class matches their label, by the best one-to-one matching.

    For each factor, the discrete latent that agrees most counts; the score is 0 without discrete latents.
    """
    found = [[_matched(table) for table in tables] for tables in _tables(codes, factors)]
    return _best(found)


@metric(
    paper="Esmaeili et al. 2018", protocols={"esmaeili18": Likeliest()}, bounds=(0, 1), says="information"
)
def class_information(codes: Codes, factors: Factors, settings: Likeliest) -> Result:
    """I(c; y)/H(y) of the class c and the label y: the fraction of the label's entropy that is known.

    For each factor, the most informative discrete latent counts; the score is 0 without discrete latents.
    """
    found = [[_known(table) for table in tables] for tables in _tables(codes, factors)]
    return _best(found)


@metric(paper="Esmaeili et al. 2018", protocols={"esmaeili18": Threshold()}, says="information")
def informative_latents(codes: Codes, settings: Threshold) -> Result:
    """The number of real latents that are informative about the observation (Fig. 6)."""
    told = informativeness(Codes(codes.means, codes.logvars), normalize=False).per_latent or {}
    return Result(float(sum(value >= settings.nats for value in told.values())))


def _tables(codes: Codes, factors: Factors) -> list[list[NDArray[np.float64]]]:
    """For each factor and each discrete latent, the counts (k, size) of pairs of class and label."""
    taken = [(probabilities.argmax(1), probabilities.shape[1]) for probabilities in codes.categories.values()]
    return [
        [_counts(classes, label, (count, size)) for classes, count in taken]
        for label, size in zip(factors.classes.T, factors.sizes, strict=True)
    ]


def _counts(
    classes: NDArray[np.int64], labels: NDArray[np.int64], shape: tuple[int, int]
) -> NDArray[np.float64]:
    table = np.zeros(shape)
    np.add.at(table, (classes, labels), 1)
    return table


def _matched(table: NDArray[np.float64]) -> float:
    return float(table[linear_sum_assignment(table, maximize=True)].sum() / table.sum())


def _known(table: NDArray[np.float64]) -> float:
    joint = table / table.sum()
    classes, labels = joint.sum(1, keepdims=True), joint.sum(0, keepdims=True)
    seen = joint > 0
    shared = (joint[seen] * np.log(joint[seen] / (classes * labels)[seen])).sum()
    present = labels[labels > 0]
    return float(shared / -(present * np.log(present)).sum())


def _best(found: list[list[float]]) -> Result:
    per_factor = np.array([max(values, default=0.0) for values in found])
    return Result(float(per_factor.mean()), per_factor=per_factor)
