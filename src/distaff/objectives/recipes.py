"""One function per paper: from its letters to an objective. ``distaff train NAME`` finds them by name."""

from dataclasses import replace
from typing import Literal

from distaff.foundation.errors import unknown
from distaff.models.latents import Point, Quantized
from distaff.objectives.critics import (
    CriticSettings,
    adversarial_prior,
    density_ratio_prior,
    density_ratio_tc,
)
from distaff.objectives.densities import Density, batch, remembered, stratified
from distaff.objectives.divergences import Divergence, mmd, mmd_joint
from distaff.objectives.evidence import Evidence, log_evidence
from distaff.objectives.games import JENSEN_SHANNON, WASSERSTEIN, DiscriminatorSettings, Game
from distaff.objectives.moments import (
    of_means,
    of_samples,
    posterior_log_det,
    squared_covariances,
    unit_variances,
)
from distaff.objectives.objective import Objective
from distaff.objectives.pairs import Sharing, averaged, multiplied
from distaff.objectives.quantisation import commitment, quantization
from distaff.objectives.schedules import Linear, Weight
from distaff.objectives.terms import (
    AnchoredInformation,
    CapacityGap,
    class_balance,
    dimension_kl,
    discrete_kl,
    kl,
    marginal_kl,
    mutual_information,
    nll,
    real_kl,
    tc_between_groups,
    tc_within_groups,
    total_correlation,
)


def vae() -> Objective:
    """The variational auto-encoder (Kingma & Welling 2014): the negative ELBO.

    >>> print(vae())
    nll + kl

    See also ``beta_vae``.
    """
    return nll + kl


def beta_vae(beta: Weight = 4.0) -> Objective:
    """β-VAE (Higgins et al. 2016): the KL term weighs β.

    >>> print(beta_vae(beta=4))
    nll + 4 kl

    See also ``annealed_vae``, ``beta_tcvae``, ``factor_vae``.

    Args:
        beta: weight of KL(q(z|x) ‖ p(z)); 1 is the VAE.
    """
    return nll + beta * kl


