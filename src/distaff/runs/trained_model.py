"""From a config and a file of weights to a trained model, whoever wrote the two."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import torch

from distaff.foundation.errors import DistaffError
from distaff.models.representation import Representation
from distaff.runs.checkpoints import load_weights
from distaff.runs.config import RunConfig

LARGER = 2
"""Times that a model may be larger than the file of its weights, which hold all of it."""
SMALL = 1 << 24
"""Bytes up to which a model is built without asking."""


def trained_model(
    config: RunConfig, step: int, weights: Path, device: str = "cpu", titles: Mapping[str, str] | None = None
) -> Representation:
    """The model that a config describes, with its weights.

    Args:
        config: what describes it.
        step: how many steps it was trained for.
        weights: the file that holds them.
        device: where it goes.
        titles: names that people gave to latents.
    """
    _refuse_larger(config, weights)
    try:
        model = config.model.build(config.data.shape, step)
    except DistaffError:
        raise
    except Exception as problem:  # networks of sizes that cannot be raise whatever they happen to meet
        raise _cannot_be(config, weights, " ".join(str(problem).split())) from problem
    load_weights(model, weights)
    return Representation(model.to(device), config.data.shape, config.data.made_of, titles)


def _refuse_larger(config: RunConfig, weights: Path) -> None:
    """Say before memory is taken that a config asks for more than its weights can be."""
    size = 0
    with suppress(Exception), torch.device("meta"):  # a network of a user's own may not build without memory
        tensors = config.model.build(config.data.shape).state_dict().values()
        size = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    try:
        held = weights.stat().st_size
    except OSError as problem:
        raise DistaffError(f"{weights} cannot be read ({problem.strerror or problem}).") from problem
    if size > max(SMALL, LARGER * held):
        raise _cannot_be(config, weights, f"it would take {size:,} bytes, its weights have {held:,}")


def _cannot_be(config: RunConfig, weights: Path, why: str) -> DistaffError:
    network = f"{config.model.network} with the latents {config.model.latents}"
    return DistaffError(
        f"the model beside {weights} cannot be built ({network} for observations {config.data.shape}): {why}."
    )
