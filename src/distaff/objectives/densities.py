"""Estimators of the aggregate posterior q(z) = 1/N Σ_n q(z|x_n) from a batch: q̂(z_i) = Σ_j w_ij q(z_i|x_j).

Estimators differ in the weights w and in whose posteriors they use. The same weights serve the joint q(z),
the groups q(z_g) and the variables q(z_d).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from distaff.foundation.errors import DistaffError, said
from distaff.models.by_name import find, values_of


class Source(Enum):
    """The observations whose posteriors estimate q(z)."""

    BATCH = "the batch that z was sampled from"
    SECOND_BATCH = "an independent batch"
    DATA_SET = "the whole data set"


class Shape(NamedTuple):
    """The numbers that weights depend on.

    Args:
        rows: B, number of samples of this process.
        columns: M, number of posteriors of all processes.
        offset: column of the first sample's own posterior.
        data_size: N, number of observations in the data set.
    """

    rows: int
    columns: int
    offset: int
    data_size: int


@dataclass(frozen=True)
class Density:
    """A named estimator of q(z), selected by its name, as in ``--density stratified``.

    An estimator of your own is selected by ``--density mine:my_density``.

    Args:
        name: name of the estimator.
        weights: function from a ``Shape`` to the weights w (B, M).
        source: observations whose posteriors are used.
        memory: number of posteriors of earlier steps that are used beside those of the batch.
        place: ``module:name`` of an estimator defined outside distaff.
    """

    name: str
    weights: Callable[[Shape], Tensor]
    source: Source = Source.BATCH
    memory: int = 0
    place: str = ""

    def log_weights(self, shape: Shape, like: Tensor) -> Tensor:
        """log w (B, M), with the device and dtype of ``like``."""
        return _log_weights(self, shape, like.dtype, like.device)

    @classmethod
    def parse(cls, text: "str | Density") -> "Density":
        """The estimator with that name, or the one defined at ``module:name``."""
        if isinstance(text, Density):
            return text
        found = find("density", text, DENSITIES)
        return replace(found, place=text) if ":" in text else found

    def __str__(self) -> str:
        return self.place or self.name


def _stratified(shape: Shape) -> Tensor:
    rows, columns, offset, size = shape
    weights = torch.full((rows, columns), (size - 1) / (size * (_at_least_two(columns) - 1)))
    weights.diagonal(offset).fill_(1 / size)
    return weights


def _chen_stratified(shape: Shape) -> Tensor:
    rows, columns, offset, size = shape
    others = _at_least_two(columns) - 1
    weights = torch.full((rows, columns), 1 / others)
    row = torch.arange(rows)
    weights[row, (row + offset + 1) % columns] = (size - others) / (size * others)
    weights[row, row + offset] = 1 / size
    return weights


def _weighted(shape: Shape) -> Tensor:
    return torch.full((shape.rows, shape.columns), 1 / (shape.data_size * shape.columns))


def _plain(shape: Shape) -> Tensor:
    return torch.full((shape.rows, shape.columns), 1 / shape.columns)


stratified = Density("stratified", _stratified)
"""HFVAE Eq. 13: a sample's own posterior weighs 1/N, every other (N−1)/(N(B−1)); unbiased for q(z)."""

weighted = Density("weighted", _weighted)
"""Chen et al. 2018, minibatch weighted sampling: 1/(NB) each; a lower bound in expectation, not unbiased."""

chen_stratified = Density("chen_stratified", _chen_stratified)
"""Chen et al. 2018, minibatch stratified sampling, M = B−1: a sample's own posterior weighs 1/N, one other
(N−M)/(NM), the rest 1/M; unbiased for q(z)."""

batch = Density("batch", _plain)
"""The fix of FactorVAE App. D: q̂ is the batch's own mixture, 1/B each, so z are samples of q̂ itself."""

independent_batch = Density("independent_batch", _plain, Source.SECOND_BATCH)
"""FactorVAE App. D, Eq. 6: the mixture of a batch that is independent of z; its TC turns negative."""

remembered = Density("remembered", _plain, memory=1024)
"""The mixture of the batch and of the last 1,024 posteriors of earlier steps, 1/M each. It is useful up to
I(x;z) of about log 1,024 = 7 nats, far beyond the limit of a batch alone."""

exact = Density("exact", _plain, Source.DATA_SET)
"""q(z) itself: every step encodes the whole data set, with gradient; for small data sets."""

DENSITIES = values_of(globals(), Density)
"""All estimators defined above."""


@lru_cache(maxsize=8)
def _log_weights(density: Density, shape: Shape, dtype: torch.dtype, device: torch.device) -> Tensor:
    with torch.inference_mode(False):
        return density.weights(shape).log().to(device, dtype)


def _at_least_two(columns: int) -> int:
    if columns < 2:
        raise DistaffError(
            said("estimating q(z) from a batch needs at least 2 observations: raise --batch-size.")
        )
    return columns
