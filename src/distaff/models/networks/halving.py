"""The networks of Kim & Mnih, which halve the sides of images four times, and the layers they are made of.

``Up`` and ``UpToOneChannel`` are faster versions of layers that PyTorch computes slowly on CPUs.
``channels_last`` is the layout in memory in which convolutions are fastest.
"""

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from distaff.foundation.errors import DistaffError

Shape = tuple[int, ...]
Module = TypeVar("Module", bound=nn.Module)
RELU_IN_PLACE = partial(nn.ReLU, inplace=True)
"""For use after convolutions, whose outputs are large and not needed again."""


class Networks(NamedTuple):
    """An encoder x (B, *shape) → (B, parameters) and a decoder z (B, width) → (B, *outputs)."""

    encoder: nn.Module
    decoder: nn.Module


class Up(nn.ConvTranspose2d):
    """4×4 transposed convolution of stride 2, which doubles the sides: (B, outputs, 2H, 2W).

    The bias is added separately. Within the transposed convolution its gradient, a mere sum, takes the
    library's kernel two thirds as long as the weights' gradient, and a Kim–Mnih training step 5% longer.
    """

    def __init__(self, inputs: int, outputs: int, bias: bool = True) -> None:
        super().__init__(inputs, outputs, 4, stride=2, padding=1, bias=bias)

    def forward(self, x: Tensor, output_size: list[int] | None = None) -> Tensor:
        """The transposed convolution of x (B, inputs, H, W)."""
        doubled = F.conv_transpose2d(x, self.weight, stride=2, padding=1)
        return doubled if self.bias is None else doubled.add_(self.bias[:, None, None])


class UpToOneChannel(Up):
    """4×4 transposed convolution of stride 2 to one channel, which doubles the sides: (B, 1, 2H, 2W).

    With one output channel the library's kernel reaches a twentieth of its usual rate. Here the 4×4 patches
    of all pixels are one matrix product, (16, inputs) × (inputs, H·W) for each image, and overlaps are sums
    of shifted planes: a Kim–Mnih training step takes 6% less time. Parameters, values and gradients are those
    of the library, whose own kernel is used on other devices and for mixed precision, exports and compilers.
    """

    def __init__(self, inputs: int) -> None:
        super().__init__(inputs, 1)

    def forward(self, x: Tensor, output_size: list[int] | None = None) -> Tensor:
        """The transposed convolution of x (B, inputs, H, W)."""
        if x.device.type != "cpu" or torch.compiler.is_compiling() or torch.is_autocast_enabled("cpu"):
            return super().forward(x, output_size)
        doubled: Tensor = _UpToOneChannel.apply(x, self.weight, self.bias)  # type: ignore[no-untyped-call]
        return doubled


