"""Recipes that match the aggregate posterior q(z) with p(z), or weigh I(x;z)."""

from typing import Literal

from distaff.foundation.errors import unknown
from distaff.objectives.critics import CriticSettings, adversarial_prior, density_ratio_prior
from distaff.objectives.densities import Density, stratified
from distaff.objectives.divergences import Divergence, mmd, mmd_joint
from distaff.objectives.evidence import Evidence, log_evidence
from distaff.objectives.objective import Objective
from distaff.objectives.schedules import Weight
from distaff.objectives.terms import AnchoredInformation, kl, marginal_kl, mutual_information, nll


def aae(gamma: Weight = 1.0, critic: CriticSettings = CriticSettings()) -> Objective:
    """Adversarial auto-encoder (Makhzani et al. 2015; Kim & Mnih 2018, Eq. 7): q(z) matches p(z).

    Deterministic encoders are allowed: ``latents="point:10"``.

    >>> print(aae(gamma=2))
    nll + 2 marginal_kl

    See also ``wae_gan``, ``factor_vae_prior``.

    Args:
        gamma: weight of KL(q(z) ‖ p(z)); 1 in Eq. 7, tuned in Fig. 23.
        critic: the critic that estimates this KL, and its optimiser.
    """
    return nll + gamma * density_ratio_prior(critic)


def info_vae(
    alpha: float = 0.0, lam: float = 1000.0, divergence: Divergence = mmd_joint, density: Density = stratified
) -> Objective:
    """InfoVAE (Zhao et al. 2017, Eq. 6): less weight on KL(q(z|x) ‖ p), more on D(q(z), p(z)).

    >>> print(info_vae(alpha=0.5, lam=10))
    nll + 0.5 kl + 9.5 mmd_joint

    See also ``wae``, ``alpha_beta_vae``.

    Args:
        alpha: α, removes α I(x;z) from the penalty; 1 gives the row of HFVAE Table 1.
        lam: λ, weight of the divergence of q(z) from p(z); 1, with α = 0, in the VAE.
        divergence: D; mmd_joint is Zhao's choice, with Tolstikhin's kernel.
        density: estimator of q(z) for exclusive_kl and inclusive_kl.
    """
    return (nll + (1 - alpha) * kl + (alpha + lam - 1) * divergence).using(density)


def wae(lam: Weight = 10.0, divergence: Divergence = mmd_joint, density: Density = stratified) -> Objective:
    """Wasserstein auto-encoder (Tolstikhin et al. 2018, Eq. 4): nll + λ D(q(z), p(z)).

    Deterministic encoders are allowed: ``latents="point:10"``.

    >>> print(wae(lam=10))
    nll + 10 mmd_joint

    See also ``wae_gan``, ``info_vae``.

    Args:
        lam: λ, 10 for MNIST and 100 for CelebA in the paper.
        divergence: D.
        density: estimator of q(z) for exclusive_kl and inclusive_kl.
    """
    return (nll + lam * divergence).using(density)


def wae_gan(lam: Weight = 10.0, critic: CriticSettings = CriticSettings()) -> Objective:
    """Wasserstein auto-encoder with a GAN critic over z (Tolstikhin et al. 2018, Algorithm 1).

    >>> print(wae_gan(lam=10))
    nll + 10 adversarial_loss

    See also ``wae``, ``aae``.

    Args:
        lam: λ, weight of −E log D(z), the loss by which the encoder deceives the critic; a learned prior
            deceives it too, with its own samples.
        critic: the critic that distinguishes q(z) from p(z), and its optimiser.
    """
    return nll + lam * adversarial_prior(critic)


def anchor_vae(
    lam: float = 1.0, anchors: tuple[int | str, ...] = (0,), density: Density = stratified
) -> Objective:
    """AnchorVAE (Gao et al. 2018; HFVAE Table 1): the information I(x;z_a) of some latents is penalised less.

    >>> print(anchor_vae(lam=0.5))
    nll + kl − 0.5 anchored_information

    See also ``hfvae``.

    Args:
        lam: λ, weight of I(x;z_a), subtracted from the KL; 1 leaves the anchors' information unpenalised.
        anchors: the latents a, by name such as digit, or by number, counting the real ones first.
        density: estimator of q(z_a).
    """
    return (nll + kl + -lam * AnchoredInformation(anchors)).using(density)


def alpha_beta_vae(
    alpha: Weight = 1.0, beta: Weight = 1.0, divergence: Divergence = mmd, density: Density = stratified
) -> Objective:
    """The decomposition objective (Mathieu et al. 2019, Eq. 7): β sets the overlap, α the match of q(z).

    >>> print(alpha_beta_vae(alpha=10, beta=0.5))
    nll + 0.5 kl + 10 mmd

    See also ``info_vae``, ``max_entropy_vae``.

    Args:
        alpha: weight of the divergence D(q(z), p(z)).
        beta: weight of KL(q(z|x) ‖ p(z)).
        divergence: D; the paper uses mmd for sparsity and inclusive_kl for clusters.
        density: estimator of q(z) for exclusive_kl and inclusive_kl.
    """
    return (nll + beta * kl + alpha * divergence).using(density)


def ablated_elbo(
    without: Literal[1, 2, 3, 4] = 2, evidence: Evidence = Evidence("iwae", 32), density: Density = stratified
) -> Objective:
    """The ELBO with one of its four terms removed (HFVAE Fig. 2, 3).

    The ELBO is ① E log p(x|z)/p(x) − ② I(x;z) − ③ KL(q(x) ‖ p(x)) − ④ KL(q(z) ‖ p(z)). Up to a constant, nll
    is −① + ③, so removing ① or ③ leaves a log p(x) that has to be estimated.

    >>> print(ablated_elbo(without=2))
    nll + marginal_kl + 0.0 mutual_information

    See also ``hfvae``.

    Args:
        without: number of the term to remove.
        evidence: estimator of log p(x): iwae:K with K particles, or grid:K, a sum over all classes of
            discrete latents and K points of one real latent.
        density: estimator of q(z).
    """
    information, match = mutual_information, marginal_kl
    sums = {
        1: -1.0 * log_evidence(evidence) + information + match + 0.0 * nll,
        2: nll + match + 0.0 * information,
        3: nll + 1.0 * log_evidence(evidence) + information + match,
        4: nll + information + 0.0 * match,
    }
    if without not in sums:
        raise unknown("term of the ELBO", str(without), map(str, sums))
    return sums[without].using(density)
