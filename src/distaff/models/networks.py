"""Encoders and decoders of the papers: one function per network, selected by ``--network NAME``.

Each function takes
    shape: shape of an observation, (C, H, W) or (D,);
    parameters: number of encoder outputs for all groups of latents;
    width: number of decoder inputs;
    outputs: shape of the decoder's output, if the likelihood needs more than ``shape``.

Further arguments are written after the name, as in ``mlp:hidden=512,layers=3``; ``grey`` comes from the data
set (``distaff.models.by_name``).
"""

import itertools
import math
from functools import partial

from torch import nn

from distaff.foundation.errors import DistaffError
from distaff.models.any_side import Broadcast, Residual, Resize, halvings, image_sides, there_and_back
from distaff.models.layers import (
    Halving,
    Networks,
    Shape,
    SideBySide,
    dense,
    dense_pair,
    down_stack,
    flat_end,
    last_up,
    sixteenths,
    up_stack,
)


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


def hfvae_mlp(
    shape: Shape, parameters: int, width: int, outputs: Shape | None = None, classes: int | None = None
) -> Networks:
    """Esmaeili et al. 2018, Table 3, for MNIST and Fashion-MNIST; its FC 2×200 is one layer of 400.

    Args:
        shape: shape of an image.
        parameters: number of encoder outputs.
        width: number of decoder inputs.
        outputs: shape of the decoder's output; ``shape`` by default.
        classes: number of classes of the discrete latent, which must be the last one. If given, its logits
            come from the first layer, and means and log-variances of the real latents from 200 units each, as
            in the authors' code.
    """
    pair = dense_pair(shape, parameters, width, outputs, encoder=[400, 400], decoder=[200, 400])
    if classes is None:
        return pair
    real, odd = divmod(parameters - classes, 2)
    if odd or real < 1:
        raise DistaffError(
            f"hfvae_mlp:classes={classes} needs real latents and then one of {classes} classes, such as "
            f"--latents style=gaussian:10,class=concrete:{classes}."
        )
    means, logvars = (nn.Sequential(*dense([400, 200]), nn.Linear(200, real)) for _ in range(2))
    heads = SideBySide(means, logvars, nn.Linear(400, classes))
    return Networks(nn.Sequential(nn.Flatten(), *dense([math.prod(shape), 400]), heads), pair.decoder)


def hfvae_dsprites(
    shape: Shape, parameters: int, width: int, outputs: Shape | None = None, units: int = 400
) -> Networks:
    """Esmaeili et al. 2018, Table 4: dense layers, tanh in the decoder; its FC 2×400 is one layer of 800.

    ``units`` is the size of the narrowest layer; 200 instead of the paper's 400 makes steps cheaper.
    """
    encoder, decoder = [3 * units, 3 * units, 2 * units], [units, 3 * units, 3 * units]
    return dense_pair(shape, parameters, width, outputs, encoder, decoder, activation=nn.Tanh)


def hfvae_celeba(shape: Shape, parameters: int, width: int, outputs: Shape | None = None) -> Networks:
    """Esmaeili et al. 2018, Table 5: convolutions with BatchNorm; its FC 2×256 is one layer of 512."""
    rows, columns = sixteenths(shape, "hfvae_celeba")
    size = 64 * rows * columns
    convolutions = down_stack([shape[0], 32, 32, 64, 64], norm=True)
    encoder = nn.Sequential(*convolutions, *flat_end(size, 512, parameters))
    decoder = nn.Sequential(
        *dense([width, 256]),
        *dense([256, size], nn.Tanh),
        nn.Unflatten(1, (64, rows, columns)),
        *up_stack([64, 64, 32, 32], norm=True),
        last_up(32, (outputs or shape)[0]),
    )
    return Networks(encoder, decoder)


def mathieu_dcgan(shape: Shape, parameters: int, width: int, outputs: Shape | None = None) -> Networks:
    """Mathieu et al. 2019, Table 1c: DCGAN, convolutions only, for CelebA.

    The last convolution of the encoder and the first of the decoder span the whole image after four halvings:
    4×4 for images of 64×64.
    """
    rest = sixteenths(shape, "mathieu_dcgan")
    leaky = partial(nn.LeakyReLU, 0.2, inplace=True)
    encoder = nn.Sequential(
        *down_stack([shape[0], 32, 64, 128, 256], norm=True, activation=leaky),
        nn.Conv2d(256, parameters, rest),
        nn.Flatten(),
    )
    decoder = nn.Sequential(
        nn.Unflatten(1, (width, 1, 1)),
        nn.ConvTranspose2d(width, 256, rest, bias=False),
        nn.BatchNorm2d(256),
        nn.ReLU(),
        *up_stack([256, 128, 64, 32], norm=True),
        last_up(32, (outputs or shape)[0]),
    )
    return Networks(encoder, decoder)


def dotran_celeba(shape: Shape, parameters: int, width: int, outputs: Shape | None = None) -> Networks:
    """Do & Tran 2020, Table 3. The ReLU printed after the last layer is left out: logits have either sign."""
    rest = sixteenths(shape, "dotran_celeba")
    encoder = nn.Sequential(
        *down_stack([shape[0], 32, 32, 64, 64]),
        nn.Conv2d(64, 256, rest),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(256, parameters),
    )
    decoder = nn.Sequential(
        *dense([width, 256]),
        nn.Unflatten(1, (256, 1, 1)),
        nn.ConvTranspose2d(256, 64, rest),
        nn.ReLU(),
        *up_stack([64, 64, 32, 32]),
        last_up(32, (outputs or shape)[0]),
    )
    return Networks(encoder, decoder)


