"""Evaluation of held-out data during training, and early stopping when they get worse."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Tensor

from distaff.data.dataset import Dataset
from distaff.data.few_labels import Labels
from distaff.data.pairs import find_pairs
from distaff.data.splits import some
from distaff.foundation.errors import DistaffError
from distaff.runs.sections import TrainingSettings
from distaff.training.batches import Batches, Supervision, seed_step
from distaff.training.learner import Learner

LOOKED_AT = 4096
"""Number of held-out observations that are evaluated during training, always the same ones."""
PREFIX = "held_out."
ELBO = f"{PREFIX}elbo"


class HeldOut:
    """Evaluates held-out data every ``validate_every`` steps.

    The results depend only on the step and the weights, and the decision to stop only on the log, so that a
    run that is interrupted and resumed stops at the same step as an uninterrupted one. Held-out labels are
    scaled as the ``labels`` of training are.
    """

    def __init__(
        self,
        data: Dataset,
        training: TrainingSettings,
        fabric: Fabric,
        log: Sequence[dict[str, Any]] = (),
        labels: Labels | None = None,
    ) -> None:
        looked_at = some(data, LOOKED_AT, training.seed)
        size = min(training.batch_size, len(looked_at) // fabric.world_size * fabric.world_size)
        if size < 1:
            raise DistaffError("fewer observations are held out than there are processes: hold out more.")
        share = fabric.global_rank, fabric.world_size
        source = None if training.pairs is None else find_pairs(training.pairs, data)
        drawn_from = looked_at if source is None else data  # a sample of the rows holds few pairs
        others = None if labels is None else labels.of_others(drawn_from)
        self.batches = Batches(
            drawn_from, size, training.seed, fabric.device, share, Supervision(source, others)
        )
        self.count = len(looked_at) // size
        self.fabric, self.training = fabric, training
        self.best, self.best_step, self.worse = -math.inf, 0, 0
        for line in log:
            if ELBO in line:
                self._see(line[ELBO], line["step"])

    def due(self, steps: int) -> bool:
        """Whether an evaluation is due after this number of steps; there is always one at the end."""
        return steps % self.training.validate_every == 0 or steps == self.training.steps

    @property
    def exhausted(self) -> bool:
        """Whether the patience is exhausted."""
        return self.training.patience is not None and self.worse >= self.training.patience

    def look(self, learner: Learner, steps: int) -> dict[str, float]:
        """The means over the held-out data, by their names in the log; remembers the best evaluation."""
        seed_step(self.training.seed, steps, self.batches.share.start)
        found = [learner.measure(self.batches, number, steps - 1) for number in range(self.count)]
        means = {name: torch.stack([values[name] for values in found]).mean() for name in found[0]}
        values = {f"{PREFIX}{name}": self._everywhere(value) for name, value in means.items()}
        self._see(values[ELBO], steps)
        return values

    def is_best(self, steps: int) -> bool:
        """Whether the evaluation after this number of steps is the best so far, and the best is kept."""
        return self.training.patience is not None and self.best_step == steps

    def _everywhere(self, value: Tensor) -> float:
        mean = self.fabric.all_reduce(value.float(), reduce_op="mean")
        assert isinstance(mean, Tensor)
        # Rounded as in the log: a resumed run must compare the same numbers.
        return float(f"{float(mean):.6g}")

    def _see(self, elbo: float, steps: int) -> None:
        if elbo > self.best:
            self.best, self.best_step, self.worse = elbo, steps, 0
        else:
            self.worse += 1
