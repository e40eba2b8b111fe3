"""p(z): a prior for each group of latents, one kind a function in ``kinds``."""

from distaff.models.priors.gaussians import StandardNormal
from distaff.models.priors.group import GroupPrior
from distaff.models.priors.prior import Prior

__all__ = ["GroupPrior", "Prior", "StandardNormal"]
