"""p(z): a prior for each group of latents, one function per kind in ``kinds``."""

from distaff.models.priors.grammar import parse_prior
from distaff.models.priors.group import GroupPrior, Marginals
from distaff.models.priors.normal import StandardNormal
from distaff.models.priors.prior import Prior

__all__ = ["GroupPrior", "Marginals", "Prior", "StandardNormal", "parse_prior"]
