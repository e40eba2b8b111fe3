"""log q(z), log q(z_g) and log q(z_d): the aggregate posterior as a mixture of N posteriors, at M samples.

Exports ``Mixture``: q(z) of a data set's Gaussian posteriors, for your own figures and estimates. The terms
and metrics of the library use the same kernel, so another estimator of q(z) should be built on ``Mixture``
rather than next to it.

``pairs`` is the kernel for a batch, with gradients, for training; ``gaussians`` is the kernel for a whole
data set, accurate to 1e-4 nats for any σ ≥ 1e-6, for ``decompose`` and metrics. Latents that are not
Gaussian contribute the log-densities of all pairs (``pairs.Part``).

>>> import torch
>>> from distaff.mixtures import Mixture
>>> q = Mixture(torch.zeros(1, 2), torch.zeros(1, 2))  # a single N(0, I)
>>> round(float(q.log_density(torch.zeros(1, 2))), 4)  # −log 2π
-1.8379
"""

from distaff.mixtures.gaussians import Mixture

__all__ = ["Mixture"]


def __dir__() -> list[str]:
    return __all__
