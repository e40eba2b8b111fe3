"""Further networks of the papers: dense ones, and convolutions for CelebA."""

import math
from functools import partial

from torch import nn

from distaff.foundation.errors import DistaffError
from distaff.models.networks.building_blocks import SideBySide, dense_pair, flat_end
from distaff.models.networks.halving import Networks, Shape, dense, down_stack, last_up, sixteenths, up_stack


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
