"""The plain batch estimate of the total correlation, which fails: a score for tables of studies (Fig. 18)."""

from dataclasses import dataclass

import numpy as np
import torch

from distaff import Codes
from distaff.metrics import Result, metric
from distaff.mixtures import Mixture
from distaff.studies import draws_of, posteriors_of


@dataclass(frozen=True)
class Batch:
    """The batch that estimates q(z), and the number of draws.

    Args:
        size: |B|, number of observations whose posteriors make up q̂; half of the data if there are fewer.
        samples: number of draws of q(z), one per observation outside the batch.
    """

    size: int = 10_000
    samples: int = 10_000


@metric(paper="Kim & Mnih 2018", protocols={"kim18": Batch()}, says="information")
def batch_total_correlation(codes: Codes, settings: Batch) -> Result:
    """E[log q̂(z) − Σ_j log q̂(z_j)] for z outside the batch that makes up q̂ (App. D, Eq. 6), in nats."""
    joint, product = batch_densities(codes, settings.size, settings.samples)
    return Result(float((joint - product).mean()))


def batch_densities(codes: Codes, size: int, samples: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(M,) log q̂(z) and Σ_j log q̂(z_j) by a batch of ``size``, at ``samples`` draws of other observations."""
    rows = np.random.default_rng(0).permutation(len(codes))
    inside, outside = np.split(rows, [min(size, len(codes) // 2)])
    z = torch.from_numpy(draws_of(codes[outside], samples)).double()
    mu, logvar = posteriors_of(codes[inside])
    each = [Mixture(mu[:, [j]], logvar[:, [j]]).log_density(z[:, [j]]) for j in range(z.shape[1])]
    return Mixture(mu, logvar).log_density(z), torch.stack(each).sum(0)
