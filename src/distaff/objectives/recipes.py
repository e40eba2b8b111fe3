"""One function a paper: from its letters to an objective. ``distaff train NAME`` finds them by name."""

from distaff.objectives.critics import CriticSettings, DensityRatioTC
from distaff.objectives.objective import Objective
from distaff.objectives.schedules import Weight
from distaff.objectives.terms import kl, nll


def vae() -> Objective:
    """The variational auto-encoder (Kingma & Welling 2014): the negative ELBO."""
    return nll + kl


def beta_vae(beta: Weight = 4.0) -> Objective:
    """β-VAE (Higgins et al. 2016): the KL term weighs β.

    Args:
        beta: weight of KL(q(z|x) ‖ p(z)); 1 is the VAE.
    """
    return nll + beta * kl


def factor_vae(gamma: Weight = 35.0, critic: CriticSettings = CriticSettings()) -> Objective:
    """FactorVAE (Kim & Mnih 2018, Eq. 2): the VAE with its total correlation penalised by density ratio.

    Args:
        gamma: weight of the total correlation; 0 is the VAE.
        critic: the critic that estimates it, and its optimiser.
    """
    return nll + kl + gamma * DensityRatioTC(critic)