def annealed_vae(gamma: Weight = 1000.0, capacity: Weight = Linear(0.0, 25.0, 100_000)) -> Objective:
    """Annealed VAE (Burgess et al. 2018, Eq. 8): the KL term is held at a capacity that grows.

    >>> print(annealed_vae(gamma=100.0))
    nll + 100.0 capacity_gap

    See also ``beta_vae``.

    Args:
        gamma: weight of |KL − C(t)|.
        capacity: C(t) in nats.
    """
    return nll + gamma * CapacityGap(capacity)


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
        gamma: weight of the total correlation; 0 is the VAE.
        critic: the critic that estimates it, and its optimiser.
        bottleneck: weight of the KL, 1 in Eq. 2; a schedule that ends there, such as exponential:60:1:4000,
            opens a tight bottleneck slowly, so that factors take a latent each, one after another.
        early: weight of the same total correlation from a mixture of posteriors, 0 in Eq. 2. The critic
            learns late, and what is tangled by then stays so; the mixture is of use from the first step until
            the bottleneck opens.
        density: how that mixture is made.
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
        gamma: weight of KL(q(z) ‖ p(z)); 0 is the VAE.
        critic: the critic that estimates it, and its optimiser.
    """
    return nll + kl + gamma * density_ratio_prior(critic)


def aae(gamma: Weight = 1.0, critic: CriticSettings = CriticSettings()) -> Objective:
    """Adversarial auto-encoder (Makhzani et al. 2015; Kim & Mnih 2018, Eq. 7): q(z) matches p(z).

    Deterministic encoders are allowed: ``latents="point:10"``.

    >>> print(aae(gamma=2))
    nll + 2 marginal_kl

    See also ``wae_gan``, ``factor_vae_prior``.

    Args:
        gamma: weight of KL(q(z) ‖ p(z)), 1 in Eq. 7 and tuned in Fig. 23.
        critic: the critic that estimates it, and its optimiser.
    """
    return nll + gamma * density_ratio_prior(critic)


def info_dropout(beta: Weight = 1.0, gamma: Weight = 0.0, density: Density = stratified) -> Objective:
    """Information dropout (Achille & Soatto 2018; Kim & Mnih 2018, Eq. 8, 9): I(x;z), and TC if wanted.

    >>> print(info_dropout(beta=2, gamma=3))
    nll + 2 mutual_information + 3 total_correlation

    See also ``beta_tcvae``.

    Args:
        beta: weight of I(x;z).
        gamma: weight of the total correlation; 0 is Eq. 8.
        density: how q(z) is estimated.
    """
    return (nll + beta * mutual_information + gamma * total_correlation).using(density)


def dip_vae_i(off_diagonal: Weight = 10.0, diagonal: Weight = 100.0) -> Objective:
    """DIP-VAE-I (Kumar et al. 2018; Kim & Mnih 2018, Eq. 10): Cov[mu(x)] is drawn to the identity.

    >>> print(dip_vae_i(off_diagonal=5))
    nll + kl + 5 squared_covariances + 100.0 unit_variances

    See also ``dip_vae_ii``.

    Args:
        off_diagonal: λ_od, weight of the squared covariances.
        diagonal: λ_d, weight of the variances' squared distances from 1.
    """
    return nll + kl + off_diagonal * squared_covariances(of_means) + diagonal * unit_variances(of_means)


def dip_vae_ii(off_diagonal: Weight = 10.0, diagonal: Weight = 10.0) -> Objective:
    """DIP-VAE-II (Kumar et al. 2018; Kim & Mnih 2018, Eq. 11): Cov_q(z)[z] is drawn to the identity.

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
    """β-TCVAE (Chen et al. 2018, Eq. 4; HFVAE Table 1): the KL term in three parts, the TC weighs β.

    >>> print(beta_tcvae(beta=6))
    nll + mutual_information + 6 total_correlation + dimension_kl

    See also ``batch_tc_vae``, ``factor_vae``, ``hfvae``.

    Args:
        beta: weight of the total correlation.
        alpha: weight of I(x;z).
        gamma: weight of Σ_d KL(q(z_d) ‖ p(z_d)).
        density: how q(z) is estimated; weighted is Chen's default.
    """
    parts = alpha * mutual_information + beta * total_correlation + gamma * dimension_kl
    return (nll + parts).using(density)


def batch_tc_vae(
    beta: Weight = 6.0, alpha: Weight = 1.0, gamma: Weight = 1.0, density: Density = batch
) -> Objective:
    """β-TCVAE by a plain batch estimate of q(z) (Kim & Mnih 2018, App. D).

    >>> print(batch_tc_vae(beta=6))
    nll + mutual_information + 6 total_correlation + dimension_kl

    See also ``beta_tcvae``.

    Args:
        beta: weight of the total correlation.
        alpha: weight of I(x;z).
        gamma: weight of Σ_d KL(q(z_d) ‖ p(z_d)).
        density: batch is the paper's fix; independent_batch its failing form, whose TC turns negative.
    """
    return beta_tcvae(beta, alpha, gamma, density)


def info_vae(
    alpha: float = 0.0, lam: float = 1000.0, divergence: Divergence = mmd_joint, density: Density = stratified
) -> Objective:
    """InfoVAE (Zhao et al. 2017, Eq. 6): less of KL(q(z|x) ‖ p), more of D(q(z), p(z)).

    >>> print(info_vae(alpha=0.5, lam=10))
    nll + 0.5 kl + 9.5 mmd_joint

    See also ``wae``, ``alpha_beta_vae``.

    Args:
        alpha: takes α I(x;z) off the penalty; 1 is HFVAE Table 1's row.
        lam: λ, weight of the divergence of q(z) beyond the VAE's own.
        divergence: D; mmd_joint is Zhao's choice, in Tolstikhin's kernel.
        density: how exclusive_kl and inclusive_kl estimate q(z).
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
        density: how exclusive_kl and inclusive_kl estimate q(z).
    """
    return (nll + lam * divergence).using(density)


