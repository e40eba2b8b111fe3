"""Drawings of studies: ``Results`` and arguments in, a ``Figure`` or a table, or several by title, out.

Every public function that is imported here can be named under ``figures`` in a study file.
"""

from distaff.studies.drawings.latent_codes import (
    correlation_matrices,
    information_matrix,
    informativeness_bars,
    marginals,
    misjed_map,
)
from distaff.studies.drawings.matching import matched_latents
from distaff.studies.drawings.pictures import samples, top_latents, traversals
from distaff.studies.drawings.sweeps import (
    agreement,
    correlation_of_scores,
    scores_by_factor,
    scores_by_setting,
    trade_off,
)
from distaff.studies.drawings.training import through_training, training_curves

__all__ = [
    "agreement",
    "correlation_matrices",
    "correlation_of_scores",
    "information_matrix",
    "informativeness_bars",
    "marginals",
    "matched_latents",
    "misjed_map",
    "samples",
    "scores_by_factor",
    "scores_by_setting",
    "through_training",
    "top_latents",
    "trade_off",
    "training_curves",
    "traversals",
]
