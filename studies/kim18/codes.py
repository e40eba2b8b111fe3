"""What continuous codes know of the classes: a score for tables of studies (Fig. 27, 28)."""

from dataclasses import dataclass

import numpy as np

from distaff import Codes
from distaff.metrics import Factors, Result, metric, mig


@dataclass(frozen=True)
class Best:
    """The latent that knows most of a factor counts; there is nothing to set."""


@metric(paper="Kim & Mnih 2018", protocols={"kim18": Best()}, bounds=(0, 1), says="information")
def class_in_real_latents(codes: Codes, factors: Factors, settings: Best) -> Result:
    """I(z_d; y)/H(y) of the real latent that knows most of the label: the MIG of that latent alone."""
    alone = [mig(Codes(codes.means[:, [d]]), factors).per_factor or {} for d in range(codes.means.shape[1])]
    best = np.max([list(known.values()) for known in alone], axis=0)
    return Result(float(best.mean()), per_factor=best)
