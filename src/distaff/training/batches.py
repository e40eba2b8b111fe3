"""Batches as functions of seed, stream and index, so that no state has to be saved."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from distaff.data.dataset import Dataset
from distaff.data.few_labels import Labels
from distaff.data.images import read_ahead
from distaff.data.pairs import PairSource, unchanged
from distaff.foundation.errors import DistaffError, said
from distaff.models.networks.halving import images_channels_last
from distaff.objectives.step import Labelled

LARGEST_WHOLE = 20_000
PAIR_STREAM, LABEL_STREAM, OPENING_STREAM = 10, 11, 12
"""Streams of pairs, of labelled observations and of what openings look at, beside those of batches."""


def seed_weights(seed: int) -> None:
    """Seed torch before networks are made."""
    _seed(seed, 1)


def seed_step(seed: int, index: int, rank: int) -> None:
    """Seed torch for one step on one process, so that resuming there draws the same noise."""
    _seed(seed, 2, index, rank)


def _seed(*path: int) -> None:
    # Without an accelerator, torch.manual_seed takes 0.4 ms to prepare for one that might appear later.
    alone = not torch.accelerator.is_available()
    manual_seed = torch.default_generator.manual_seed if alone else torch.manual_seed
    manual_seed(int(np.random.SeedSequence(path).generate_state(1, np.uint64)[0]))


@dataclass(frozen=True)
class Supervision:
    """Pairs and labels, for objectives that learn from them."""

    pairs: PairSource | None = None
    labels: Labels | None = None


UNSUPERVISED = Supervision()


class Batches:
    """Batches without replacement within an epoch; streams are independent of each other.

    The ``size`` is that of all processes together; ``share`` is the rank of this one, and how many there are.
    """

    def __init__(
        self,
        data: Dataset,
        size: int,
        seed: int,
        device: torch.device,
        share: tuple[int, int] = (0, 1),
        supervision: Supervision = UNSUPERVISED,
    ) -> None:
        rank, world_size = share
        if size > len(data):
            raise DistaffError(
                said(f"a batch of {size} does not fit a data set of {len(data)}: lower --batch-size.")
            )
        if size % world_size:
            raise DistaffError(f"a batch of {size} cannot be shared evenly by {world_size} processes.")
        self.data, self.size, self.seed, self.device = data, size, seed, device
        self.share = slice(rank, None, world_size)
        self.supervision = supervision
        self._orders: dict[int, tuple[int, NDArray[np.int64]]] = {}

    def indices(self, index: int, stream: int = 0) -> NDArray[np.int64]:
        """The rows of batch ``index``, for all processes."""
        epoch, place = divmod(index, len(self.data) // self.size)
        if self._orders.get(stream, (None,))[0] != epoch:
            order = np.random.default_rng((self.seed, stream, epoch)).permutation(len(self.data))
            self._orders[stream] = (epoch, order)
        return self._orders[stream][1][place * self.size : (place + 1) * self.size]

    def __call__(self, index: int, stream: int = 0) -> Tensor:
        """The process's share of batch ``index``, (B, *shape) float32; starts to read the next one."""
        batch = self._images(self.indices(index, stream)[self.share])
        if (index + 1) % (len(self.data) // self.size):  # the next epoch has an order of its own
            read_ahead(self.data.images, self.indices(index + 1, stream)[self.share])
        return batch

    def pairs(self, index: int, known: bool = False) -> tuple[Tensor, Tensor | None]:
        """The process's share of the pairs of a step: first members (B, *shape), then as many partners.

        Args:
            index: number of the step.
            known: whether to also return a mask (B, K) of the factors that each pair shares.
        """
        assert self.supervision.pairs is not None
        rng = np.random.default_rng((self.seed, PAIR_STREAM, index))
        rows = self.supervision.pairs(self.data, self.size, rng)[self.share]
        same = torch.from_numpy(unchanged(self.data, rows)).to(self.device) if known else None
        return self._images(rows.T.ravel()), same

    def labelled(self, index: int) -> Labelled:
        """The process's share of a batch of labelled observations; with replacement, as there may be few."""
        labels = self.supervision.labels
        assert labels is not None
        rng = np.random.default_rng((self.seed, LABEL_STREAM, index))
        chosen = rng.integers(0, len(labels.rows), self.size)[self.share]
        y = torch.from_numpy(labels.values[chosen]).to(self.device)
        return Labelled(self._images(labels.rows[chosen]), y)

    def _images(self, rows: NDArray[np.int64]) -> Tensor:
        return images_channels_last(self.data.images[rows].to(self.device, non_blocking=True))

    def everything(self) -> Tensor:
        """The whole data set (N, *shape), if it is small enough to be a batch."""
        self.check_size_of_everything()
        return images_channels_last(self.data.images[:].to(self.device, non_blocking=True))

    def check_size_of_everything(self) -> None:
        """Raise an error if the whole data set is too large to be a batch."""
        if len(self.data) > LARGEST_WHOLE:
            raise DistaffError(
                f"the exact q(z) encodes the whole data set at every step: {len(self.data):,} "
                f"observations are more than {LARGEST_WHOLE:,}: use --density stratified."
            )