def wae_gan(lam: Weight = 10.0, critic: CriticSettings = CriticSettings()) -> Objective:
    """Wasserstein auto-encoder with a GAN critic over z (Tolstikhin et al. 2018, Algorithm 1).

    >>> print(wae_gan(lam=10))
    nll + 10 adversarial_loss

    See also ``wae``, ``aae``.

    Args:
        lam: λ, weight of −E log D(z), by which the encoder deceives the critic; so does a learned prior, by
            its own samples.
        critic: the critic that tells q(z) from p(z), and its optimiser.
    """
    return nll + lam * adversarial_prior(critic)


def anchor_vae(
    lam: float = 1.0, anchors: tuple[int | str, ...] = (0,), density: Density = stratified
) -> Objective:
    """AnchorVAE (Gao et al. 2018; HFVAE Table 1): I(x;z_a) of some latents is penalised less.

    >>> print(anchor_vae(lam=0.5))
    nll + kl − 0.5 anchored_information

    See also ``hfvae``.

    Args:
        lam: λ, how much of it is given back; 1 makes the anchors' information free.
        anchors: the latents a, by name such as digit, or by number, as everywhere the real ones first.
        density: how q(z_a) is estimated.
    """
    return (nll + kl + -lam * AnchoredInformation(anchors)).using(density)


def hfvae(
    alpha: Weight = 1.0,
    beta: Weight = 4.0,
    gamma: Weight = 3.0,
    real: Weight = 0.0,
    discrete: Weight = 0.0,
    balance: Weight = 0.0,
    density: Density = stratified,
) -> Objective:
    """HFVAE (Esmaeili et al. 2018, Eq. 9): total correlation between and within groups of latents.

    Real latents learn faster than discrete ones, and what they know the TC between groups then keeps from
    the others: ``real="linear:12:0:5000"`` closes them at first, so that the discrete ones learn first, and
    ``balance="linear:30:0:5000"`` keeps classes from falling out of use meanwhile.

    >>> print(hfvae(beta=4, gamma=3))
    nll + mutual_information + 4 tc_between_groups + 3 tc_within_groups + dimension_kl

    See also ``beta_tcvae``, ``structured_beta_vae``.

    Args:
        alpha: weight of I(x;z).
        beta: weight of the TC between groups, relative to the prior's own.
        gamma: weight of the TC within groups, relative to the prior's own.
        real: weight of the KL of the groups of real latents, beyond Eq. 9.
        discrete: weight of the KL of the groups of discrete latents, beyond Eq. 9; below 0 it is relieved.
        balance: weight of log k − H(q(c)) of each discrete latent, beyond Eq. 9.
        density: how q(z) is estimated.
    """
    tc = beta * tc_between_groups + gamma * tc_within_groups
    objective = nll + alpha * mutual_information + tc + dimension_kl
    for weight, extra in ((real, real_kl), (discrete, discrete_kl), (balance, class_balance)):
        if weight != 0:
            objective += weight * extra
    return objective.using(density)


def structured_beta_vae(beta: Weight = 4.0) -> Objective:
    """β-SVAE (HFVAE §6): β-VAE over discrete and continuous groups of latents.

    The groups are the model's, as in ``latents="style=gaussian:10,digit=concrete:10"``.

    >>> print(structured_beta_vae(beta=4))
    nll + 4 kl

    See also ``hfvae``, ``beta_vae``.

    Args:
        beta: weight of KL(q(z|x) ‖ p(z)) of all groups.
    """
    return nll + beta * kl