class _UpToOneChannel(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        batch, inputs, rows, columns = x.shape
        pixels = x.permute(0, 2, 3, 1).reshape(batch, rows * columns, inputs)
        kernels = weight.reshape(inputs, 16).T.expand(batch, 16, inputs)
        patches = torch.bmm(kernels, pixels.transpose(1, 2)).view(batch, 4, 4, rows, columns)
        # A pixel's patch extends one column to the left and one to the right of its own two; rows likewise.
        wide = patches[:, :, 1:3]
        wide[:, :, 0, :, 1:].add_(patches[:, :, 3, :, :-1])
        wide[:, :, 1, :, :-1].add_(patches[:, :, 0, :, 1:])
        both = wide[:, 1:3].add_(bias)
        both[:, 0, :, 1:].add_(wide[:, 3, :, :-1])
        both[:, 1, :, :-1].add_(wide[:, 0, :, 1:])
        return both.permute(0, 3, 1, 4, 2).reshape(batch, 1, 2 * rows, 2 * columns)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        layer = ([1], [2, 2], [1, 1], [1, 1], True, [0, 0], 1)
        wanted = list(ctx.needs_input_grad)
        gradients: tuple[Tensor, Tensor, Tensor]
        gradients = torch.ops.aten.convolution_backward(gradient, x, weight, *layer, wanted)
        return gradients


def down(
    inputs: int, outputs: int, norm: bool = False, activation: Callable[[], nn.Module] = RELU_IN_PLACE
) -> list[nn.Module]:
    """4×4 convolution of stride 2, which halves the sides."""
    # BatchNorm would subtract a bias before it again.
    convolution = nn.Conv2d(inputs, outputs, 4, stride=2, padding=1, bias=not norm)
    return [convolution, *([nn.BatchNorm2d(outputs)] if norm else []), activation()]


def up(
    inputs: int, outputs: int, norm: bool = False, activation: Callable[[], nn.Module] = RELU_IN_PLACE
) -> list[nn.Module]:
    """4×4 transposed convolution of stride 2, which doubles the sides."""
    convolution = Up(inputs, outputs, bias=not norm)
    return [convolution, *([nn.BatchNorm2d(outputs)] if norm else []), activation()]


def last_up(inputs: int, outputs: int) -> nn.Module:
    """The transposed convolution that ends a decoder, without an activation."""
    return UpToOneChannel(inputs) if outputs == 1 else Up(inputs, outputs)


def down_stack(
    channels: list[int], norm: bool = False, activation: Callable[[], nn.Module] = RELU_IN_PLACE
) -> list[nn.Module]:
    """Convolutions that halve the sides, from each number of channels to the next."""
    return [layer for pair in itertools.pairwise(channels) for layer in down(*pair, norm, activation)]


def up_stack(channels: list[int], norm: bool = False) -> list[nn.Module]:
    """Convolutions that double the sides, from each number of channels to the next."""
    return [layer for pair in itertools.pairwise(channels) for layer in up(*pair, norm)]


def dense(sizes: list[int], activation: Callable[[], nn.Module] = nn.ReLU) -> list[nn.Module]:
    """Linear layers from each size to the next, each followed by the activation."""
    pairs = itertools.pairwise(sizes)
    return [layer for pair in pairs for layer in (nn.Linear(*pair), activation())]


class Halving(NamedTuple):
    """Settings of networks that halve the sides of images four times.

    Args:
        name: name for error messages.
        hidden: units of the dense layers.
        channels: channels of the decoder's convolutions, the deepest first.
        relu: whether a ReLU follows the encoder's dense layer.
    """

    name: str
    hidden: int
    channels: list[int]
    relu: bool = True

    def pair(self, shape: Shape, parameters: int, width: int, outputs: Shape | None) -> Networks:
        """The networks for images of a shape; ``distaff.models.networks`` describes the arguments."""
        rows, columns = sixteenths(shape, self.name)
        hidden, deep = self.hidden, self.channels[0]
        size = deep * rows * columns
        encoder = nn.Sequential(
            *down_stack([shape[0], deep // 2, deep // 2, deep, deep]),
            nn.Flatten(),
            nn.Linear(size, hidden),
            *([nn.ReLU()] if self.relu else []),
            nn.Linear(hidden, parameters),
        )
        decoder = nn.Sequential(
            *dense([width, hidden, size]),
            nn.Unflatten(1, (deep, rows, columns)),
            *up_stack(self.channels),
            last_up(self.channels[-1], (outputs or shape)[0]),
        )
        return Networks(encoder, decoder)


def sixteenths(shape: Shape, name: str) -> tuple[int, int]:
    """The sides of an image after four halvings; an error if they are not divisible by 16."""
    return divided(shape, 16, name, instead="resnet, which takes any side, or --network mlp")


def divided(shape: Shape, by: int, name: str, instead: str) -> tuple[int, int]:
    """The sides of an image divided by ``by``; if not divisible, an error that suggests another network."""
    if len(shape) != 3 or shape[1] % by or shape[2] % by:
        raise DistaffError(
            f"{name} networks need images with sides divisible by {by}, not {tuple(shape)}: "
            f"scale them with --resize 64, or use --network {instead}."
        )
    return shape[1] // by, shape[2] // by


def channels_last(module: Module) -> Module:
    """The same module with its convolution weights laid out channels last.

    ``Module.to`` also sets the strides of one-channel weights, which ``Tensor.contiguous`` does not change;
    otherwise, each convolution next to one would copy its images from one layout to the other.
    """
    to: Callable[..., Module] = module.to
    return to(memory_format=torch.channels_last)


def images_channels_last(x: Tensor) -> Tensor:
    """Images (B, C, H, W) laid out channels last; vectors (B, D) unchanged."""
    return x.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else x


def kim_mnih(
    shape: Shape,
    parameters: int,
    width: int,
    outputs: Shape | None = None,
    grey: bool = False,
    hidden: int | None = None,
    channels: int = 32,
) -> Networks:
    """The networks of FactorVAE's Tables 1–3, for images whose sides are divisible by 16.

    The tables do not say whether a ReLU follows the encoder's dense layer; here one does, as in Do & Tran
    2020, Table 4.

    Args:
        shape: shape of an image.
        parameters: number of encoder outputs.
        width: number of decoder inputs.
        outputs: shape of the decoder's output; ``shape`` by default.
        grey: whether a single channel holds shades of grey (Table 3, 3D Faces), not just black and white
            (Table 1).
        hidden: units of the dense layers; by default 128 for black and white, 256 for grey and colour.
        channels: channels of the two convolutions next to the image; the others have twice as many. 16
            instead of the paper's 32 makes steps cheaper.
    """
    units = hidden or (128 if shape[0] == 1 and not grey else 256)
    stack = [2 * channels, 2 * channels, channels, channels]
    return Halving("kim_mnih", units, stack).pair(shape, parameters, width, outputs)


def mathieu_dsprites(
    shape: Shape, parameters: int, width: int, outputs: Shape | None = None, relu: bool = False
) -> Networks:
    """Mathieu et al. 2019, Table 1a: 64, 64, 32 channels in the decoder, a linear FC128 in the encoder.

    As in the authors' code, no activation follows FC128; with ``relu`` a ReLU does, as in distaff 0.1.
    """
    return Halving("mathieu_dsprites", 128, [64, 64, 64, 32], relu).pair(shape, parameters, width, outputs)
