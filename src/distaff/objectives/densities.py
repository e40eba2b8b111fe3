"""Estimators of the aggregate posterior q(z) = 1/N Σ_n q(z|x_n) from a batch: q̂(z_i) = Σ_j w_ij q(z_i|x_j).

They differ in the weights w and in whose posteriors they use; the same weights serve the joint q(z), the
groups q(z_g) and the variables q(z_d), each taken once.
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
    """Whose posteriors stand for q(z)."""

    BATCH = "the batch that z was sampled from"
    SECOND_BATCH = "an independent batch"
    DATA_SET = "the whole data set"


class Shape(NamedTuple):
    """What weights depend on.

    Args:
        rows: B, the samples of this process.
        columns: M, the posteriors, those of all processes.
        offset: the column that holds the first sample's own posterior.
        data_size: N.
    """

    rows: int
    columns: int
    offset: int
    data_size: int


@dataclass(frozen=True)
class Density:
    """A named estimator of q(z); written by its name, as in ``--density stratified``.

    One from elsewhere is written ``--density mine:my_density``.

    Args:
        name: what it is called.
        weights: w (B, M) for a shape.
        source: whose posteriors the M are.
        memory: how many posteriors of the steps before stand beside those of the batch.
        place: ``module:name`` of one from elsewhere.
    """

    name: str
    weights: Callable[[Shape], Tensor]
    source: Source = Source.BATCH
    memory: int = 0
    place: str = ""

    def log_weights(self, shape: Shape, like: Tensor) -> Tensor:
        """log w (B, M), on the device and in the type of ``like``."""
        return _log_weights(self, shape, like.dtype, like.device)

    @classmethod
    def parse(cls, text: "str | Density") -> "Density":
        """The estimator of that name, or that ``module:name`` defines."""
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
"""HFVAE Eq. 13: the own posterior weighs 1/N, each other (N−1)/(N(B−1)); unbiased for q(z)."""

weighted = Density("weighted", _weighted)
"""Chen et al. 2018, minibatch weighted sampling: 1/(NB) each; a lower bound in expectation, not unbiased."""

chen_stratified = Density("chen_stratified", _chen_stratified)
"""Chen et al. 2018, minibatch stratified sampling, M = B−1: the own posterior weighs 1/N, one other
(N−M)/(NM), the rest 1/M; unbiased for q(z)."""

batch = Density("batch", _plain)
"""FactorVAE App. D's fix: q̂ is the batch's own mixture, 1/B each, and z are samples of q̂ itself."""

independent_batch = Density("independent_batch", _plain, Source.SECOND_BATCH)
"""FactorVAE App. D, Eq. 6: the mixture of a batch that z are independent of; its TC turns negative."""

remembered = Density("remembered", _plain, memory=1024)
"""The mixture of the batch and of the last 1,024 posteriors of the steps before, 1/M each: of use while z
tells up to about log 1,024 = 7 nats of x, where a batch alone has long ceased to be."""

exact = Density("exact", _plain, Source.DATA_SET)
"""q(z) itself: the whole data set is encoded, with gradient, at every step; for small data sets."""

DENSITIES = values_of(globals(), Density)
"""All of the above, found by being there."""


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
