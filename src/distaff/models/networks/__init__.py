"""Encoders and decoders: one function per network, selected by ``--network NAME``.

Each function takes
    shape: shape of an observation, (C, H, W) or (D,);
    parameters: number of encoder outputs for all groups of latents;
    width: number of decoder inputs;
    outputs: shape of the decoder's output, if the likelihood needs more than ``shape``.

Further arguments are written after the name, as in ``mlp:hidden=512,layers=3``; ``grey`` comes from the data
set (``distaff.models.by_name``). To add a network, write one function in a file of this folder, and import it
here.
"""

from distaff.models.networks.any_size import broadcast, conv1d, mlp, resnet
from distaff.models.networks.halving import kim_mnih, mathieu_dsprites
from distaff.models.networks.of_papers import (
    dotran_celeba,
    hfvae_celeba,
    hfvae_dsprites,
    hfvae_mlp,
    mathieu_dcgan,
    pinwheel,
)

__all__ = [
    "broadcast",
    "conv1d",
    "dotran_celeba",
    "hfvae_celeba",
    "hfvae_dsprites",
    "hfvae_mlp",
    "kim_mnih",
    "mathieu_dcgan",
    "mathieu_dsprites",
    "mlp",
    "pinwheel",
    "resnet",
]
