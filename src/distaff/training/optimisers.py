"""Optimisers: torch's own by name, learning rates that follow schedules, and averages of weights."""

import copy
import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from distaff.foundation.errors import DistaffError, unknown
from distaff.models.relaxed import TEMPERATURE
from distaff.objectives.schedules import Schedule, Weight
from distaff.runs.checkpoints import PLACES
from distaff.runs.settings import TrainingSettings


@dataclass(frozen=True)
class Course:
    """Settings that apply to every step of a model's optimiser.

    Args:
        learning_rate: learning rate; a schedule is evaluated at every step, None keeps the optimiser's own.
        temperature: temperature of relaxed latents.
        clip: largest norm of a gradient.
        average: average of the weights, if one is kept.
        revive: step before which closed latents are reinitialised.
    """

    learning_rate: Weight | None = None
    temperature: Weight = TEMPERATURE
    clip: float | None = None
    average: "Average | None" = None
    revive: int | None = None

    def begin(self, optimiser: Optimizer, index: int) -> dict[str, Tensor]:
        """Set the learning rate of a step; a scheduled one is returned for the log."""
        if not isinstance(self.learning_rate, Schedule):
            return {}
        rate = self.learning_rate(index)
        for group in optimiser.param_groups:
            group["lr"] = rate
        return {"learning_rate": torch.tensor(rate)}

    def end(self, module: nn.Module, index: int) -> None:
        """Update the average with the weights after a step."""
        if self.average is not None:
            self.average.update(module, index)


def optimisers() -> dict[str, type[Optimizer]]:
    """torch's optimisers that train any weights by their gradients, by their names in lower case."""
    found = (getattr(torch.optim, name, None) for name in torch.optim.__all__)
    classes = [c for c in found if inspect.isclass(c) and issubclass(c, Optimizer)]
    suited = [c for c in classes if "weight_decay" in inspect.signature(c).parameters]
    return {c.__name__.lower(): c for c in suited if c.__name__ != "Muon"}  # Muon trains matrices only


def make_optimiser(
    parameters: Iterable[nn.Parameter], settings: TrainingSettings, undecayed: Sequence[nn.Parameter] = ()
) -> Optimizer:
    """The optimiser of a run, with a fused kernel if there is one.

    Args:
        parameters: parameters to train.
        settings: training settings.
        undecayed: parameters without weight decay, in addition to biases and gains (all parameters with one
            axis), which do not decay either, as in Hsu et al.'s code.
    """
    known, name = optimisers(), settings.optimizer or "adam"
    if name not in known:
        raise unknown("optimizer", name, known)
    kind: Any = known[name]
    takes = inspect.signature(kind).parameters
    if settings.amsgrad and "amsgrad" not in takes:
        raise DistaffError(f"amsgrad goes with adam and adamw, not with {name}.")
    possible = {"betas": settings.betas, "amsgrad": settings.amsgrad, "fused": True}
    given = {name: value for name, value in possible.items() if name in takes and value is not None}
    assert settings.learning_rate is not None
    rate = settings.learning_rate
    rate = rate(0) if isinstance(rate, Schedule) else rate
    moved: Any = list(parameters)
    if settings.weight_decay:
        free = set(map(id, undecayed)) | {id(p) for p in moved if p.ndim < 2}
        decayed = [place for place, p in enumerate(moved) if id(p) not in free]
        spared = [place for place, p in enumerate(moved) if id(p) in free]
        moved = [
            {"params": [moved[place] for place in decayed], PLACES: decayed},
            {"params": [moved[place] for place in spared], PLACES: spared, "weight_decay": 0.0},
        ]
    made: Optimizer = kind(moved, lr=rate, weight_decay=settings.weight_decay or 0.0, **given)
    return made


def make_adam(parameters: Iterable[nn.Parameter], learning_rate: float, betas: tuple[float, float]) -> Adam:
    """Adam with a fused kernel, which takes 2 ms instead of 11 for a critic of five million weights."""
    return Adam(parameters, learning_rate, betas, fused=True)


class Average:
    """An exponential moving average of a module's weights: w̄ ← d w̄ + (1 − d) w at every step.

    The decay starts small, d = min(decay, (1 + t) / (10 + t)), so that the initial random weights are soon
    forgotten. Running statistics are copied.

    Args:
        module: module whose weights are averaged.
        decay: final value of d, such as 0.999.
    """

    def __init__(self, module: nn.Module, decay: float) -> None:
        self.decay = decay
        self.module = copy.deepcopy(module).requires_grad_(False)

    @torch.no_grad()
    def update(self, module: nn.Module, index: int) -> None:
        """Update the average with the weights after step ``index``."""
        decay = min(self.decay, (1 + index) / (10 + index))
        weights, averages = dict(module.named_parameters()), dict(self.module.named_parameters())
        torch._foreach_lerp_(list(averages.values()), [weights[name] for name in averages], 1 - decay)
        buffers = dict(module.named_buffers())
        for name, buffer in self.module.named_buffers():
            buffer.copy_(buffers[name])
