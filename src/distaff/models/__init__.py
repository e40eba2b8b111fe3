"""Networks, latents, priors and likelihoods, and the models that join them: all return distributions.

- ``networks``, ``infogan_networks``: pairs of encoder and decoder, one function each; ``Networks``,
  ``Shape`` and ``dense_pair`` help to write your own.
- ``LatentSpace``: named groups (``Gaussian``, ``Point``, ``Quantized``, ``Uniform``, ``Concrete``,
  ``Rounded``, ``Bernoulli``), whose single latents are ``Variable`` objects.
- ``Posterior``, ``Prior``, ``Likelihood``: the distributions; ``GroupPosterior`` and ``GroupPrior``: those of
  one group; ``Marginals`` helps to write a prior, ``parse_prior`` reads ``student_t:5``.
- ``VAE`` with its ``Output``, ``InfoGAN``; ``Representation``: what ``train`` and ``load`` return.
- ``ica``: unmixes codes linearly, by an ``Unmixing``.

To add a network, write one function in a file of ``networks`` that returns ``Networks``; a prior, one
function in ``priors/named.py``; a kind of latent, one class in ``latent_kinds.py``; a likelihood, one class
in ``likelihoods.py``. Your own functions need no change here: ``--network mine:my_pair`` and
``--prior mine:my_prior`` take any function.

>>> from distaff.models import LatentSpace
>>> LatentSpace.parse("style=gaussian:10,digit=concrete:10").dims
11
"""

from distaff.models import infogan_networks, networks
from distaff.models.groups import Gaussian, GroupPosterior, GroupPrior, Marginals, Posterior
from distaff.models.ica import Unmixing, ica
from distaff.models.infogan import InfoGAN
from distaff.models.latent_kinds import Bernoulli, Concrete, Point, Quantized, Rounded, Uniform
from distaff.models.latents import LatentSpace, Variable
from distaff.models.networks.building_blocks import dense_pair
from distaff.models.networks.halving import Networks, Shape
from distaff.models.priors.parsing import parse_prior
from distaff.models.representation import Representation
from distaff.models.vae import VAE, Likelihood, Output, Prior

__all__ = [
    "VAE",
    "Bernoulli",
    "Concrete",
    "Gaussian",
    "GroupPosterior",
    "GroupPrior",
    "InfoGAN",
    "LatentSpace",
    "Likelihood",
    "Marginals",
    "Networks",
    "Output",
    "Point",
    "Posterior",
    "Prior",
    "Quantized",
    "Representation",
    "Rounded",
    "Shape",
    "Uniform",
    "Unmixing",
    "Variable",
    "dense_pair",
    "ica",
    "infogan_networks",
    "networks",
    "parse_prior",
]


def __dir__() -> list[str]:
    return __all__
