"""Recipes that make latents independent, through the total correlation of q(z) or its covariances."""

from dataclasses import replace

from distaff.objectives.critics import CriticSettings, density_ratio_prior, density_ratio_tc
from distaff.objectives.densities import Density, batch, remembered, stratified
from distaff.objectives.moments import of_means, of_samples, squared_covariances, unit_variances
from distaff.objectives.objective import Objective
from distaff.objectives.schedules import Weight
from distaff.objectives.terms import (
    class_balance,
    dimension_kl,
    discrete_kl,
    kl,
    mutual_information,
    nll,
    real_kl,
    tc_between_groups,
    tc_within_groups,
    total_correlation,
)


def factor_vae(
    gamma: Weight = 35.0,
    critic: CriticSettings = CriticSettings(),
    bottleneck: Weight = 1.0,
    early: Weight = 0.0,
    density: Density = remembered,
) -> Objective:
    """FactorVAE (Kim & Mnih 2018, Eq. 2): the VAE with its total correlation penalised by density ratio.

    >>> print(factor_vae(gamma=35))
    nll + kl + 35 total_correlation

    See also ``factor_vae_prior``, ``beta_tcvae``.

    Args:
        gamma: weight of the total correlation; 0 gives the VAE.
        critic: the critic that estimates the total correlation, and its optimiser.
        bottleneck: weight of the KL, 1 in Eq. 2; a schedule that ends at 1, such as exponential:60:1:4000,
            opens a tight bottleneck slowly, so that one factor after another takes a latent of its own.
        early: weight of the total correlation as estimated from a mixture of posteriors, 0 in Eq. 2. The
            critic learns late, and factors entangled by then stay so; the mixture is useful from the first
            step until the bottleneck opens.
        density: estimator of q(z) for that mixture.
    """
    objective = nll + bottleneck * kl + gamma * density_ratio_tc(critic)
    if early == 0:
        return objective
    return (objective + early * replace(total_correlation, name="early_tc")).using(density)


def factor_vae_prior(gamma: Weight = 35.0, critic: CriticSettings = CriticSettings()) -> Objective:
    """FactorVAE towards the prior (Kim & Mnih 2018, Eq. 12): KL(q(z) ‖ p(z)) in place of the TC.

    >>> print(factor_vae_prior(gamma=35))
    nll + kl + 35 marginal_kl

    See also ``factor_vae``, ``aae``.

    Args:
        gamma: weight of KL(q(z) ‖ p(z)); 0 gives the VAE.
        critic: the critic that estimates this KL, and its optimiser.
    """
    return nll + kl + gamma * density_ratio_prior(critic)


def info_dropout(beta: Weight = 1.0, gamma: Weight = 0.0, density: Density = stratified) -> Objective:
    """Information dropout (Achille & Soatto 2018; Kim & Mnih 2018, Eq. 8, 9): penalise I(x;z), optionally TC.

    >>> print(info_dropout(beta=2, gamma=3))
    nll + 2 mutual_information + 3 total_correlation

    See also ``beta_tcvae``.

    Args:
        beta: weight of I(x;z).
        gamma: weight of the total correlation; 0 gives Eq. 8.
        density: estimator of q(z).
    """
    return (nll + beta * mutual_information + gamma * total_correlation).using(density)


def dip_vae_i(off_diagonal: Weight = 10.0, diagonal: Weight = 100.0) -> Objective:
    """DIP-VAE-I (Kumar et al. 2018; Kim & Mnih 2018, Eq. 10): pull Cov[mu(x)] towards the identity.

    >>> print(dip_vae_i(off_diagonal=5))
    nll + kl + 5 squared_covariances + 100.0 unit_variances

    See also ``dip_vae_ii``.

    Args:
        off_diagonal: λ_od, weight of the squared covariances.
        diagonal: λ_d, weight of the variances' squared distances from 1.
    """
    return nll + kl + off_diagonal * squared_covariances(of_means) + diagonal * unit_variances(of_means)


