"""Figures: arrays in, a matplotlib ``Figure`` out; nothing here needs a model or a run."""

from distaff.figures.bars import informativeness_bars, kl_bars, scores_by_factor
from distaff.figures.curves import (
    critic_accuracy,
    curves_by_setting,
    information_per_latent,
    total_correlation,
    training_curves,
)
from distaff.figures.images import image_grid, interpolation_planes, reconstructions, samples
from distaff.figures.style import render, save
from distaff.figures.traversal import side_by_side, top_latents, traversals

__all__ = [
    "critic_accuracy",
    "curves_by_setting",
    "image_grid",
    "information_per_latent",
    "informativeness_bars",
    "interpolation_planes",
    "kl_bars",
    "reconstructions",
    "render",
    "samples",
    "save",
    "scores_by_factor",
    "side_by_side",
    "top_latents",
    "total_correlation",
    "training_curves",
    "traversals",
]
