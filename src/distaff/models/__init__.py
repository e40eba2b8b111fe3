"""Networks, latents, priors and likelihoods, and the models that join them: all return distributions.

To add a network, write one function in ``networks.py`` that returns ``Networks``; a prior, one function in
``priors/kinds.py``; a kind of latent, one class in ``groups.py``; a likelihood, one class in
``likelihoods.py``. Each is found by being there. From outside, ``--network mine:my_pair`` and
``--prior mine:my_prior`` name any function.

>>> from distaff.models import LatentSpace
>>> LatentSpace.parse("style=gaussian:10,digit=concrete:10").dims
11
"""

from distaff.models import infogan_networks, networks
from distaff.models.infogan import InfoGAN
from distaff.models.latents import (
    Bernoulli,
    Concrete,
    Gaussian,
    LatentSpace,
    Point,
    Uniform,
    Variable,
)
from distaff.models.layers import Networks, Shape, dense_pair
from distaff.models.likelihoods import Likelihood
from distaff.models.posteriors import GroupPosterior, Posterior
from distaff.models.priors import GroupPrior, Marginals, Prior, parse_prior
from distaff.models.representation import Representation
from distaff.models.vae import VAE, Output

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
    "Representation",
    "Shape",
    "Uniform",
    "Variable",
    "dense_pair",
    "infogan_networks",
    "networks",
    "parse_prior",
]