def pinwheel(shape: Shape, parameters: int, width: int, outputs: Shape | None = None) -> Networks:
    """Mathieu et al. 2019, Table 1b: one hidden layer of 100 units."""
    return dense_pair(shape, parameters, width, outputs, encoder=[100], decoder=[100])


def mlp(
    shape: Shape,
    parameters: int,
    width: int,
    outputs: Shape | None = None,
    hidden: int = 256,
    layers: int = 2,
) -> Networks:
    """``layers`` dense layers of ``hidden`` units, for observations of any shape."""
    return dense_pair(shape, parameters, width, outputs, [hidden] * layers, [hidden] * layers)


def resnet(
    shape: Shape,
    parameters: int,
    width: int,
    outputs: Shape | None = None,
    channels: int = 32,
    hidden: int = 256,
) -> Networks:
    """Residual networks for images of any size (He et al. 2016), with one block per halving of the sides.

    Sides are halved, rounded up, until none exceeds 4; the channels double up to four times as many. The
    decoder goes back through the same sides. There is no BatchNorm, so batches may have any size.
    """
    there, middle, back = there_and_back(image_sides(shape, "resnet"), shape[0], channels)
    size = math.prod(middle)
    inside: list[nn.Module] = []
    for before, after in there:
        inside += [nn.Conv2d(before, after, 3, stride=2, padding=1), Residual(after)]
    outside: list[nn.Module] = []
    for side, before, after in back:
        outside += [Residual(before), Resize(side), nn.Conv2d(before, after, 3, padding=1), nn.ReLU()]
    return Networks(
        nn.Sequential(*inside, nn.ReLU(), *flat_end(size, hidden, parameters)),
        nn.Sequential(
            *dense([width, hidden, size]),
            nn.Unflatten(1, middle),
            *outside,
            nn.Conv2d(channels, (outputs or shape)[0], 3, padding=1),
        ),
    )


def broadcast(
    shape: Shape,
    parameters: int,
    width: int,
    outputs: Shape | None = None,
    channels: int = 64,
    layers: int = 4,
    hidden: int = 256,
) -> Networks:
    """The spatial broadcast decoder (Watters et al. 2019), for images of any size.

    The latents are repeated at every pixel beside the pixel's coordinates, and ``layers`` convolutions of
    stride 1 follow: positions become easy to represent. Kernels are 3×3, padded; the encoder has ``layers``
    convolutions that halve the sides.
    """
    rows, columns = image_sides(shape, "broadcast")
    rest = halvings((rows, columns), layers)[layers]
    inside, outside = [shape[0], *[channels] * layers], [width + 2, *[channels] * layers]
    down_again = [
        layer
        for pair in itertools.pairwise(inside)
        for layer in (nn.Conv2d(*pair, 3, stride=2, padding=1), nn.ReLU())
    ]
    flat = [
        layer for pair in itertools.pairwise(outside) for layer in (nn.Conv2d(*pair, 3, padding=1), nn.ReLU())
    ]
    size = channels * math.prod(rest)
    return Networks(
        nn.Sequential(*down_again, *flat_end(size, hidden, parameters)),
        nn.Sequential(
            Broadcast(rows, columns), *flat, nn.Conv2d(channels, (outputs or shape)[0], 3, padding=1)
        ),
    )


def conv1d(
    shape: Shape,
    parameters: int,
    width: int,
    outputs: Shape | None = None,
    channels: int = 32,
    hidden: int = 128,
) -> Networks:
    """Convolutions over time, for signals (C, T) or (T,) of any length.

    The length is halved, rounded up, until it is at most 4; the channels double up to four times as many.
    """
    if len(shape) not in (1, 2):
        raise DistaffError(f"conv1d networks need signals (C, T) or (T,), not {tuple(shape)}.")
    outputs = outputs or shape
    alone = len(shape) == 1
    parts, length = (1, shape[0]) if alone else shape
    if alone and outputs[0] % length:
        raise DistaffError(
            f"conv1d networks are for signals, not for columns of several kinds ({length} numbers in, "
            f"{outputs[0]} out): use --network mlp."
        )
    there, middle, back = there_and_back((length,), parts, channels)
    size = math.prod(middle)
    inside: list[nn.Module] = [nn.Unflatten(1, (1, length))] if alone else []
    for before, after in there:
        inside += [nn.Conv1d(before, after, 5, stride=2, padding=2), nn.ReLU()]
    outside: list[nn.Module] = []
    for side, before, after in back:
        outside += [Resize(side), nn.Conv1d(before, after, 5, padding=2), nn.ReLU()]
    last = nn.Conv1d(channels, outputs[0] // length if alone else outputs[0], 5, padding=2)
    return Networks(
        nn.Sequential(*inside, *flat_end(size, hidden, parameters)),
        nn.Sequential(
            *dense([width, hidden, size]),
            nn.Unflatten(1, middle),
            *outside,
            last,
            *([nn.Flatten()] if alone else []),
        ),
    )
