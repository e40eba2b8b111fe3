"""Metrics: arrays in, a ``Score`` out; nothing here needs a model or a framework."""

from distaff.metrics.correlations import correlation_matrix
from distaff.metrics.factor_vae import factor_vae_score
from distaff.metrics.gaps import jemmig, mig, rmig
from distaff.metrics.informativeness import informativeness, total_information
from distaff.metrics.inputs import Factors, as_factors, quantize_factors
from distaff.metrics.misjed import misjed
from distaff.metrics.modularity import modularity
from distaff.metrics.score import Score
from distaff.metrics.separability import indin, separability, sepin, total_correlation, windin, wsepin

__all__ = [
    "Factors",
    "Score",
    "as_factors",
    "correlation_matrix",
    "factor_vae_score",
    "indin",
    "informativeness",
    "jemmig",
    "mig",
    "misjed",
    "modularity",
    "quantize_factors",
    "rmig",
    "separability",
    "sepin",
    "total_correlation",
    "total_information",
    "windin",
    "wsepin",
]
