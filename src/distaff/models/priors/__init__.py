"""p(z): a prior for each group of latents, one function per kind in ``named``."""

from distaff.models.priors.group import GroupPrior, Marginals, StandardNormal
from distaff.models.priors.prior import Prior, parse_prior

__all__ = ["GroupPrior", "Marginals", "Prior", "StandardNormal", "parse_prior"]
