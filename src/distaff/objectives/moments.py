"""Terms of first and second moments: DIP-VAE's covariances and the size of the posteriors."""

from collections.abc import Callable

import torch
from torch import Tensor

from distaff.foundation.errors import DistaffError
from distaff.models.groups import GaussianPosterior, Posterior, single
from distaff.objectives.objective import FunctionTerm, term
from distaff.objectives.step import Step

Covariance = Callable[[Step], Tensor]


def of_means(s: Step) -> Tensor:
    """Unbiased Cov[mu(x)] (D, D) of the Gaussian groups over the batch of all processes (DIP-VAE-I)."""
    mu, _ = _gaussians(s.output.posterior)
    with torch.autocast(mu.device.type, enabled=False):
        return torch.cov(single(s.processes.gather(mu)).T).reshape(mu.shape[1], -1)


def of_samples(s: Step) -> Tensor:
    """Cov_q(z)[z] = E diag(sigma²) + Cov[mu(x)] (D, D), by the law of total covariance (DIP-VAE-II)."""
    _, logvar = _gaussians(s.output.posterior)
    return of_means(s) + torch.diag(single(s.processes.gather(logvar)).exp().mean(0))


def squared_covariances(covariance: Covariance) -> FunctionTerm:
    """A term for Σ_i≠j Cov_ij² of a covariance, ``of_means`` or ``of_samples``."""

    def off_diagonal(s: Step) -> Tensor:
        c = covariance(s)
        return (c - torch.diag(c.diagonal())).square().sum()

    return FunctionTerm("squared_covariances", off_diagonal)


def unit_variances(covariance: Covariance) -> FunctionTerm:
    """A term for Σ_i (Cov_ii − 1)² of a covariance, ``of_means`` or ``of_samples``."""
    return FunctionTerm("unit_variances", lambda s: (covariance(s).diagonal() - 1).square().sum())


@term
def posterior_log_det(s: Step) -> Tensor:
    """E log det S(x) = E Σ_d log sigma_d²(x), twice the posteriors' entropy up to a constant."""
    return _gaussians(s.output.posterior)[1].sum(-1).mean()


def _gaussians(posterior: Posterior) -> tuple[Tensor, Tensor]:
    parts = [part for part in posterior.parts.values() if isinstance(part, GaussianPosterior)]
    if not parts:
        raise DistaffError("moments need at least one Gaussian group of latents.")
    return torch.cat([part.mu for part in parts], 1), torch.cat([part.logvar for part in parts], 1)