def dip_vae_ii(off_diagonal: Weight = 10.0, diagonal: Weight = 10.0) -> Objective:
    """DIP-VAE-II (Kumar et al. 2018; Kim & Mnih 2018, Eq. 11): pull Cov_q(z)[z] towards the identity.

    >>> print(dip_vae_ii(off_diagonal=5))
    nll + kl + 5 squared_covariances + 10.0 unit_variances

    See also ``dip_vae_i``.

    Args:
        off_diagonal: λ_od, weight of the squared covariances.
        diagonal: λ_d, weight of the variances' squared distances from 1.
    """
    return nll + kl + off_diagonal * squared_covariances(of_samples) + diagonal * unit_variances(of_samples)


def beta_tcvae(
    beta: Weight = 6.0, alpha: Weight = 1.0, gamma: Weight = 1.0, density: Density = stratified
) -> Objective:
    """β-TCVAE (Chen et al. 2018, Eq. 4; HFVAE Table 1): the KL term in three parts, with weight β on the TC.

    >>> print(beta_tcvae(beta=6))
    nll + mutual_information + 6 total_correlation + dimension_kl

    See also ``batch_tc_vae``, ``factor_vae``, ``hfvae``.

    Args:
        beta: weight of the total correlation.
        alpha: weight of I(x;z).
        gamma: weight of Σ_d KL(q(z_d) ‖ p(z_d)).
        density: estimator of q(z); weighted is Chen's default.
    """
    parts = alpha * mutual_information + beta * total_correlation + gamma * dimension_kl
    return (nll + parts).using(density)


def batch_tc_vae(
    beta: Weight = 6.0, alpha: Weight = 1.0, gamma: Weight = 1.0, density: Density = batch
) -> Objective:
    """β-TCVAE with a plain batch estimate of q(z) (Kim & Mnih 2018, App. D).

    >>> print(batch_tc_vae(beta=6))
    nll + mutual_information + 6 total_correlation + dimension_kl

    See also ``beta_tcvae``.

    Args:
        beta: weight of the total correlation.
        alpha: weight of I(x;z).
        gamma: weight of Σ_d KL(q(z_d) ‖ p(z_d)).
        density: estimator of q(z); batch is the paper's fix, independent_batch the form that fails because
            its TC turns negative.
    """
    return beta_tcvae(beta, alpha, gamma, density)


def hfvae(
    alpha: Weight = 1.0,
    beta: Weight = 4.0,
    gamma: Weight = 3.0,
    real: Weight = 0.0,
    discrete: Weight = 0.0,
    balance: Weight = 0.0,
    density: Density = stratified,
) -> Objective:
    """HFVAE (Esmaeili et al. 2018, Eq. 9): weigh total correlation between and within groups of latents.

    Real latents learn faster than discrete ones, and the TC between groups then keeps discrete latents from
    encoding the same information. ``real="linear:12:0:5000"`` closes the real latents at first, so that the
    discrete ones learn first, and ``balance="linear:30:0:5000"`` keeps all classes in use meanwhile.

    >>> print(hfvae(beta=4, gamma=3))
    nll + mutual_information + 4 tc_between_groups + 3 tc_within_groups + dimension_kl

    See also ``beta_tcvae``, ``structured_beta_vae``.

    Args:
        alpha: weight of I(x;z).
        beta: weight of the TC between groups, relative to the prior's own.
        gamma: weight of the TC within groups, relative to the prior's own.
        real: weight of an additional KL of the groups of real latents, not in Eq. 9.
        discrete: weight of an additional KL of the groups of discrete latents, not in Eq. 9; a negative
            weight lessens their KL.
        balance: weight of log k − H(q(c)) of each discrete latent, not in Eq. 9.
        density: estimator of q(z).
    """
    tc = beta * tc_between_groups + gamma * tc_within_groups
    objective = nll + alpha * mutual_information + tc + dimension_kl
    for weight, extra in ((real, real_kl), (discrete, discrete_kl), (balance, class_balance)):
        if weight != 0:
            objective += weight * extra
    return objective.using(density)
