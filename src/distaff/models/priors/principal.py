"""The principal values of a data set, which say how unequal the variances of its directions are."""

import numpy as np
import torch
from torch import Tensor

from distaff.data.images import Images
from distaff.foundation.errors import DistaffError

SAMPLE = 2048
"""Number of observations, evenly spaced in the data set, from which the values are computed."""


def principal_variances(images: Images, dims: int) -> Tensor:
    """σ_i² = D · s_i / Σ_j s_j of the first D singular values s of the centred data, (D,).

    Their sum is D, as for N(0, I) (Mathieu et al. 2019, §6.1).
    """
    rows = np.unique(np.linspace(0, len(images) - 1, SAMPLE).astype(np.int64))
    x = images[rows].flatten(1).double()  # squares round by 1e-7 in float32, and their roots by 3e-4
    x = x - x.mean(0)
    gram = x @ x.T if len(x) <= x.shape[1] else x.T @ x
    values: Tensor = torch.linalg.eigvalsh(gram).flip(0).clamp_min(0).sqrt()
    directions = int((values > 1e-4 * values[0]).sum())
    if directions < dims:
        raise DistaffError(
            f"the data vary along {directions} directions, too few for an anisotropic prior over {dims} "
            "latents: use fewer latents or another prior."
        )
    return (dims * values[:dims] / values[:dims].sum()).float()
