"""What a discrete latent has to do with the classes of the data, and how many real ones tell anything.

Scores for tables of studies, by their names as in ``studies.esmaeili18.classes:class_agreement``.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from distaff import Codes
from distaff.metrics import Factors, Result, informativeness, metric


@dataclass(frozen=True)
class Likeliest:
    """Of each discrete latent the likeliest class is taken; there is nothing to set."""


@dataclass(frozen=True)
class Threshold:
    """What counts as informative.

    Args:
        nats: of I(x; z_d), at least.
    """

    nats: float = 0.1


@metric(
    paper="Esmaeili et al. 2018", protocols={"esmaeili18": Likeliest()}, bounds=(0, 1), says="information"
)
def class_agreement(codes: Codes, factors: Factors, settings: Likeliest) -> Result:
    """The share of observations whose class stands for their label, by the best one-to-one matching.

    Of several discrete latents the one that agrees most counts, factor by factor; without any it is 0.
    """
    found = [[_matched(table) for table in tables] for tables in _tables(codes, factors)]
    return _best(found)


@metric(
    paper="Esmaeili et al. 2018", protocols={"esmaeili18": Likeliest()}, bounds=(0, 1), says="information"
)
def class_information(codes: Codes, factors: Factors, settings: Likeliest) -> Result:
    """I(c; y)/H(y) of the class c and the label y: the share of what is to be known of the label.

    Of several discrete latents the one that knows most counts, factor by factor; without any it is 0.
    """
    found = [[_known(table) for table in tables] for tables in _tables(codes, factors)]
    return _best(found)


@metric(paper="Esmaeili et al. 2018", protocols={"esmaeili18": Threshold()}, says="information")
def informative_latents(codes: Codes, settings: Threshold) -> Result:
    """How many real latents tell something of the observation (Fig. 6)."""
    told = informativeness(Codes(codes.means, codes.logvars), normalize=False).per_latent or {}
    return Result(float(sum(value >= settings.nats for value in told.values())))


def _tables(codes: Codes, factors: Factors) -> list[list[NDArray[np.float64]]]:
    """For each factor and each discrete latent, how often a class and a label come together (k, size)."""
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
