"""Encoder and decoder of a trained model as plain functions of tensors, which other runtimes can run."""

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from distaff.foundation.errors import DistaffError
from distaff.models.latents import CATEGORY, code_tensors
from distaff.models.representation import Model, Representation

Array = NDArray[np.float32]
Run = Callable[[Array], Mapping[str, Array]]
TOLERANCE = 1e-4
COUNTS = (1, 7)
"""Sizes of the batches that a graph is checked on: one, and another than it was traced with."""


class Encoder(nn.Module):
    """x (B, *shape) → ``mean`` and ``logvar`` (B, D), ``probabilities_NAME`` (B, k) of discrete latents."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        """The parameters of q(z|x), by name."""
        tensors = code_tensors(self.model.encode(x))
        named = {"mean": tensors.pop("means"), "logvar": tensors.pop("logvars")}
        if not named["mean"].shape[1]:
            named = {}
        return named | {f"probabilities_{name.removeprefix(CATEGORY)}": p for name, p in tensors.items()}


class Decoder(nn.Module):
    """z (B, width) → ``mean`` (B, *shape); probabilities for a Bernoulli likelihood."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def forward(self, z: Tensor) -> dict[str, Tensor]:
        """E[x|z]."""
        return {"mean": self.model.decode(z).mean}


@dataclass(frozen=True)
class Graph:
    """A function of one tensor.

    Args:
        name: ``encoder`` or ``decoder``.
        takes: name of the input.
        module: the function.
        example: function from a number of observations to example inputs.
    """

    name: str
    takes: str
    module: nn.Module
    example: Callable[[int], Tensor]

    def __call__(self, x: Tensor) -> dict[str, Tensor]:
        """The module's output, without gradients."""
        with torch.inference_mode():
            outputs: dict[str, Tensor] = self.module(x)
        return outputs

    def difference(self, run: Run) -> float:
        """The largest difference from another runtime's outputs; an error if beyond rounding."""
        worst = max(self._differences(run))
        if not worst <= TOLERANCE:
            raise DistaffError(
                f"the exported {self.name} differs from torch by {worst:.2g}, so it was not written: "
                "a layer of this network may not be exportable."
            )
        return worst

    def _differences(self, run: Run) -> Iterator[float]:
        for count in COUNTS:
            x = self.example(count)
            found = run(x.numpy())
            for name, tensor in self(x).items():
                expected = tensor.numpy()
                if found[name].shape != expected.shape:
                    yield np.inf
                    continue
                same = found[name] == expected  # both are −∞ for a deterministic latent's log-variance
                gap = np.abs(np.where(same, 0, found[name] - np.where(same, 0, expected)))
                yield float((gap / np.maximum(1, np.where(same, 1, np.abs(expected)))).max(initial=0))


def graphs_of(trained: Representation) -> tuple[Graph, Graph]:
    """The encoder and the decoder of a trained model, on the CPU."""
    model = copy.deepcopy(trained.model).cpu().eval()
    shape, image = trained.shape, len(trained.shape) == 3

    def observations(count: int) -> Tensor:
        if image:
            return torch.rand(count, *shape)
        with torch.inference_mode():
            expected = model.decode(latents(count)).mean
        drawn = torch.randn(count, *shape)
        return torch.where(expected < 0, drawn, drawn.abs())  # counts are never negative

    def latents(count: int) -> Tensor:
        return model.draw_latents(count)

    return Graph("encoder", "x", Encoder(model), observations), Graph("decoder", "z", Decoder(model), latents)