def alpha_beta_vae(
    alpha: Weight = 1.0,
    beta: Weight = 1.0,
    divergence: Divergence = mmd,
    density: Density = stratified,
) -> Objective:
    """The decomposition objective (Mathieu et al. 2019, Eq. 7): overlap by β, the match of q(z) by α.

    >>> print(alpha_beta_vae(alpha=10, beta=0.5))
    nll + 0.5 kl + 10 mmd

    See also ``info_vae``, ``max_entropy_vae``.

    Args:
        alpha: weight of the divergence D(q(z), p(z)).
        beta: weight of KL(q(z|x) ‖ p(z)).
        divergence: D; the paper uses mmd for sparsity and inclusive_kl for clusters.
        density: how exclusive_kl and inclusive_kl estimate q(z).
    """
    return (nll + beta * kl + alpha * divergence).using(density)


def max_entropy_vae(beta: float = 4.0) -> Objective:
    """Maximum-entropy VAE (Mathieu et al. 2019, Eq. 5): β-VAE up to a rescaling of z by √β (Cor. 1).

    >>> print(max_entropy_vae(beta=4))
    nll + kl − 1.5 posterior_log_det

    See also ``beta_vae``.

    Args:
        beta: the entropy of q(z|x) is rewarded by (β−1)/2 · log det S(x).
    """
    return nll + kl + -(beta - 1) / 2 * posterior_log_det


def ada_gvae(beta: Weight = 1.0) -> Objective:
    """Ada-GVAE (Locatello et al. 2020a): β-VAE of pairs; latents found to be shared are averaged.

    Latent d of a pair is shared if δ_d = KL(q(z_d|x₁) ‖ q(z_d|x₂)) is below ½ (min δ + max δ). Both members
    then have N(½ (μ₁ + μ₂), ½ (σ₁² + σ₂²)) there, and each its own posterior elsewhere.

    >>> print(ada_gvae(beta=4))
    nll + 4 kl over pairs, averaged where found alike

    See also ``ada_ml_vae``, ``gvae``, ``beta_vae``.

    Args:
        beta: weight of KL(q(z|x) ‖ p(z)) of both members.
    """
    return (nll + beta * kl).of_pairs(Sharing(averaged))


def ada_ml_vae(beta: Weight = 1.0) -> Objective:
    """Ada-ML-VAE (Locatello et al. 2020a): as Ada-GVAE, but shared posteriors are multiplied.

    >>> print(ada_ml_vae())
    nll + kl over pairs, multiplied where found alike

    See also ``ada_gvae``, ``ml_vae``.

    Args:
        beta: weight of KL(q(z|x) ‖ p(z)) of both members.
    """
    return (nll + beta * kl).of_pairs(Sharing(multiplied))


def gvae(beta: Weight = 1.0) -> Objective:
    """GVAE (Hosoya 2019): β-VAE of pairs whose shared factors are known; their latents are averaged.

    Factor k belongs to latent k; latents beyond the factors are shared by every pair.

    >>> print(gvae())
    nll + kl over pairs, averaged where known alike

    See also ``ada_gvae``, ``ml_vae``.

    Args:
        beta: weight of KL(q(z|x) ‖ p(z)) of both members.
    """
    return (nll + beta * kl).of_pairs(Sharing(averaged, known=True))


def ml_vae(beta: Weight = 1.0) -> Objective:
    """ML-VAE (Bouchacourt et al. 2018): as GVAE, but shared posteriors are multiplied.

    >>> print(ml_vae())
    nll + kl over pairs, multiplied where known alike

    See also ``ada_ml_vae``, ``gvae``.

    Args:
        beta: weight of KL(q(z|x) ‖ p(z)) of both members.
    """
    return (nll + beta * kl).of_pairs(Sharing(multiplied, known=True))


