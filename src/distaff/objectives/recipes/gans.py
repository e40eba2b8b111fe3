"""Recipes of GANs whose codes can be recovered from their images."""

from distaff.objectives.games import JENSEN_SHANNON, WASSERSTEIN, DiscriminatorSettings, Game
from distaff.objectives.schedules import Weight


def infogan(lam: Weight = 1.0, discriminator: DiscriminatorSettings = DiscriminatorSettings()) -> Game:
    """InfoGAN (Chen et al. 2016; Kim & Mnih 2018, Eq. 13–15): a GAN whose codes can be read off its images.

    Its discriminator tends to collapse: prefer ``infowgan_gp``.

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
    """InfoWGAN-GP (Kim & Mnih 2018, Eq. 16): InfoGAN with a Wasserstein critic and a gradient penalty.

    >>> print(infowgan_gp(eta=10))
    generator_loss − code_log_likelihood against discriminator_loss + 10 gradient_penalty

    See also ``infogan``.

    Args:
        lam: λ, weight of the code log-likelihood E log Q(c|G(c, ε)).
        eta: η, weight of the gradient penalty E (‖∇D(x̂)‖₂ − 1)².
        discriminator: the critic's optimiser.
    """
    return Game(WASSERSTEIN, lam, eta, discriminator)
