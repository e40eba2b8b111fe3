"""Where half precision ends: at the outputs of networks."""

import torch
from torch import Tensor


def single(x: Tensor) -> Tensor:
    """x in float32, or in float64 if it is: whatever is made of a network's outputs is made of these."""
    return x.to(torch.promote_types(x.dtype, torch.float32))
