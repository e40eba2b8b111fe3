"""The memory layout that convolutions are fastest in: channels last."""

from typing import TypeVar

import torch
from torch import Tensor, nn

Module = TypeVar("Module", bound=nn.Module)


def channels_last(module: Module) -> Module:
    """The same module with its convolution weights laid out channels last."""
    for parameter in module.parameters():
        if parameter.ndim == 4:
            parameter.data = parameter.data.contiguous(memory_format=torch.channels_last)
    return module


def images_channels_last(x: Tensor) -> Tensor:
    """Images (B, C, H, W) laid out channels last; vectors (B, D) as they are."""
    return x.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else x
