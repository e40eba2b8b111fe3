"""One function per paper: from its letters to an objective. ``distaff train NAME`` finds them by name.

To add a recipe, write one function in a file of this folder and import it here.
"""

from distaff.objectives.recipes.aggregate import (
    aae,
    ablated_elbo,
    alpha_beta_vae,
    anchor_vae,
    info_vae,
    wae,
    wae_gan,
)
from distaff.objectives.recipes.gans import infogan, infowgan_gp
from distaff.objectives.recipes.independence import (
    batch_tc_vae,
    beta_tcvae,
    dip_vae_i,
    dip_vae_ii,
    factor_vae,
    factor_vae_prior,
    hfvae,
    info_dropout,
)
from distaff.objectives.recipes.per_observation import (
    ada_gvae,
    ada_ml_vae,
    ae,
    annealed_vae,
    beta_vae,
    gvae,
    max_entropy_vae,
    ml_vae,
    qlae,
    structured_beta_vae,
    vae,
)

__all__ = [
    "aae",
    "ablated_elbo",
    "ada_gvae",
    "ada_ml_vae",
    "ae",
    "alpha_beta_vae",
    "anchor_vae",
    "annealed_vae",
    "batch_tc_vae",
    "beta_tcvae",
    "beta_vae",
    "dip_vae_i",
    "dip_vae_ii",
    "factor_vae",
    "factor_vae_prior",
    "gvae",
    "hfvae",
    "info_dropout",
    "info_vae",
    "infogan",
    "infowgan_gp",
    "max_entropy_vae",
    "ml_vae",
    "qlae",
    "structured_beta_vae",
    "vae",
    "wae",
    "wae_gan",
]