def qlae(quantize: Weight = 10.0, commit: Weight = 10.0) -> Objective:
    """QLAE (Hsu et al. 2023): an auto-encoder of quantised latents under strong weight decay.

    Each latent is rounded to the nearest of its own few learned values: 10 by default, while --latents
    quantized:12:5 asks for 12 latents of 5. Trained by AdamW at 1e-3 with a weight decay of 0.1, as in the
    authors' code. That weighs means over latents by 0.01 beside a mean over pixels, which for 3D Shapes'
    12,288 pixels and 12 latents is 0.01 · 12,288 / 12 ≈ 10 of the sums here. Its decay spares biases too,
    ours codebooks alone.

    >>> print(qlae())
    nll + 10.0 quantization + 10.0 commitment

    See also ``ae``.

    Args:
        quantize: weight of the distance that codebooks go to the encoder's outputs.
        commit: weight of the same distance, which the encoder goes to the codebooks.
    """
    objective = nll + quantize * quantization + commit * commitment
    usual = {"optimizer": "adamw", "learning_rate": 1e-3, "weight_decay": 0.1}
    return objective.usually(latents=Quantized, **usual)


def ae() -> Objective:
    """The plain auto-encoder: deterministic latents under weight decay, to be unmixed by ICA afterwards.

    Trained by AdamW at 1e-3 with a weight decay of 0.001 on point latents, as a baseline of Hsu et al. 2023.
    ``distaff evaluate RUN --ica`` unmixes its codes.

    >>> print(ae())
    nll

    See also ``qlae``, ``vae``.
    """
    usual = {"optimizer": "adamw", "learning_rate": 1e-3, "weight_decay": 0.001}
    return (1.0 * nll).usually(latents=Point, **usual)


def infogan(lam: Weight = 1.0, discriminator: DiscriminatorSettings = DiscriminatorSettings()) -> Game:
    """InfoGAN (Chen et al. 2016; Kim & Mnih 2018, Eq. 13–15): a GAN whose codes can be read off its images.

    Its discriminator tends to collapse: ``infowgan_gp`` is the one to prefer.

    >>> print(infogan(lam=0.5))
    generator_loss − 0.5 code_log_likelihood against discriminator_loss

    See also ``infowgan_gp``.

    Args:
        lam: λ, weight of the code log-likelihood E log Q(c|G(c, ε)).
        discriminator: the discriminator's optimiser.
    """
    return Game(JENSEN_SHANNON, lam, discriminator=discriminator)


def infowgan_gp(
    lam: Weight = 1.0, eta: float = 10.0, discriminator: DiscriminatorSettings = DiscriminatorSettings()
) -> Game:
    """InfoWGAN-GP (Kim & Mnih 2018, Eq. 16): InfoGAN with a Wasserstein critic under gradient penalty.

    >>> print(infowgan_gp(eta=10))
    generator_loss − code_log_likelihood against discriminator_loss + 10 gradient_penalty

    See also ``infogan``.

    Args:
        lam: λ, weight of the code log-likelihood E log Q(c|G(c, ε)).
        eta: η, weight of the gradient penalty E (‖∇D(x̂)‖₂ − 1)².
        discriminator: the critic's optimiser.
    """
    return Game(WASSERSTEIN, lam, eta, discriminator)


def ablated_elbo(
    without: Literal[1, 2, 3, 4] = 2, evidence: Evidence = Evidence("iwae", 32), density: Density = stratified
) -> Objective:
    """The ELBO with one of its four terms removed (HFVAE Fig. 2, 3).

    The ELBO is ① E log p(x|z)/p(x) − ② I(x;z) − ③ KL(q(x) ‖ p(x)) − ④ KL(q(z) ‖ p(z)); nll is −① + ③ but
    for a constant, so that removing ① or ③ leaves a log p(x) that has to be estimated.

    >>> print(ablated_elbo(without=2))
    nll + marginal_kl + 0.0 mutual_information

    See also ``hfvae``.

    Args:
        without: which term.
        evidence: how log p(x) is estimated: iwae:K with K particles, or grid:K, a sum over all classes of
            discrete latents and K points of one real latent.
        density: how q(z) is estimated.
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
