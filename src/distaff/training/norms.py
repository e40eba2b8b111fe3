"""BatchNorm over the batch of all processes, which torch has for accelerators only."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm


class SharedBatchNorm(_BatchNorm):
    """BatchNorm with mean and variance over the shares of all processes, with gradient.

    Args:
        norm: BatchNorm to replace; weights and running statistics are shared with it.
        gather: function from (1, ...) of each process to (processes, ...), with gradient.
    """

    def __init__(self, norm: _BatchNorm, gather: Callable[[Tensor], Tensor]) -> None:
        super().__init__(norm.num_features, norm.eps, norm.momentum, norm.affine, norm.track_running_stats)
        self.weight, self.bias = norm.weight, norm.bias
        self.running_mean, self.running_var = norm.running_mean, norm.running_var
        self.num_batches_tracked = norm.num_batches_tracked
        self.gather = gather
        self.train(norm.training)

    def forward(self, x: Tensor) -> Tensor:
        """x (B, C, ...) normalised to mean 0 and variance 1 per channel over all processes, then scaled."""
        if not self.training:
            return super().forward(x)
        axes, shape = [0, *range(2, x.ndim)], (-1, *[1] * (x.ndim - 2))
        values = x.to(torch.promote_types(x.dtype, torch.float32))
        means = self.gather(values.mean(axes)[None])
        centred = values - means.mean(0).view(shape)
        variance = self.gather(centred.square().mean(axes)[None]).mean(0)
        self._note(means.mean(0), variance, len(means) * x.numel() // x.shape[1])
        normed = centred * torch.rsqrt(variance + self.eps).view(shape)
        if self.affine:
            normed = normed * self.weight.view(shape) + self.bias.view(shape)
        return normed.to(x.dtype)

    @torch.no_grad()
    def _note(self, mean: Tensor, variance: Tensor, count: int) -> None:
        if self.running_mean is None or self.running_var is None or self.num_batches_tracked is None:
            return
        self.num_batches_tracked += 1
        share = 1 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), share)
        self.running_var.lerp_((variance * count / (count - 1)).to(self.running_var.dtype), share)

    def _check_input_dim(self, x: Tensor) -> None:
        """Accept any number of dimensions."""


def share_batch_norms(module: nn.Module, gather: Callable[[Tensor], Tensor]) -> None:
    """Replace every BatchNorm of a module that several processes train by a ``SharedBatchNorm``."""
    for parent in list(module.modules()):
        for name, child in parent.named_children():
            if isinstance(child, _BatchNorm):
                setattr(parent, name, SharedBatchNorm(child, gather))
