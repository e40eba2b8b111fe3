"""The kinds of prior that can be selected by name, as in ``--prior student_t:5``: one function each.

The type of the first argument says which groups a prior fits; the others are the numbers after its name.
"""

import itertools

import torch

from distaff.foundation.errors import DistaffError
from distaff.models.groups import Gaussian, StandardNormal
from distaff.models.latent_kinds import Discrete
from distaff.models.priors.discrete import Relaxed
from distaff.models.priors.real import Anisotropic, FullCovariance, GaussianMixture, Sparse, StudentT

MOST_CORNERS = 10


def normal(group: Gaussian) -> StandardNormal:
    """N(0, I)."""
    return StandardNormal(group.dims)


def anisotropic(group: Gaussian) -> Anisotropic:
    """N(0, diag σ²), with variances fixed at the data's principal values."""
    return Anisotropic(group.dims, learned=False)


def learned_anisotropic(group: Gaussian) -> Anisotropic:
    """N(0, diag σ²), with learned variances that start at the data's principal values."""
    return Anisotropic(group.dims, learned=True)


def full_covariance(group: Gaussian) -> FullCovariance:
    """N(0, Σ) with a learned Σ."""
    return FullCovariance(group.dims)


def student_t(group: Gaussian, nu: float = 5.0) -> StudentT:
    """A product of Student-t densities with ``nu`` degrees of freedom."""
    _positive("nu", nu)
    return StudentT(group.dims, nu)


def sparse(group: Gaussian, gamma: float = 0.9, sigma: float = 0.05) -> Sparse:
    """(1−γ) N(0, 1) + γ N(0, σ₀²) for each variable."""
    _positive("sigma", sigma)
    if not 0 < gamma < 1:
        raise DistaffError(f"gamma of a sparse prior must lie between 0 and 1, not {gamma:g}.")
    return Sparse(group.dims, gamma, sigma)


def mixture(group: Gaussian, variance: float = 0.03) -> GaussianMixture:
    """Equal Gaussians at the corners {0, 1}^D; with two latents, the four of the pinwheel (Mathieu Eq. 9).

    Their mixture is the product of ½ N(0, variance) + ½ N(1, variance) over the dimensions.
    """
    _positive("variance", variance)
    if group.dims > MOST_CORNERS:
        raise DistaffError(
            f"a mixture at the corners of {group.dims} dimensions has too many components: "
            f"use at most {MOST_CORNERS} latents."
        )
    corners = torch.tensor(list(itertools.product((0.0, 1.0), repeat=group.dims)))
    return GaussianMixture(corners, variance)


def uniform(group: Discrete) -> Relaxed:
    """Equal class probabilities."""
    return Relaxed(group, learned=False)


def learned_classes(group: Discrete) -> Relaxed:
    """Class probabilities learned with the model."""
    return Relaxed(group, learned=True)


def _positive(name: str, value: float) -> None:
    if not value > 0:
        raise DistaffError(f"{name} of a prior must be positive, not {value:g}.")
