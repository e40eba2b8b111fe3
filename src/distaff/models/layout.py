"""The memory layout that convolutions are fastest in: channels last."""

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor, nn

Module = TypeVar("Module", bound=nn.Module)


def channels_last(module: Module) -> Module:
    """The same module with its convolution weights laid out channels last.

    ``Module.to`` sets the strides of one-channel weights too, which ``Tensor.contiguous`` takes to be right
    as they are; without that, each convolution beside one copies its images from one layout to the other.
    """
    to: Callable[..., Module] = module.to
    return to(memory_format=torch.channels_last)


def images_channels_last(x: Tensor) -> Tensor:
    """Images (B, C, H, W) laid out channels last; vectors (B, D) as they are."""
    return x.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else x
