"""What the processes of a run share: gathered batches, averaged gradients, and BatchNorm over all of them."""

from collections.abc import Callable
from typing import Any, cast

import torch
from lightning_fabric import Fabric
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


def gather(fabric: Fabric, x: Tensor) -> Tensor:
    """(B, ...) of each process → (all B, ...) in order of rank, with gradient."""
    if fabric.world_size == 1:
        return x
    shares = fabric.all_gather(x, sync_grads=x.requires_grad)
    assert isinstance(shares, Tensor)
    if shares.requires_grad:
        # In the backward pass, gloo exchanges raw memory: strided gradients would arrive scrambled.
        cast(Any, shares).register_hook(torch.Tensor.contiguous)
    return shares.flatten(0, 1)


def average_gradients(fabric: Fabric, module: nn.Module) -> None:
    """Average gradients over processes in one message, without wrapping modules."""
    gradients = [p.grad for p in module.parameters() if p.grad is not None]
    mean = fabric.all_reduce(torch.cat([g.flatten() for g in gradients]), reduce_op="mean")
    assert isinstance(mean, Tensor)
    for gradient, share in zip(gradients, torch.split(mean, [g.numel() for g in gradients]), strict=True):
        gradient.copy_(share.view(gradient.shape))
