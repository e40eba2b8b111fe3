"""Figures: arrays in, a matplotlib ``Figure`` out; nothing here needs a model or a run."""

from distaff.figures.ablation import Toy, ablations
from distaff.figures.bars import informativeness_bars, kl_bars, scores_by_factor
from distaff.figures.comparison import (
    agreement,
    rmig_against_mig,
    sampled_against_quantized,
    scores_by_setting,
    tradeoff,
)
from distaff.figures.curves import (
    critic_accuracy,
    curves_by_setting,
    information_per_latent,
    total_correlation,
    training_curves,
)
from distaff.figures.densities import aggregate_posteriors, plane, prior_densities
from distaff.figures.histograms import distributions_of_means, log_density_histograms, marginals
from distaff.figures.images import image_grid, interpolation_planes, reconstructions, samples
from distaff.figures.matrices import (
    correlation_matrices,
    information_matrix,
    match_latents,
    matched_latents,
    misjed_map,
)
from distaff.figures.sensitivity import metric_sensitivity
from distaff.figures.sparsity import sparsity_against_alpha
from distaff.figures.style import render, save
from distaff.figures.traversal import side_by_side, top_latents, traversals
from distaff.figures.zero_shot import removed_combination

__all__ = [
    "Toy",
    "ablations",
    "aggregate_posteriors",
    "agreement",
    "correlation_matrices",
    "critic_accuracy",
    "curves_by_setting",
    "distributions_of_means",
    "image_grid",
    "information_matrix",
    "information_per_latent",
    "informativeness_bars",
    "interpolation_planes",
    "kl_bars",
    "log_density_histograms",
    "marginals",
    "match_latents",
    "matched_latents",
    "metric_sensitivity",
    "misjed_map",
    "plane",
    "prior_densities",
    "reconstructions",
    "removed_combination",
    "render",
    "rmig_against_mig",
    "sampled_against_quantized",
    "samples",
    "save",
    "scores_by_factor",
    "scores_by_setting",
    "side_by_side",
    "sparsity_against_alpha",
    "top_latents",
    "total_correlation",
    "tradeoff",
    "training_curves",
    "traversals",
]
