"""Metrics: arrays in, a ``Score`` out; nothing here needs a model or a framework."""

from distaff.metrics.factor_vae import factor_vae_score
from distaff.metrics.inputs import Factors, as_factors, quantize_factors
from distaff.metrics.score import Score

__all__ = [
    "Factors",
    "Score",
    "as_factors",
    "factor_vae_score",
    "quantize_factors",
]
