"""Drawings of studies: ``Results`` and arguments in, a ``Figure`` or a table, or several by title, out.

Every public function that is imported here can be named under ``figures`` in a study file.
"""

from distaff.studies.drawings.densities import (
    ablations,
    aggregate_posteriors,
    divergence_from_prior,
    prior_densities,
    sparsity_against_alpha,
)
from distaff.studies.drawings.estimates import rmig_against_mig, sampled_against_quantized
from distaff.studies.drawings.latents import (
    correlation_matrices,
    distributions_of_means,
    information_matrix,
    informativeness_bars,
    log_density_histograms,
    marginals,
    misjed_map,
)
from distaff.studies.drawings.matching import matched_latents, removed_combination, varied_attribute
from distaff.studies.drawings.pictures import (
    interpolation_planes,
    samples,
    top_latents,
    traversals,
    varied_noise,
)
from distaff.studies.drawings.sensitivity import (
    bins_sensitivity,
    factor_vae_sensitivity,
    latents_sensitivity,
    samples_sensitivity,
    z_diff_sensitivity,
)
from distaff.studies.drawings.sweeps import (
    agreement,
    correlation_of_scores,
    scores_by_factor,
    scores_by_setting,
    trade_off,
)
from distaff.studies.drawings.training import (
    critic_accuracy,
    information_through_training,
    through_training,
    total_correlation,
    training_curves,
)

__all__ = [
    "ablations",
    "aggregate_posteriors",
    "agreement",
    "bins_sensitivity",
    "correlation_matrices",
    "correlation_of_scores",
    "critic_accuracy",
    "distributions_of_means",
    "divergence_from_prior",
    "factor_vae_sensitivity",
    "information_matrix",
    "information_through_training",
    "informativeness_bars",
    "interpolation_planes",
    "latents_sensitivity",
    "log_density_histograms",
    "marginals",
    "matched_latents",
    "misjed_map",
    "prior_densities",
    "removed_combination",
    "rmig_against_mig",
    "sampled_against_quantized",
    "samples",
    "samples_sensitivity",
    "scores_by_factor",
    "scores_by_setting",
    "sparsity_against_alpha",
    "through_training",
    "top_latents",
    "total_correlation",
    "trade_off",
    "training_curves",
    "traversals",
    "varied_attribute",
    "varied_noise",
    "z_diff_sensitivity",
]
