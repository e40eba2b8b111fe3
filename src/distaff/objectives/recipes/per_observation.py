"""Recipes with terms of one observation, or of a pair: of q(z|x) and its codes."""

from distaff.models.latent_kinds import Point, Quantized
from distaff.objectives.moments import posterior_log_det
from distaff.objectives.objective import Objective
from distaff.objectives.pairs import Sharing, averaged, multiplied
from distaff.objectives.schedules import Linear, Weight
from distaff.objectives.terms import CapacityGap, commitment, kl, nll, quantization


def vae() -> Objective:
    """The variational auto-encoder (Kingma & Welling 2014): the negative ELBO.

    >>> print(vae())
    nll + kl

    See also ``beta_vae``.
    """
    return nll + kl


def beta_vae(beta: Weight = 4.0) -> Objective:
    """β-VAE (Higgins et al. 2016): weight β on the KL term.

    >>> print(beta_vae(beta=4))
    nll + 4 kl

    See also ``annealed_vae``, ``beta_tcvae``, ``factor_vae``.

    Args:
        beta: weight of KL(q(z|x) ‖ p(z)); 1 gives the VAE.
    """
    return nll + beta * kl


def annealed_vae(gamma: Weight = 1000.0, capacity: Weight = Linear(0.0, 25.0, 100_000)) -> Objective:
    """Annealed VAE (Burgess et al. 2018, Eq. 8): the KL term is held at a growing capacity.

    >>> print(annealed_vae(gamma=100.0))
    nll + 100.0 capacity_gap

    See also ``beta_vae``.

    Args:
        gamma: weight of |KL − C(t)|.
        capacity: C(t) in nats.
    """
    return nll + gamma * CapacityGap(capacity)


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


def max_entropy_vae(beta: float = 4.0) -> Objective:
    """Maximum-entropy VAE (Mathieu et al. 2019, Eq. 5): β-VAE up to a rescaling of z by √β (Cor. 1).

    >>> print(max_entropy_vae(beta=4))
    nll + kl − 1.5 posterior_log_det

    See also ``beta_vae``.

    Args:
        beta: β; the reward for the entropy of q(z|x) is (β−1)/2 · log det S(x).
    """
    return nll + kl + -(beta - 1) / 2 * posterior_log_det


def ada_gvae(beta: Weight = 1.0) -> Objective:
    """Ada-GVAE (Locatello et al. 2020a): β-VAE on pairs; latents found to be shared are averaged.

    Latent d of a pair is shared if δ_d = KL(q(z_d|x₁) ‖ q(z_d|x₂)) is below ½ (min δ + max δ). In shared
    latents both members have the posterior N(½ (μ₁ + μ₂), ½ (σ₁² + σ₂²)); in the others each has its own.

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
    """GVAE (Hosoya 2019): β-VAE on pairs whose shared factors are known; their latents are averaged.

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
    """QLAE (Hsu et al. 2023): an auto-encoder with quantised latents and strong weight decay.

    Each latent is rounded to the nearest of its own few learned values: 10 by default; --latents
    quantized:12:5 gives 12 latents of 5 values each. By default it is trained by AdamW at 1e-3 with a weight
    decay of 0.1, as in the authors' code; biases and codebooks do not decay. The authors' code gives means
    over latents a weight of 0.01 next to a mean over pixels. For the sums used here this is
    0.01 · 12,288 / 12 ≈ 10 with 3D Shapes' 12,288 pixels and 12 latents, and 4 with dSprites' 4,096 pixels
    and 10 latents.

    >>> print(qlae())
    nll + 10.0 quantization + 10.0 commitment

    See also ``ae``.

    Args:
        quantize: weight of the term that moves codebooks towards the encoder's outputs.
        commit: weight of the term that moves the encoder's outputs towards the codebooks.
    """
    objective = nll + quantize * quantization + commit * commitment
    usual = {"optimizer": "adamw", "learning_rate": 1e-3, "weight_decay": 0.1}
    return objective.usually(latents=Quantized, **usual)


def ae() -> Objective:
    """The plain auto-encoder: deterministic latents and weight decay, to be unmixed by ICA afterwards.

    By default it has point latents and is trained by AdamW at 1e-3 with a weight decay of 0.001, as a
    baseline of Hsu et al. 2023. ``distaff evaluate RUN --ica`` unmixes its codes.

    >>> print(ae())
    nll

    See also ``qlae``, ``vae``.
    """
    usual = {"optimizer": "adamw", "learning_rate": 1e-3, "weight_decay": 0.001}
    return (1.0 * nll).usually(latents=Point, **usual)
