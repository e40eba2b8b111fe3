"""Figures: arrays in, a matplotlib ``Figure`` out; nothing here needs a model or a run."""

from distaff.figures.bars import informativeness_bars, kl_bars, scores_by_factor
from distaff.figures.comparison import agreement, scores_by_setting, trade_off
from distaff.figures.curves import curves_by_setting, training_curves
from distaff.figures.histograms import marginals
from distaff.figures.image_rows import image_grid, reconstructions, samples
from distaff.figures.matrices import (
    correlation_matrices,
    information_matrix,
    match_latents,
    matched_latents,
    misjed_map,
)
from distaff.figures.plane import plane
from distaff.figures.sensitivity import metric_sensitivity
from distaff.figures.style import render, save
from distaff.figures.traversal import side_by_side, top_latents, traversals

__all__ = [
    "agreement",
    "correlation_matrices",
    "curves_by_setting",
    "image_grid",
    "information_matrix",
    "informativeness_bars",
    "kl_bars",
    "marginals",
    "match_latents",
    "matched_latents",
    "metric_sensitivity",
    "misjed_map",
    "plane",
    "reconstructions",
    "render",
    "samples",
    "save",
    "scores_by_factor",
    "scores_by_setting",
    "side_by_side",
    "top_latents",
    "trade_off",
    "training_curves",
    "traversals",
]
