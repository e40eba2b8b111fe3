"""Averages of a model's weights over the steps of training."""

import copy

import torch
from torch import nn


class Average:
    """An exponential moving average of a module's weights: w̄ ← d w̄ + (1 − d) w at every step.

    The decay starts small, d = min(decay, (1 + t) / (10 + t)), so that the initial random weights are soon
    forgotten. Running statistics are copied.
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
